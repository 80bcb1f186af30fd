export const annotationSubjects = ['run', 'deployment'] as const;

export type AnnotationSubject = (typeof annotationSubjects)[number];

/** What a person noted about a golden run or a deployment. */
export interface Annotation {
  readonly id: string;
  readonly subject: AnnotationSubject;
  readonly subjectId: string;
  readonly text: string;
  /** Name of the API key; null where none is needed. */
  readonly author: string | null;
  readonly createdAt: Date;
}

export interface Annotations {
  /** False when there is no such run or deployment. */
  add(annotation: Omit<Annotation, 'id'>): Promise<boolean>;
  /** Of some runs or deployments, by their id, oldest first. */
  of(subject: AnnotationSubject, ids: readonly string[]): Promise<ReadonlyMap<string, readonly Annotation[]>>;
}

/** Notes of people on golden runs and deployments. */
import type { Pool } from 'pg';

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

interface AnnotationRow {
  id: string;
  subject: AnnotationSubject;
  subject_id: string;
  text: string;
  author: string | null;
  created_at: Date;
}

const existing: Record<AnnotationSubject, string> = {
  run: 'select from golden_runs where id = $2::text',
  deployment: 'select from deployments where id::text = $2::text',
};

export function createAnnotations(pool: Pool): Annotations {
  return {
    async add({ subject, subjectId, text, author, createdAt }) {
      const { rowCount } = await pool.query(
        `insert into annotations (subject, subject_id, text, author, created_at)
         select $1::text, $2::text, $3::text, $4::text, $5::timestamptz where exists (${existing[subject]})`,
        [subject, subjectId, text, author, createdAt],
      );
      return rowCount === 1;
    },

    async of(subject, ids) {
      const { rows } = await pool.query<AnnotationRow>(
        `select id, subject, subject_id, text, author, created_at from annotations
          where subject = $1::text and subject_id = any ($2::text[]) order by id`,
        [subject, ids],
      );
      const found = new Map<string, Annotation[]>();
      for (const row of rows) {
        const notes = found.get(row.subject_id) ?? [];
        notes.push(toAnnotation(row));
        found.set(row.subject_id, notes);
      }
      return found;
    },
  };
}

function toAnnotation(row: AnnotationRow): Annotation {
  return {
    id: row.id,
    subject: row.subject,
    subjectId: row.subject_id,
    text: row.text,
    author: row.author,
    createdAt: row.created_at,
  };
}

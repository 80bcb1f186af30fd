import type { Diagnosis, StoredDiagnosis } from '../rules/episode.ts';

/** `outdated`: a later look was stored already. */
export type DiagnosisStored = 'opened' | 'revised' | 'superseded' | 'unchanged' | 'outdated';

export interface DiagnosisFilter {
  readonly pipeline?: string;
  /** Only those that held at some time from `from` to `until`. */
  readonly holding?: { readonly from: Date; readonly until: Date };
  /** Id of a diagnosis that was listed, to go on behind it. */
  readonly before?: string;
  readonly limit: number;
}

/** What was likely behind the alarms of each pipeline. */
export interface Diagnoses {
  /** The diagnosis that holds; null when nothing is in alarm. */
  current(pipeline: string): Promise<StoredDiagnosis | null>;
  /** Those of every pipeline that hold. */
  open(): Promise<readonly StoredDiagnosis[]>;
  /** Opens, revises or supersedes, as `nextStep` says. The same look stored again, by a retry or a replica, changes nothing. */
  keep(diagnosis: Diagnosis, at: Date): Promise<DiagnosisStored>;
  /** Nothing is in alarm any more. @returns whether there was one to close */
  close(pipeline: string, at: Date): Promise<boolean>;
  /** Newest first. */
  list(filter: DiagnosisFilter): Promise<readonly StoredDiagnosis[]>;
  /** Drops closed ones that ended before a time. */
  prune(before: Date): Promise<void>;
}

/** A diagnosis over the time that something is in alarm. */
import type { Findings } from './diagnose.ts';

/** What is kept of a diagnosis. */
export interface Diagnosis extends Pick<Findings, 'cause' | 'confidence' | 'probability' | 'summary'> {
  readonly pipeline: string;
  /** Names of what is in alarm. */
  readonly alarms: readonly string[];
  /** The golden run that was looked at, and the good one that it was held against; null where there was none. */
  readonly runId: string | null;
  readonly referenceRunId: string | null;
  readonly ranked: Findings['ranked'];
  readonly signs: Findings['signs'];
}

export interface StoredDiagnosis extends Diagnosis {
  readonly id: string;
  readonly openedAt: Date;
  readonly revisedAt: Date;
  /** Null while it holds. */
  readonly closedAt: Date | null;
}

type Named = Pick<Diagnosis, 'cause' | 'confidence' | 'alarms' | 'runId'>;

/**
 * What a new look does to an open diagnosis. A guess is revised as evidence comes in. One that was trusted is never
 * overwritten by another cause: it is closed, and the other one opened, so that the history shows both. It stays while
 * nothing else comes to be in alarm and the look is at the same golden run, or tells no cause: then what changed is that
 * the fault was mended, and the last alarms are not over yet.
 */
export function nextStep(open: Named, next: Named): 'revise' | 'supersede' | 'stay' {
  if (open.confidence === 'low' || open.cause === next.cause) return 'revise';
  if (next.alarms.some((name) => !open.alarms.includes(name))) return 'supersede';
  const isSameRun = next.runId !== null && next.runId === open.runId;
  return isSameRun || next.cause === 'unknown' ? 'stay' : 'supersede';
}

/** Whether a new look says nothing that the stored diagnosis does not say. */
export function isSameDiagnosis(a: Diagnosis, b: Diagnosis): boolean {
  return (
    a.cause === b.cause &&
    a.confidence === b.confidence &&
    a.summary === b.summary &&
    a.alarms.length === b.alarms.length &&
    a.alarms.every((name, index) => name === b.alarms[index])
  );
}

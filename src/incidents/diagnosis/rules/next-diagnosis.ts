/** Decides whether a new diagnosis of an incident replaces the last recorded diagnosis. */
import { MINUTE_MS } from '../../../core/time.ts';
import { confidences } from './cause.ts';
import type { Diagnosis, Trend } from './incident.ts';
import { isWithheldAlert } from './own-delays.ts';
import type { SignName } from './signs.ts';

export type Said = Pick<Diagnosis, 'cause' | 'confidence' | 'alerts' | 'runId' | 'signs'>;

/**
 * Returns true if a new diagnosis replaces the last one.
 * - The same diagnosis is recorded again, with new numbers, if a run is worse than all earlier runs.
 * - A guess is replaced by any other diagnosis.
 * - A trusted cause is replaced by another cause if a further alert about the service fires, if a different run points
 *   to the other cause with medium or high confidence, or if recalld has since read in the manifest that the missing
 *   documents were deleted on purpose.
 * - If users again get what a replay of their queries returns, the fault is over, and the alerts that still fire have
 *   not been evaluated since. Only a further alert then replaces a cause.
 * - Otherwise, a cause that was trusted once is never replaced by `unknown`: later signs are often weaker, because the
 *   fault is being repaired or because data from before the fault is no longer available.
 * - During recovery, only the run that was already examined can change the diagnosis: other changes mean that the fault
 *   is fixed and the remaining alerts have not been evaluated since. A resolved alert also counts as recovery, unless
 *   another alert is worse than before.
 *
 * @param wasTrusted true if the incident has a diagnosis with the cause of `last` and high or medium confidence
 */
export function replacesLast(
  last: Said,
  next: Said,
  trend: Trend,
  wasTrusted: boolean = last.confidence !== 'low',
): boolean {
  const isSameRun = next.runId !== null && next.runId === last.runId;
  if (isSame(last, next)) return trend === 'worse' && !isSameRun;
  const isWithdrawn = hasState(last, 'gone_documents', 'lost') && hasState(next, 'gone_documents', 'deleted');
  if (next.cause === 'unknown' && wasTrusted && !isWithdrawn) return false;
  const isEasing = trend === 'steady' && last.alerts.some((name) => !next.alerts.includes(name));
  const isMore = next.alerts.some((name) => !last.alerts.includes(name) && !isWithheldAlert(name));
  if (trend === 'recovering' || (isEasing && !isMore)) return last.confidence === 'low' && isSameRun;
  const isOver =
    hasState(last, 'live_replay', 'live_differs', 'all_differ') && hasState(next, 'live_replay', 'as_before');
  if (isOver && !isMore) return false;
  if (isMore || isWithdrawn || last.cause === next.cause) return true;
  if (wasTrusted && next.confidence === 'low') return false;
  return last.confidence === 'low' || !isSameRun;
}

function hasState({ signs }: Said, name: SignName, ...states: readonly string[]): boolean {
  return signs.some((sign) => sign.name === name && states.includes(sign.state));
}

const REPAIR_AFTER_MS = 5 * MINUTE_MS;

/**
 * Returns true if a later diagnosis, without a new run, only lowers the confidence. The signs of such a diagnosis are
 * weaker because the fault is being repaired or because old live queries leave the window. Weaker signs must not turn a
 * known cause into `unknown`.
 */
export function describesRepair(last: Said, next: Said, openedAt: Date, at: Date): boolean {
  return (
    at.getTime() - openedAt.getTime() > REPAIR_AFTER_MS &&
    last.cause === next.cause &&
    last.runId === next.runId &&
    confidences.indexOf(next.confidence) > confidences.indexOf(last.confidence)
  );
}

/** Returns true if two diagnoses have the same cause, confidence, alerts and states of signs; numbers may differ. */
function isSame(a: Said, b: Said): boolean {
  return (
    a.cause === b.cause &&
    a.confidence === b.confidence &&
    isSameList(a.alerts, b.alerts) &&
    isSameList(statesOf(a), statesOf(b))
  );
}

function statesOf({ signs }: Said): string[] {
  return signs.map(({ name, state }) => `${name} ${state}`);
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index]);
}

/**
 * Admission: which part of the live queries is measured when more arrive than can be measured. The decision is a level;
 * each level halves the part. Whole sessions are left out, by the same random draw that sampled them, and a session
 * that stays keeps its chance of being admitted, so that estimates stay unbiased. What was left out is not measured
 * later either, so no backlog builds up that would come down all at once.
 *
 * - The level rises at once, as far as it takes for the waiting work to fit.
 * - It also rises by one when the oldest work waits too long and the queue does not shrink, because less is then done
 *   than the budget allows.
 * - It falls by one after `CALM_MS` in which the lower level would have filled no more than half of the room. Then the
 *   wait begins anew.
 *
 * Levels depend on the number of queries and their age alone, never on the draw of a query.
 */
import { MINUTE_MS } from '../../../core/time.ts';

/** What was decided last. */
export interface Admission {
  /** The chance of being admitted is 2^-level. */
  readonly level: number;
  /** Work that waits after the decision, in queries. */
  readonly waiting: number;
  /** Whether the oldest work had waited too long. */
  readonly isOverdue: boolean;
  /** Since when a lower level would do, in milliseconds since the epoch; null while it would not. */
  readonly calmSinceMs: number | null;
}

export interface AdmissionLoad {
  /** Queries that have arrived and wait for a decision. */
  readonly arrived: number;
  /** Queries that were admitted before and still wait. */
  readonly admitted: number;
  /** Most queries that may wait, positive. */
  readonly capacity: number;
  /** Age of the oldest query that waits, decided on or not, in milliseconds. */
  readonly oldestMs: number;
  /** Age, in milliseconds, above which the oldest query is overdue. */
  readonly patienceMs: number;
}

export const openAdmission: Admission = { level: 0, waiting: 0, isOverdue: false, calmSinceMs: null };

/** How long a lower level must have been enough before it is taken. */
export const CALM_MS = 5 * MINUTE_MS;
/** At this level one query in 65,536 is admitted; a higher one would leave nothing to measure. */
export const MAX_LEVEL = 16;
/** Share of the capacity that new arrivals get however much still waits: with none, density would see nothing new. */
const MIN_SHARE = 1 / 8;

/** The chance of being admitted at a level; an exact power of two. */
export function admissionChance({ level }: Pick<Admission, 'level'>): number {
  return 2 ** -level;
}

/**
 * Decides on the queries that have arrived.
 *
 * @param nowMs milliseconds since the epoch
 * @throws RangeError for a capacity that is not positive
 */
export function nextAdmission(previous: Admission, load: AdmissionLoad, nowMs: number): Admission {
  const { admitted, capacity, oldestMs, patienceMs } = load;
  if (!(capacity > 0)) throw new RangeError(`The capacity must be positive, not ${capacity}.`);
  const isOverdue = oldestMs > patienceMs;
  const isStuck = isOverdue && previous.isOverdue && waitingAt(load, previous.level) >= Math.max(1, previous.waiting);
  const needed = levelThatFits(load);
  const raised = Math.min(MAX_LEVEL, Math.max(needed, previous.level + (isStuck ? 1 : 0)));
  if (raised > previous.level) return at(raised, null);
  const wouldDo =
    previous.level > 0 &&
    2 * oldestMs <= patienceMs &&
    2 * waitingAt(load, previous.level - 1) <= capacity &&
    admitted < capacity;
  if (!wouldDo) return at(previous.level, null);
  const since = previous.calmSinceMs ?? nowMs;
  // A clock that was set back starts the wait anew.
  if (nowMs < since) return at(previous.level, nowMs);
  return nowMs - since >= CALM_MS ? at(previous.level - 1, nowMs) : at(previous.level, since);

  function at(level: number, calmSinceMs: number | null): Admission {
    return {
      level,
      waiting: waitingAt(load, level),
      isOverdue,
      calmSinceMs: level === 0 ? null : calmSinceMs,
    };
  }
}

/** The lowest level at which the expected work fits. */
function levelThatFits({ arrived, admitted, capacity }: AdmissionLoad): number {
  const room = Math.max(capacity - admitted, capacity * MIN_SHARE);
  let level = 0;
  while (level < MAX_LEVEL && arrived * 2 ** -level > room) level++;
  return level;
}

/** Expected work that waits when what has arrived is decided on at this level. */
function waitingAt({ arrived, admitted }: AdmissionLoad, level: number): number {
  return admitted + arrived * 2 ** -level;
}

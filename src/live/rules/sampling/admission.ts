/**
 * Admission control: decides what share of live queries is measured if more arrive than can be measured. Each level
 * halves the share of measured queries. Each session is admitted or dropped as a whole, by the same random number that
 * decided whether it was sampled. Admitted sessions record their probability, so that estimates stay unbiased. Dropped
 * queries are not measured later, so no backlog builds up.
 *
 * - The level rises immediately to the lowest level at which the expected queue fits within the capacity.
 * - The level also rises by one if the oldest query waits too long and the queue does not shrink, because the workers
 *   then process less than the capacity allows.
 * - The level drops by one after a period of `CALM_MS` in which the lower level would have filled at most half of the
 *   capacity and no query waited for long. After each drop of the level, a new period starts.
 *
 * Levels depend only on the number and age of queries, never on the random numbers that select queries.
 */
import { MINUTE_MS } from '../../../core/time.ts';

export interface Admission {
  /** The probability of admission is 2^-level. */
  readonly level: number;
  /** Expected number of queued queries after the decision. */
  readonly waiting: number;
  /** True if the oldest query had waited too long. */
  readonly isOverdue: boolean;
  /**
   * Start of the period in which a lower level would have sufficed, in milliseconds since the epoch; null if no lower
   * level suffices.
   */
  readonly calmSinceMs: number | null;
}

export interface AdmissionLoad {
  /** Number of queries that wait for a decision. */
  readonly arrived: number;
  /** Number of queries that were admitted earlier and are still queued. */
  readonly admitted: number;
  /** Maximum number of queued queries, positive. */
  readonly capacity: number;
  /** Age of the oldest waiting query, admitted or not, in milliseconds. */
  readonly oldestMs: number;
  /** Age, in milliseconds, above which the oldest query is overdue. */
  readonly patienceMs: number;
}

export const openAdmission: Admission = { level: 0, waiting: 0, isOverdue: false, calmSinceMs: null };

/** How long a lower level must have sufficed before the level drops. */
export const CALM_MS = 5 * MINUTE_MS;
/** The highest level admits one query in 65,536; a still higher level would leave nothing to measure. */
export const MAX_LEVEL = 16;
/** Share of the capacity reserved for new arrivals, so that density is always measured on new queries. */
const MIN_SHARE = 1 / 8;

/** Probability of admission at a level; an exact power of two. */
export function admissionChance(level: number): number {
  return 2 ** -level;
}

/**
 * Returns the level at which the waiting queries are admitted, and the state for the next decision.
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
  const lowerSuffices =
    previous.level > 0 &&
    2 * oldestMs <= patienceMs &&
    2 * waitingAt(load, previous.level - 1) <= capacity &&
    admitted < capacity;
  if (!lowerSuffices) return at(previous.level, null);
  const since = previous.calmSinceMs ?? nowMs;
  // If the clock was set back, the calm period restarts.
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

/** Returns the lowest level at which the expected queue fits within the capacity. */
function levelThatFits({ arrived, admitted, capacity }: AdmissionLoad): number {
  const room = Math.max(capacity - admitted, capacity * MIN_SHARE);
  let level = 0;
  while (level < MAX_LEVEL && arrived * 2 ** -level > room) level++;
  return level;
}

/** Returns the expected number of queued queries if this level applies. */
function waitingAt({ arrived, admitted }: AdmissionLoad, level: number): number {
  return admitted + arrived * 2 ** -level;
}

/**
 * How many documents a round looks at and how fast, from which place of their random order on, what a count of them says,
 * and how long the changes of those that were followed take to arrive in the store.
 */

import { median, survivalQuantile } from '../../../math/stats/descriptive.ts';
import { clopperPearsonInterval } from '../../../math/stats/intervals.ts';

/** What was looked at, and of how many something is wrong. */
export interface Tally {
  readonly n: number;
  readonly found: number;
}

/** Times as many are drawn when the first look found something. */
const SECOND_LOOK = 5;

/**
 * Draws and looks; where the first look found something, draws anew, five times as many, and takes that alone: a page
 * does not wait for rounds to add up, and quiet rounds stay small. The second draw owes nothing to what the first one
 * found, so that its bounds hold.
 *
 * @param look at so many documents, drawn anew each time
 */
export async function twoStageSample<Seen extends { readonly tally: Tally }>(
  first: number,
  look: (documents: number) => Promise<Seen>,
): Promise<Seen> {
  const seen = await look(first);
  return seen.tally.found === 0 ? seen : look(SECOND_LOOK * first);
}

/**
 * The share of what was looked at with which something is wrong, with 95 % bounds; they fall together where all
 * documents were looked at. Null where none was.
 */
export function shareOf({ n, found }: Tally, wasAll: boolean) {
  if (n === 0) return null;
  const value = Math.min(found, n) / n;
  if (wasAll) return { value, n, ciLow: value, ciHigh: value, ciMethod: 'all' };
  const { low, high } = clopperPearsonInterval(Math.min(found, n), n, 0.95);
  return { value, n, ciLow: Math.min(low, value), ciHigh: Math.max(high, value), ciMethod: 'clopper-pearson' };
}

/**
 * By segment, and over all of them. Of more than `most` segments the largest are kept and the rest together are `other`.
 *
 * @param bySegment under an empty name what has none
 */
export function bySegments(
  bySegment: ReadonlyMap<string, Tally>,
  most: number,
): readonly (Tally & { readonly segment: string })[] {
  const named = [...bySegment]
    .filter(([segment]) => segment !== '')
    .toSorted(([a, { n: x }], [b, { n: y }]) => y - x || (a < b ? -1 : 1))
    .map(([segment, tally]) => ({ segment, ...tally }));
  const rest = named.slice(most);
  const other = rest.length === 0 ? [] : [{ segment: 'other', ...sumOf(rest) }];
  return [{ segment: 'all', ...sumOf([...bySegment.values()]) }, ...named.slice(0, most), ...other];
}

function sumOf(tallies: readonly Tally[]): Tally {
  return {
    n: tallies.reduce((sum, { n }) => sum + n, 0),
    found: tallies.reduce((sum, { found }) => sum + found, 0),
  };
}

/** Before all others. */
export const FIRST_PLACE = { place: '-9223372036854775808', id: '' };

/** @param uniform in [0, 1) */
export function drawnPlace(uniform: number): string {
  const high = BigInt(Math.floor(uniform * 2 ** 32));
  return String((high << 32n) - 2n ** 63n);
}

/** A change that was looked for, round by round. */
export interface Arrival {
  /** How many changes it stands for. */
  readonly weight: number;
  readonly hasCome: boolean;
  /** Seconds from the change until it was last looked for in vain; 0 where it was there at the first look. */
  readonly after: number;
  /** Seconds until it was found; of what still waits the same as `after`. */
  readonly by: number;
}

interface Lag {
  /** Seconds. */
  readonly value: number;
  /** 95 % bounds; null where no upper bound is known, and `value` is the lower one. */
  readonly bounds: { readonly low: number; readonly high: number } | null;
}

/**
 * The time by which a share of all changes has come, by Kaplan and Meier with what waits as censored. A change came at
 * some time between two looks: the lower bound takes each as if it had come right after the first of them, the upper
 * bound and the value as if right before the second. Too few changes, or too few that came, have no upper bound.
 *
 * @param share in (0, 1)
 */
export function lagOf(arrivals: readonly Arrival[], share: number): Lag {
  const latest = survivalQuantile(
    arrivals.map(({ by, ...rest }) => ({ ...rest, time: by })),
    share,
    0.95,
  );
  const earliest = survivalQuantile(
    arrivals.map(({ after, ...rest }) => ({ ...rest, time: after })),
    share,
    0.95,
  );
  const low = earliest.low ?? Math.max(0, ...arrivals.map(({ after }) => after));
  const { value, high } = latest;
  return value === null || high === null
    ? { value: low, bounds: null }
    : { value, bounds: { low: Math.min(low, value), high } };
}

const FIRST = 5;
const LATEST = 5;
const TIMES_SLOWER = 5;
/** Below it nobody is kept waiting. */
const MIN_MS = 250;

/**
 * Whether the latest five calls took five times as long as the first five did, by their medians.
 *
 * @param latencies of calls of one kind, in their order, in milliseconds
 */
export function hasSlowedDown(latencies: readonly number[]): boolean {
  if (latencies.length < FIRST + LATEST) return false;
  const latest = median(latencies.slice(-LATEST));
  return latest > MIN_MS && latest > TIMES_SLOWER * median(latencies.slice(0, FIRST));
}

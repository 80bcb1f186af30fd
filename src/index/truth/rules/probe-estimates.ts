/** Computes the sample sizes, shares, arrival times and random start of a probe round, and detects a slow store. */

import { median, survivalQuantile } from '../../../math/stats/descriptive.ts';
import { hypergeometricUpperTail } from '../../../math/stats/distributions.ts';
import { clopperPearsonInterval } from '../../../math/stats/intervals.ts';

export interface Tally {
  /** Number of documents checked. */
  readonly n: number;
  /** Number of documents with a problem. */
  readonly found: number;
}

/** Size of the second sample relative to the first. */
export const SECOND_STAGE = 5;

/**
 * Samples in two stages: if the first sample contains a problem, takes a new sample that is five times as large, and
 * uses only the new sample. An alert therefore does not need several rounds, and rounds without problems remain cheap.
 * The second sample is independent of the first, so the confidence interval of the second sample is valid.
 *
 * @param check checks a new random sample of the given size
 */
export async function twoStageSample<Seen extends { readonly tally: Tally }>(
  first: number,
  check: (documents: number) => Promise<Seen>,
): Promise<Seen> {
  const seen = await check(first);
  return seen.tally.found === 0 ? seen : check(SECOND_STAGE * first);
}

/**
 * Estimates the share of documents with a problem, with a 95 % CI. The share is exact if all documents were checked,
 * and null if no document was checked.
 */
export function estimateShare({ n, found }: Tally, isComplete: boolean) {
  if (n === 0) return null;
  const value = Math.min(found, n) / n;
  if (isComplete) return { value, n, ciLow: value, ciHigh: value, ciMethod: 'all' };
  const { low, high } = clopperPearsonInterval(Math.min(found, n), n, 0.95);
  return { value, n, ciLow: Math.min(low, value), ciHigh: Math.max(high, value), ciMethod: 'clopper-pearson' };
}

export interface RoundTally extends Tally {
  readonly round: Date;
}

/** Maximum probability, per call, of reporting a change although all rounds have the same share. */
const SPLIT_ALPHA = 0.01;

/**
 * Returns the rounds since the share last changed, so that a fault no longer affects a pooled share after it has been
 * fixed. Splits the rounds into earlier and later rounds at the point that maximizes the likelihood ratio of two
 * separate shares to one common share. If Fisher's exact test (two-sided, doubled, Bonferroni-adjusted for the number
 * of possible splits) rejects a common share, drops the earlier rounds and repeats the search in the later ones.
 *
 * @param rounds oldest first
 */
export function roundsSinceChange(rounds: readonly RoundTally[]): readonly RoundTally[] {
  const all = sumOf(rounds);
  const splits = rounds.slice(1).map((_, index) => {
    const later = sumOf(rounds.slice(index + 1));
    const earlier = { n: all.n - later.n, found: all.found - later.found };
    return { at: index + 1, later, earlier, logLikelihood: logLikelihood(earlier) + logLikelihood(later) };
  });
  const [best] = splits.toSorted((a, b) => b.logLikelihood - a.logLikelihood);
  if (best === undefined) return rounds;
  const tail = ({ found, n }: Tally): number =>
    hypergeometricUpperTail(found, { size: all.n, marked: all.found, draws: n });
  const pValue = 2 * Math.min(tail(best.later), tail(best.earlier));
  return pValue * splits.length < SPLIT_ALPHA ? roundsSinceChange(rounds.slice(best.at)) : rounds;
}

/** Log-likelihood of a tally with its own share, without the binomial coefficient. */
function logLikelihood({ n, found }: Tally): number {
  const term = (count: number): number => (count === 0 ? 0 : count * Math.log(count / n));
  return term(found) + term(n - found);
}

/**
 * Sums tallies by segment and in total. Beyond `maxSegments`, combines the smallest segments as `other`.
 *
 * @param bySegment tallies, keyed by segment; documents without a segment have the empty string as key
 */
export function sumBySegment(
  bySegment: ReadonlyMap<string, Tally>,
  maxSegments: number,
): readonly (Tally & { readonly segment: string })[] {
  const named = [...bySegment]
    .filter(([segment]) => segment !== '')
    .toSorted(([a, { n: x }], [b, { n: y }]) => y - x || (a < b ? -1 : 1))
    .map(([segment, tally]) => ({ segment, ...tally }));
  const rest = named.slice(maxSegments);
  const other = rest.length === 0 ? [] : [{ segment: 'other', ...sumOf(rest) }];
  return [{ segment: 'all', ...sumOf([...bySegment.values()]) }, ...named.slice(0, maxSegments), ...other];
}

function sumOf(tallies: readonly Tally[]): Tally {
  return {
    n: tallies.reduce((sum, { n }) => sum + n, 0),
    found: tallies.reduce((sum, { found }) => sum + found, 0),
  };
}

/** Position that sorts before the position of every document. */
export const FIRST_PLACE = { place: '-9223372036854775808', id: '' };

/** @param uniform in [0, 1) */
export function randomPlace(uniform: number): string {
  const high = BigInt(Math.floor(uniform * 2 ** 32));
  return String((high << 32n) - 2n ** 63n);
}

export interface Arrival {
  /** Sampling weight: the number of changes that this tracked change represents. */
  readonly weight: number;
  readonly hasArrived: boolean;
  /**
   * Seconds from the change to the last check that did not find the change in the store; 0 if the first check found the
   * change.
   */
  readonly after: number;
  /** Seconds from the change to the check that found it; equal to `after` for a change that has not arrived. */
  readonly by: number;
}

/**
 * Uses the Kaplan-Meier estimator, which treats waiting changes as censored, to estimate the time within which a share
 * of all changes arrives. The exact arrival time of a change is unknown: it lies between two checks. The lower bound
 * assumes that the change arrived right after the earlier check; the upper bound and the value assume that it arrived
 * right before the later check. If there are too few changes or arrivals, there is no upper bound.
 *
 * @param share in (0, 1)
 * @returns seconds, with a 95 % confidence interval; if there is no upper bound, `value` is the lower bound
 */
export function estimateLag(arrivals: readonly Arrival[], share: number) {
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
const MIN_MS = 250;

/** @param latencies response times of calls of one kind, in order, in milliseconds */
export function hasSlowedDown(latencies: readonly number[]): boolean {
  if (latencies.length < FIRST + LATEST) return false;
  const latest = median(latencies.slice(-LATEST));
  return latest > MIN_MS && latest > TIMES_SLOWER * median(latencies.slice(0, FIRST));
}

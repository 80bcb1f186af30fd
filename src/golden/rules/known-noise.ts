/** By how much an unchanged retriever can differ from the runs by which its baseline was pinned. */
import { chiSquareQuantile, normalQuantile } from '../../stats/distributions.ts';
import { type Accepted, acceptedVariance } from './accepted-differences.ts';
import type { RerunNoise } from './rerun-noise.ts';

/** What was learned of a metric before the run that is judged, beside its noise. */
export interface Expected {
  /** Mean of each query over the runs by which the baseline was pinned. */
  readonly means: ArrayLike<number>;
  readonly unit: Accepted['unit'];
  /** Differences of accepted days or generations. */
  readonly accepted: readonly number[];
}

const CONFIDENCE = 0.95;

/**
 * Upper bound of the variance of the difference of one run of n queries from the mean of K reruns, (W / n + S) (1 + 1 /
 * K). W is the variance of a query between runs, with the upper 95 % bound of Poisson for the number of queries that
 * move; a metric that stood still while others moved could have moved by 1 in one run. S is the variance that queries
 * share, V - W / n of the reruns with V, the variance of their means, at its upper 95 % bound (chi-square). Exactly 0
 * when every rerun answered the same.
 *
 * @param n queries of the run that is judged
 */
export function rerunVariance(noise: RerunNoise, n: number): number {
  const { reruns, standardDeviation, queries, moved, ofQueries, isStill } = noise;
  if (isStill) return 0;
  const atMost = Math.min(queries, poissonBound(moved));
  const each = moved === 0 ? 1 / reruns : (ofQueries * queries) / moved;
  const within = (atMost * each) / queries;
  const ofMeans = standardDeviation ** 2 / 2;
  const ofMeansAtMost = (ofMeans * (reruns - 1)) / chiSquareQuantile(1 - CONFIDENCE, reruns - 1);
  const shared = Math.max(0, ofMeansAtMost - ofQueries / queries);
  return (within / n + shared) * (1 + 1 / reruns);
}

/**
 * Upper bound of the variance of the difference of a run of n queries from the mean of the reruns: that of reruns, or what
 * accepted days differed by where that is more, since reruns can be alike by luck.
 *
 * @param least difference that matters
 * @returns null where it is not known: for another generation of the index than the baseline's, and for an index that
 * moves from day to day by more than its reruns do, and by as much as matters, as one does that is rebuilt unseen. What
 * queries of it were drawn anew only the paired test can tell. Where the reruns all answered the same, half of what matters
 * is enough: then days are all that is known of what moves, and a few of them tell little of the largest fall.
 */
export function knownVariance(
  noise: RerunNoise,
  { unit, accepted }: Expected,
  n: number,
  least: number,
): number | null {
  if (unit === 'generation') return null;
  const ofReruns = rerunVariance(noise, n);
  const ofDays = acceptedVariance(accepted) ?? 0;
  const squares = accepted.reduce((sum, difference) => sum + difference ** 2, 0) / Math.max(1, accepted.length);
  const much = noise.isStill ? least / 2 : least;
  const isMoving = squares > ofReruns && normalQuantile(SURE) * Math.sqrt(ofDays) > much;
  return isMoving ? null : Math.max(ofReruns, ofDays);
}

/** One side of a level of 0.01. */
const SURE = 0.995;

/** Upper 95 % bound of the mean of a count, by Byar's approximation (Rothman and Boice 1979); 2.97 for none. */
function poissonBound(count: number): number {
  const next = count + 1;
  return next * (1 - 1 / (9 * next) + normalQuantile(CONFIDENCE) / (3 * Math.sqrt(next))) ** 3;
}

import type { Measure } from '../ir/metric-key.ts';
import { moments } from './descriptive.ts';
import { wilsonInterval } from './intervals.ts';
import { meanInterval } from './mean-interval.ts';

/** Mean of a measure over queries with its 95 % confidence interval. */
export interface MetricSummary {
  readonly mean: number;
  /** Number of queries in the mean. */
  readonly n: number;
  /** Bounds of the mean, within the measure's range; they always enclose the mean. */
  readonly ciLow: number;
  readonly ciHigh: number;
  readonly ciMethod: 'bca' | 't' | 'wilson';
}

const CONFIDENCE = 0.95;

/**
 * Mean over queries and its 95 % confidence interval.
 *
 * - `wilson` for hit_rate, which is a proportion; and for every measure in [0, 1] whose values are all the same (one
 *   query is such a case): t and bootstrap would shrink to a point and claim certainty, while no variable on [0, 1] of
 *   this mean spreads more than the success or failure that Wilson assumes.
 * - `bca` or `t` otherwise, by the rule of `meanInterval`.
 *
 * dcg has no upper bound: its interval for one query is [0, Infinity], and a point if several values are all the same.
 *
 * @param values one per query, failed and empty ones as 0; the result does not depend on their order
 * @throws RangeError without values
 */
export function summarize(values: ArrayLike<number>, measure: Measure): MetricSummary {
  const n = values.length;
  const sorted = Float64Array.from(values).toSorted();
  const { mean, standardDeviation } = moments(sorted);
  const isBounded = measure !== 'dcg';
  const isWilson = measure === 'hit_rate' || (isBounded && standardDeviation === 0);
  const { low, high, method } = isWilson
    ? { ...wilsonInterval(mean, n, CONFIDENCE), method: 'wilson' as const }
    : meanInterval(sorted, CONFIDENCE);
  return {
    mean,
    n,
    ciLow: Math.max(0, Math.min(low, mean)),
    ciHigh: Math.min(isBounded ? 1 : Number.POSITIVE_INFINITY, Math.max(high, mean)),
    ciMethod: method,
  };
}

/** Query density: how well the store covers live queries, or replayed baseline queries, relative to the baseline. */

import { percentage } from '../../core/format.ts';
import { mean, meanInterval } from '../../math/stats/descriptive.ts';
import { normalQuantile } from '../../math/stats/distributions.ts';
import { type Bounds, wilsonInterval } from '../../math/stats/intervals.ts';
import {
  BASELINE_MEAN_X,
  type BaselineScores,
  MAX_SURPRISE,
  MIN_IN_REGION,
  NO_REGION,
  surpriseOf,
  type TiedRanks,
  tailShare,
  tiedRanks,
} from './query-score.ts';
import { sessionWeights } from './sessions.ts';

export type QueryDensity = NonNullable<ReturnType<typeof queryDensity>>;

/** Minimum number of sessions for a density: with this number, the density is accurate to within about 13 %. */
export const MIN_SESSIONS = 200;

/** Percentile of the baseline at or below which queries are uncovered. */
export const UNCOVERED_PERCENTILE = 0.05;

/** Describes the coverage of live queries: "22 % of traffic poorly covered, 5 % in the baseline". */
export function coverageTitle(share: number): string {
  return `${percentage(share)} of traffic poorly covered, ${percentage(UNCOVERED_PERCENTILE)} in the baseline`;
}

/** Variance of min(-ln u, ln 100) for uniform u, rounded. */
export const SURPRISE_VARIANCE = 0.9;

export const CONFIDENCE = 0.95;

/**
 * Query density of one window. With w = 1 / (queries of the session in the window) and the surprises x of `surpriseOf`:
 *
 * X = sum w x / sum w        D = exp(0.99 - X)
 *
 * @param ranks score ranks of the queries, from `tiedRanks`
 * @param regions region of each query, `NO_REGION` if it has none
 * @param sessions session numbers of the queries
 * @returns null if there are no queries
 */
export function queryDensity(
  ranks: readonly TiedRanks[],
  surprises: Float64Array,
  regions: ArrayLike<number>,
  sessions: ArrayLike<number>,
) {
  if (surprises.length === 0) return null;
  const weighted = sessionWeights(sessions);
  const byRegion = new Map<number, { weight: number; sum: number }>();
  const means = new Map<number, number>();
  let weight = 0;
  let sum = 0;
  for (const [i, x] of surprises.entries()) {
    const w = weighted.weights[i] ?? 0;
    weight += w;
    sum += w * x;
    const session = sessions[i] ?? 0;
    means.set(session, (means.get(session) ?? 0) + w * x);
    const region = regions[i] ?? NO_REGION;
    if (region === NO_REGION) continue;
    const own = byRegion.get(region) ?? { weight: 0, sum: 0 };
    byRegion.set(region, { weight: own.weight + w, sum: own.sum + w * x });
  }
  const meanX = sum / weight;
  // Summed in ascending order, so that the result does not depend on the order of the sessions.
  const squares = [...means.values()].map((mean) => (mean - meanX) ** 2).toSorted((a, b) => a - b);
  return {
    queries: surprises.length,
    sessions: weighted.sessions,
    /** Weighted mean surprise X, in nats: 0.99 in the baseline, higher if coverage is lower. */
    meanX,
    /** Variance of X between sessions. */
    varianceX: squares.reduce((total, square) => total + square, 0) / weighted.sessions,
    /** D = exp(0.99 - X): 1 in the baseline, lower if coverage is lower; from 0.027 to 2.69. */
    density: densityOf(meanX),
    uncovered: uncoveredShare(ranks, weighted.weights, weighted.sessions),
    /** Regions that have queries, in ascending order; `share` is the share of the traffic, from 0 to 1. */
    regions: [...byRegion]
      .map(([region, own]) => ({
        region,
        share: own.weight / weight,
        density: densityOf(own.sum / own.weight),
      }))
      .toSorted((a, b) => a.region - b.region),
  };
}

/** D = exp(0.99 - X). */
export function densityOf(meanX: number): number {
  return Math.exp(BASELINE_MEAN_X - meanX);
}

/**
 * Confidence interval of a density: at 95 %, D exp(-+ 1.96 sqrt(s^2 (1/n + 1/N))), for n sessions ranked among N.
 *
 * @param variance s^2 of X between sessions
 * @param sessions n, >= 1
 * @param baselineSessions N; infinity when densities relative to the same baseline are compared, because the error of
 *   the baseline affects them equally
 */
export function densityInterval(
  density: number,
  variance: number,
  sessions: number,
  baselineSessions: number,
  confidence = CONFIDENCE,
): Bounds {
  const error = Math.sqrt(variance * (1 / sessions + 1 / baselineSessions));
  const reach = normalQuantile((1 + confidence) / 2) * error;
  return { low: density * Math.exp(-reach), high: density * Math.exp(reach) };
}

/**
 * Weighted share of queries with a percentile <= `UNCOVERED_PERCENTILE`. A query whose tied ranks span this percentile
 * counts partially.
 */
function uncoveredShare(ranks: readonly TiedRanks[], weights: Float64Array, sessions: number) {
  let total = 0;
  let uncovered = 0;
  for (const [i, rank] of ranks.entries()) {
    const w = weights[i] ?? 0;
    total += w;
    uncovered += w * tailShare(rank, UNCOVERED_PERCENTILE);
  }
  // Rounding errors can make the quotient exceed 1 in the last digit.
  return uncoveredShareOf(Math.min(1, uncovered / total), sessions, Number.POSITIVE_INFINITY);
}

/** Weighted share of uncovered queries, with Wilson's 95 % interval over sessions. */
export type UncoveredShare = ReturnType<typeof uncoveredShareOf>;

/**
 * Confidence intervals of an uncovered share and of its excess over the baseline. The intervals are Wilson intervals
 * for 1 / (1/n + 1/N) sessions: the threshold is a percentile estimated from N sessions, and its error is about as
 * large as the error of a share estimated from N sessions.
 *
 * @param sessions n, >= 1
 * @param baselineSessions N; infinity when uncovered shares relative to the same baseline are compared, because the
 *   error of the baseline affects them equally
 */
export function uncoveredShareOf(share: number, sessions: number, baselineSessions: number) {
  const { low, high } = wilsonInterval(share, 1 / (1 / sessions + 1 / baselineSessions), CONFIDENCE);
  const excessOf = (value: number): number => Math.max(0, (value - UNCOVERED_PERCENTILE) / (1 - UNCOVERED_PERCENTILE));
  return {
    threshold: UNCOVERED_PERCENTILE,
    share,
    ciLow: low,
    ciHigh: high,
    /**
     * Excess over the baseline, max(0, (share - 0.05) / (1 - 0.05)): at least this share of traffic lost its coverage.
     */
    excess: excessOf(share),
    excessLow: excessOf(low),
    excessHigh: excessOf(high),
  };
}

/**
 * Lowest acceptable density, both in a single comparison and for tickets. A density at or above this value is
 * acceptable, even if the drop is certain.
 */
export const DENSITY_THRESHOLD = 0.97;

/**
 * Returns the verdict `worse_covered` if the one-sided upper limit D / D0 exp(z sqrt(0.9 (1/sessions + e))) of the
 * density is below the threshold, where z is the 1 - alpha quantile of the normal distribution. D0 is the density of
 * queries whose coverage equals the coverage of the reference queries. D0 is slightly above 1, because the mean
 * surprise of ranks among few queries is below 0.99.
 *
 * e is the sum of share^2 / N over the score lists in `baseline`, where N is the number of scores in a list, and share
 * is the fraction of the traffic that is ranked against the list. e is the error of percentiles that are estimated from
 * N reference queries: the mean surprise is a linear rank statistic, and both samples contribute equally to its
 * variance (Hajek 1968). The result is valid for a single test of a window; monitoring many windows requires the
 * e-detector. The test assumes that reference queries are independent.
 *
 * @param alpha in (0, 0.5]
 * @param baseline the score lists among which the scores of the window are ranked
 */
export function classifyCoverage(window: QueryDensity, baseline: BaselineScores, alpha: number) {
  const lists = listsOf(window, baseline);
  const error = lists.reduce((sum, { share, size }) => sum + share ** 2 / size, 0);
  const unchangedX = lists.reduce((sum, { share, size }) => sum + share * meanSurprise(size), 0);
  const variance = SURPRISE_VARIANCE * (1 / window.sessions + error);
  const densityUpperLimit =
    (window.density / densityOf(unchangedX)) * Math.exp(-normalQuantile(alpha) * Math.sqrt(variance));
  return {
    verdict: densityUpperLimit < DENSITY_THRESHOLD ? ('worse_covered' as const) : ('not_worse' as const),
    /** Upper limit of the query density with confidence 1 - alpha. */
    densityUpperLimit,
  };
}

/**
 * Returns the score lists in which queries of the window were ranked: for each list, its size and the share of the
 * traffic that was ranked in it.
 */
function listsOf(
  { regions }: QueryDensity,
  baseline: BaselineScores,
): readonly { readonly share: number; readonly size: number }[] {
  const own = regions.flatMap(({ region, share }) => {
    const size = baseline.regions[region]?.length ?? 0;
    return size < MIN_IN_REGION ? [] : [{ share, size }];
  });
  const rest = Math.max(0, 1 - own.reduce((sum, { share }) => sum + share, 0));
  return [...own, { share: rest, size: baseline.all.length }];
}

/** Mean surprise of a query whose rank is uniform among `size` scores. */
function meanSurprise(size: number): number {
  return surpriseOf({ first: 1, last: size + 1, of: size + 1 });
}

export interface ScorePair {
  readonly before: number;
  readonly now: number;
}

/** Minimum number of changed queries. With fewer changes, the spread of the values is not meaningful. */
const MIN_CHANGES = 5;

/**
 * Density of replayed baseline queries. Each query is compared with itself, so if the store did not change, the density
 * is exactly 1, regardless of the traffic. A loss becomes visible as soon as an affected query is replayed. The
 * interval is for the mean change over all queries that the baseline sample represents. With fewer than five changed
 * queries, nearly all values are 0, which would make the interval too narrow. In that case, each bound of the mean
 * change is at least as far from 0 as the maximum surprise times the upper Wilson limit of a share: for the upper
 * bound, the share of queries whose surprise rose; for the lower bound, the share of queries whose surprise fell.
 *
 * @param pairs score pairs of queries from different sessions, sampled at random from the baseline
 * @param scores all scores of the baseline, among which both scores of a pair are ranked
 * @throws RangeError if there are no pairs
 */
export function repeatDensity(pairs: readonly ScorePair[], scores: BaselineScores) {
  const n = pairs.length;
  const surprise = (score: number): number => surpriseOf(tiedRanks(score, NO_REGION, scores));
  const changes = Float64Array.from(pairs, ({ before, now }) => surprise(now) - surprise(before));
  const change = mean(changes);
  const bounds = n === 1 ? { low: change, high: change, method: 't' as const } : meanInterval(changes, CONFIDENCE);
  const [dropped, rose] = [changes.filter((value) => value > 0).length, changes.filter((value) => value < 0).length];
  const isFew = dropped + rose < MIN_CHANGES;
  const most = (count: number): number => MAX_SURPRISE * wilsonInterval(count / n, n, CONFIDENCE).high;
  return {
    /** exp(-mean change in surprise): 1 in the baseline, lower if coverage is lower. */
    density: Math.exp(-change),
    ciLow: Math.exp(-(isFew ? Math.max(bounds.high, most(dropped)) : bounds.high)),
    ciHigh: Math.exp(-(isFew ? Math.min(bounds.low, -most(rose)) : bounds.low)),
    ciMethod: isFew ? ('wilson' as const) : bounds.method,
    queries: n,
    dropped,
  };
}

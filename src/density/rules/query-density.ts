/** Query density: how well the store covers the live queries, in multiples of the baseline. */

import { normalQuantile } from '../../stats/distributions.ts';
import { type Interval, wilsonInterval } from '../../stats/intervals.ts';
import { type BaselineScores, MIN_IN_REGION, NO_REGION } from './query-score.ts';
import { sessionWeights } from './sessions.ts';

export interface QueryDensity {
  readonly queries: number;
  readonly sessions: number;
  /** Weighted mean surprise X, in nats: 0.99 as in the baseline, more is worse. */
  readonly meanX: number;
  /** D = exp(0.99 - X): 1 as in the baseline, lower is worse covered; from 0.027 to 2.69. */
  readonly density: number;
  readonly uncovered: UncoveredShare;
  /** In ascending order; only regions with queries. */
  readonly regions: readonly RegionDensity[];
}

interface RegionDensity {
  readonly region: number;
  /** Sum of the session weights of its queries. */
  readonly weight: number;
  /** Of the traffic, 0..1. */
  readonly share: number;
  readonly meanX: number;
  readonly density: number;
}

/** Weighted share of queries at or under a percentile, with Wilson's 95 % interval on sessions. */
export interface UncoveredShare {
  readonly threshold: number;
  readonly share: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  /** Least share of traffic that lost its coverage: max(0, (share - threshold) / (1 - threshold)). */
  readonly excess: number;
  readonly excessLow: number;
  readonly excessHigh: number;
}

/** The outcome of a window with too few sessions to show a density. */
export interface InsufficientSessions {
  readonly kind: 'insufficient_data';
  readonly of: 'sessions';
  readonly have: number;
  readonly need: number;
}

/** Mean surprise of the baseline's own queries, E[min(-ln u, ln 100)] for uniform u. */
export const BASELINE_MEAN_X = 0.99;

/** Sessions from which a density is known to about 13 %. */
export const MIN_SESSIONS = 200;

/** A query at or under this percentile of the baseline is uncovered. */
export const UNCOVERED_PERCENTILE = 0.05;

/** Variance of min(-ln u, ln 100) for uniform u, rounded. */
const SURPRISE_VARIANCE = 0.9;

const CONFIDENCE = 0.95;

/**
 * Query density of one window. With w = 1 / (queries of the session in the window) and the surprises x of `surpriseOf`:
 *
 *     X = sum w x / sum w        D = exp(0.99 - X)
 *
 * @param percentiles of the queries, as `percentile` gives them
 * @param regions of the queries, `NO_REGION` for none
 * @param sessions numbers of the queries' sessions
 * @returns null without queries
 */
export function queryDensity(
  percentiles: Float64Array,
  surprises: Float64Array,
  regions: ArrayLike<number>,
  sessions: ArrayLike<number>,
): QueryDensity | null {
  if (surprises.length === 0) return null;
  const weighted = sessionWeights(sessions);
  const byRegion = new Map<number, { weight: number; sum: number }>();
  let weight = 0;
  let sum = 0;
  for (const [i, x] of surprises.entries()) {
    const w = weighted.weights[i] ?? 0;
    weight += w;
    sum += w * x;
    const region = regions[i] ?? NO_REGION;
    if (region === NO_REGION) continue;
    const own = byRegion.get(region) ?? { weight: 0, sum: 0 };
    byRegion.set(region, { weight: own.weight + w, sum: own.sum + w * x });
  }
  const meanX = sum / weight;
  return {
    queries: surprises.length,
    sessions: weighted.sessions,
    meanX,
    density: densityOf(meanX),
    uncovered: uncoveredShare(percentiles, weighted.weights, weighted.sessions, UNCOVERED_PERCENTILE),
    regions: [...byRegion]
      .map(([region, own]) => ({
        region,
        weight: own.weight,
        share: own.weight / weight,
        meanX: own.sum / own.weight,
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
 * 95 % interval of a density: D exp(-+ 1.96 sqrt(phi 0.9 / sessions)).
 *
 * @param phi overdispersion of the sessions in the baseline, >= 1
 * @param sessions >= 1
 */
export function densityInterval(density: number, sessions: number, phi: number): Interval {
  const reach = normalQuantile((1 + CONFIDENCE) / 2) * Math.sqrt((phi * SURPRISE_VARIANCE) / sessions);
  return { low: density * Math.exp(-reach), high: density * Math.exp(reach) };
}

/** Weighted share of the queries with a percentile <= `threshold`, and what of it the baseline does not explain. */
function uncoveredShare(
  percentiles: Float64Array,
  weights: Float64Array,
  sessions: number,
  threshold: number,
): UncoveredShare {
  let total = 0;
  let uncovered = 0;
  for (const [i, u] of percentiles.entries()) {
    const w = weights[i] ?? 0;
    total += w;
    if (u <= threshold) uncovered += w;
  }
  // The same weights summed in another order may pass 1 by their last digit.
  return uncoveredShareOf(Math.min(1, uncovered / total), sessions, threshold);
}

/** The bounds of an uncovered share among sessions, and what of it the baseline does not explain. */
export function uncoveredShareOf(share: number, sessions: number, threshold: number): UncoveredShare {
  const { low, high } = wilsonInterval(share, sessions, CONFIDENCE);
  const excessOf = (value: number): number => Math.max(0, (value - threshold) / (1 - threshold));
  return {
    threshold,
    share,
    ciLow: low,
    ciHigh: high,
    excess: excessOf(share),
    excessLow: excessOf(low),
    excessHigh: excessOf(high),
  };
}

/** Null when there are sessions enough to show a density, else how many are missing. */
export function tooFewSessions(have: number, need: number = MIN_SESSIONS): InsufficientSessions | null {
  return have >= need ? null : { kind: 'insufficient_data', of: 'sessions', have, need };
}

// Whether one window, looked at once, is worse covered than a reference sample.

export interface CoverageVerdict {
  readonly verdict: 'worse_covered' | 'not_worse';
  /** Upper limit of the query density with confidence 1 - alpha. */
  readonly densityUpperLimit: number;
}

/** A density down to here is fine: a tiny change is not worth an alarm, however certain. */
export const DENSITY_FLOOR = 0.95;

/**
 * `worse_covered` when the one-sided upper limit D exp(z sqrt(0.9 (1/sessions + e))) of the density is below the floor;
 * z is the 1 - alpha quantile of the normal distribution.
 *
 * e = sum share^2 / N over the score lists that the percentiles came from. It is the error of percentiles that are
 * taken from N reference queries: the mean surprise is a linear rank statistic, whose variance has an equal part from
 * either sample (Hajek 1968). It holds for one look at a window; a watch over many windows needs the e-detector. The
 * reference queries count as independent.
 *
 * @param alpha in (0, 0.5]
 * @param baseline the scores that the window's percentiles were taken from
 */
export function judgeCoverage(window: QueryDensity, baseline: BaselineScores, alpha: number): CoverageVerdict {
  const variance = SURPRISE_VARIANCE * (1 / window.sessions + percentileError(window, baseline));
  const densityUpperLimit = window.density * Math.exp(-normalQuantile(alpha) * Math.sqrt(variance));
  return {
    verdict: densityUpperLimit < DENSITY_FLOOR ? 'worse_covered' : 'not_worse',
    densityUpperLimit,
  };
}

function percentileError({ regions }: QueryDensity, baseline: BaselineScores): number {
  let error = 0;
  let shareOfAll = 1;
  for (const { region, share } of regions) {
    const size = baseline.regions[region]?.length ?? 0;
    if (size < MIN_IN_REGION) continue;
    error += share ** 2 / size;
    shareOfAll -= share;
  }
  return error + Math.max(0, shareOfAll) ** 2 / baseline.all.length;
}

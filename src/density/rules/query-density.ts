/** Query density: how well the store covers live queries, or baseline queries asked again, in multiples of the baseline. */

import { mean, meanInterval } from '../../math/stats/descriptive.ts';
import { normalQuantile } from '../../math/stats/distributions.ts';
import { type Interval, wilsonInterval } from '../../math/stats/intervals.ts';
import {
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

export interface QueryDensity {
  readonly queries: number;
  readonly sessions: number;
  /** Weighted mean surprise X, in nats: 0.99 as in the baseline, more is worse. */
  readonly meanX: number;
  /** Variance of X between the sessions. */
  readonly varianceX: number;
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
 * @param ranks of the queries, as `tiedRanks` gives them
 * @param regions of the queries, `NO_REGION` for none
 * @param sessions numbers of the queries' sessions
 * @returns null without queries
 */
export function queryDensity(
  ranks: readonly TiedRanks[],
  surprises: Float64Array,
  regions: ArrayLike<number>,
  sessions: ArrayLike<number>,
): QueryDensity | null {
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
  // In ascending order, so that the order of the sessions does not reach the last digit.
  const squares = [...means.values()].map((mean) => (mean - meanX) ** 2).toSorted((a, b) => a - b);
  return {
    queries: surprises.length,
    sessions: weighted.sessions,
    meanX,
    varianceX: squares.reduce((total, square) => total + square, 0) / weighted.sessions,
    density: densityOf(meanX),
    uncovered: uncoveredShare(ranks, weighted.weights, weighted.sessions, UNCOVERED_PERCENTILE),
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

/** Variance of X between sessions that are covered as the baseline was. @param phi overdispersion of the baseline, >= 1 */
export function surpriseVariance(phi: number): number {
  return SURPRISE_VARIANCE * phi;
}

/**
 * 95 % interval of a density: D exp(-+ 1.96 sqrt(s^2 (1/n + 1/N))), for n sessions ranked among those of N.
 *
 * @param variance s^2 of X between sessions
 * @param sessions n, >= 1
 * @param baselineSessions N; infinity where densities of one baseline are held against each other, whose error they share
 */
export function densityInterval(
  density: number,
  variance: number,
  sessions: number,
  baselineSessions: number,
): Interval {
  const error = Math.sqrt(variance * (1 / sessions + 1 / baselineSessions));
  const reach = normalQuantile((1 + CONFIDENCE) / 2) * error;
  return { low: density * Math.exp(-reach), high: density * Math.exp(reach) };
}

/** Weighted share of the queries with a percentile <= `threshold`, tied ones in part, and what of it the baseline does not explain. */
function uncoveredShare(
  ranks: readonly TiedRanks[],
  weights: Float64Array,
  sessions: number,
  threshold: number,
): UncoveredShare {
  let total = 0;
  let uncovered = 0;
  for (const [i, rank] of ranks.entries()) {
    const w = weights[i] ?? 0;
    total += w;
    uncovered += w * tailShare(rank, threshold);
  }
  // The same weights summed in another order may pass 1 by their last digit.
  return uncoveredShareOf(Math.min(1, uncovered / total), sessions, threshold, Number.POSITIVE_INFINITY);
}

/**
 * The bounds of an uncovered share among sessions, and what of it the baseline does not explain. They are Wilson's for
 * 1 / (1/n + 1/N) sessions, since the threshold is a percentile of N sessions, which misses by about as much as a share
 * of N does.
 *
 * @param sessions n, >= 1
 * @param baselineSessions N; infinity for shares that are held against each other, whose error of the baseline they share
 */
export function uncoveredShareOf(
  share: number,
  sessions: number,
  threshold: number,
  baselineSessions: number,
): UncoveredShare {
  const { low, high } = wilsonInterval(share, 1 / (1 / sessions + 1 / baselineSessions), CONFIDENCE);
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
 * `worse_covered` when the one-sided upper limit D / D0 exp(z sqrt(0.9 (1/sessions + e))) of the density is below the
 * floor; z is the 1 - alpha quantile of the normal distribution. D0 is the density of queries as well covered as the
 * reference: a little above 1, since few reference queries leave few ranks below them.
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
  const lists = listsOf(window, baseline);
  const error = lists.reduce((sum, { share, size }) => sum + share ** 2 / size, 0);
  const unchangedX = lists.reduce((sum, { share, size }) => sum + share * meanSurprise(size), 0);
  const variance = SURPRISE_VARIANCE * (1 / window.sessions + error);
  const densityUpperLimit =
    (window.density / densityOf(unchangedX)) * Math.exp(-normalQuantile(alpha) * Math.sqrt(variance));
  return {
    verdict: densityUpperLimit < DENSITY_FLOOR ? 'worse_covered' : 'not_worse',
    densityUpperLimit,
  };
}

/** The lists of scores that the window was ranked in: their sizes, and how much of the window each took. */
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

/** Mean surprise of a query that is as likely at each rank among so many scores. */
function meanSurprise(size: number): number {
  return surpriseOf({ first: 1, last: size + 1, of: size + 1 });
}

/** The score of one query in the baseline, and now. */
export interface ScorePair {
  readonly before: number;
  readonly now: number;
}

export interface RepeatDensity {
  /** exp of minus the mean change of surprise: 1 as in the baseline, lower is worse covered. */
  readonly density: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  readonly ciMethod: 'bca' | 't' | 'wilson';
  readonly queries: number;
  /** Queries that find worse than then. */
  readonly fell: number;
}

/** Of fewer changes the spread of the values says too little. */
const FEW_CHANGES = 5;

/**
 * Each query is its own control: a store that answers as it did gives exactly 1, whoever asks, and a loss shows as soon
 * as a query that it touches is asked. Bounds are those of the mean change over all that the baseline queries were
 * drawn from. Where fewer than five queries changed, they are also as wide as Wilson's bounds on the share that changed
 * by the most that a surprise can, because values that are nearly all 0 would claim certainty.
 *
 * @param pairs of queries of different sessions, drawn at random from the baseline
 * @param scores the whole baseline is what both scores are ranked in
 * @throws RangeError without queries
 */
export function repeatDensity(pairs: readonly ScorePair[], scores: BaselineScores): RepeatDensity {
  const n = pairs.length;
  const surprise = (score: number): number => surpriseOf(tiedRanks(score, NO_REGION, scores));
  const changes = Float64Array.from(pairs, ({ before, now }) => surprise(now) - surprise(before));
  const change = mean(changes);
  const bounds = n === 1 ? { low: change, high: change, method: 't' as const } : meanInterval(changes, CONFIDENCE);
  const [fell, rose] = [changes.filter((value) => value > 0).length, changes.filter((value) => value < 0).length];
  const isFew = fell + rose < FEW_CHANGES;
  const most = (count: number): number => MAX_SURPRISE * wilsonInterval(count / n, n, CONFIDENCE).high;
  return {
    density: Math.exp(-change),
    ciLow: Math.exp(-(isFew ? Math.max(bounds.high, most(fell)) : bounds.high)),
    ciHigh: Math.exp(-(isFew ? Math.min(bounds.low, -most(rose)) : bounds.low)),
    ciMethod: isFew ? 'wilson' : bounds.method,
    queries: n,
    fell,
  };
}

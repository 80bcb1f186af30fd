/**
 * COEC, clicks over expected clicks: the click measure that takes out at which positions documents were shown. Zhang
 * and Jones, Comparing click logs and editorial labels for training query rewriting, WWW 2007 workshop on query log
 * analysis; Chapelle and Zhang, A dynamic Bayesian network click model for web search ranking, WWW 2009.
 */

import { studentTQuantile } from '../../../stats/distributions.ts';
import type { Interval } from '../../../stats/intervals.ts';
import {
  type ClickedQuery,
  type InsufficientFeedback,
  type RatioTerm,
  type SessionRatio,
  sessionRatio,
} from './click-rates.ts';
import { clicksWithin, type ReferenceCtr } from './reference-ctr.ts';

/** 95 % bounds; 0 <= low <= value <= high, all finite. */
export interface ClicksOverExpectedClicks {
  readonly kind: 'coec';
  /** 1: clicked as often as in the baseline at the same positions; lower: less often. */
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** Clicked documents of the sampled queries, and how many the reference expects of these, both unweighted. */
  readonly clicks: number;
  readonly expectedClicks: number;
  /** Ranks 1 to `depth` were looked at. */
  readonly depth: number;
  /** Sampled queries for which something was shown. */
  readonly n: number;
  readonly sessions: number;
}

const UPPER = 0.975;

/**
 * Clicks of the sampled queries over the sum of the reference CTR of every position that was shown, each weighted by
 * 1 / inclusion probability, at the ranks that the reference knows.
 *
 * It is a standardised ratio, as the standardised mortality ratio is: 1 if users click as in the baseline, whatever
 * number of documents they are shown. It does not part position bias from the usual relevance of a rank, and it moves
 * if the page changes how far users look. Queries without results have nothing to click and no part in it; they show
 * in `clickedQueryRate` and in the share of queries without results.
 *
 * Bounds are `weightedCountInterval` of the clicks, divided by the expected clicks. Its variance is that of
 * `sessionRatio` and, because the reference is an estimate too, value^2 times that of the expected clicks; its quantile
 * is Student's with one degree of freedom less than sessions. If sessions agree so well that they show no spread, the
 * clicks are taken as independent events.
 *
 * @param queries of the window and segment, settled (see `settledUntil`), attributed as those of the reference
 * @throws RangeError for a probability outside (0, 1], or so small that weights overflow
 */
export function clicksOverExpectedClicks(
  queries: readonly ClickedQuery[],
  reference: ReferenceCtr,
): ClicksOverExpectedClicks | InsufficientFeedback {
  const depth = reference.rates.length;
  const expectedOf = cumulative(reference.rates);
  const terms = queries.map((query) => ({
    cluster: query.cluster,
    probability: query.probability,
    numerator: clicksWithin(query, depth),
    denominator: expectedOf[Math.min(query.shown, depth)] ?? 0,
  }));
  const ratio = sessionRatio(terms);
  if (ratio.kind === 'insufficient_data') return ratio;
  const { value, numerator, denominator, sessions, n } = ratio;
  const shown = terms.filter((term) => term.denominator > 0);
  const variance = clickVariance(ratio, shown) + value ** 2 * expectedVariance(queries, reference);
  const weight = shown.reduce((largest, { probability }) => Math.max(largest, 1 / probability), 0);
  const bounds = weightedCountInterval(numerator, variance, weight, studentTQuantile(UPPER, sessions - 1));
  return {
    kind: 'coec',
    value,
    low: Math.min(value, bounds.low / denominator),
    high: Math.max(value, bounds.high / denominator),
    clicks: shown.reduce((sum, term) => sum + term.numerator, 0),
    expectedClicks: shown.reduce((sum, term) => sum + term.denominator, 0),
    depth,
    n,
    sessions,
  };
}

/** Sums of the first 0, 1, 2, ... rates. */
function cumulative(rates: readonly number[]): number[] {
  const sums = [0];
  for (const rate of rates) sums.push((sums.at(-1) ?? 0) + rate);
  return sums;
}

/** Variance of the weighted clicks given the expected ones. */
function clickVariance({ variance, denominator }: SessionRatio, terms: readonly RatioTerm[]): number {
  const spread = variance * denominator ** 2;
  const independent = terms.reduce((sum, { numerator, probability }) => sum + numerator / probability ** 2, 0);
  // Below this a spread is the rounding of none.
  return spread > 1e-9 * independent ? spread : independent;
}

/** Variance of the weighted expected clicks, from the covariance of the reference's rates. */
function expectedVariance(queries: readonly ClickedQuery[], { rates, covariance }: ReferenceCtr): number {
  const impressions = rates.map((_, index) =>
    queries.reduce((sum, { shown, probability }) => sum + (shown > index ? 1 / probability : 0), 0),
  );
  let variance = 0;
  for (const [a, row] of covariance.entries()) {
    for (const [b, value] of row.entries()) variance += (impressions[a] ?? 0) * (impressions[b] ?? 0) * value;
  }
  // Rounding alone can bring a sum of cancelling products below zero.
  return Math.max(0, variance);
}

/**
 * The gamma interval of Fay and Feuer (Statistics in Medicine 16, 1997) of a weighted count: the limits of the Poisson
 * distribution that has the ratio of mean to variance of the count, after one event of the largest weight was added for
 * the upper limit. Its chi-square quantiles are those of Wilson and Hilferty (1931); for equal weights that is Byar's
 * approximation to the exact Poisson limits (Breslow and Day, Statistical Methods in Cancer Research II, 1987, chapter
 * 2), within 0.2 % of them from 10 events on.
 *
 * The bounds are never below 0, lie further above a small count than below it, and are 0 to about 3.7 events for none.
 *
 * @param count sum of the weights of the events, >= 0
 * @param variance of the count, >= 0; 0 is certainty, but for the one event more
 * @param weight the largest that one event can have, > 0
 * @param z quantile of the confidence on one side: 1.96 for 95 %
 */
export function weightedCountInterval(count: number, variance: number, weight: number, z: number): Interval {
  const low = variance === 0 || count === 0 ? count : limit(count, variance, -z);
  return {
    low: Math.min(count, low),
    high: Math.max(count, limit(count + weight, variance + weight ** 2, z)),
  };
}

function limit(mean: number, variance: number, z: number): number {
  const events = mean ** 2 / variance;
  const root = 1 - 1 / (9 * events) + z / (3 * Math.sqrt(events));
  return mean * Math.max(0, root) ** 3;
}

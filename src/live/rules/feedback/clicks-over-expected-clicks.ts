/**
 * COEC, clicks over expected clicks: the click measure that takes out at which positions documents were shown. Zhang
 * and Jones, Comparing click logs and editorial labels for training query rewriting, WWW 2007 workshop on query log
 * analysis; Chapelle and Zhang, A dynamic Bayesian network click model for web search ranking, WWW 2009.
 */
import { studentTQuantile } from '../../../stats/distributions.ts';
import type { ClickedQuery } from './clicked-ranks.ts';
import type { InsufficientFeedback } from './insufficient-data.ts';
import { clicksWithin, type ReferenceCtr } from './reference-ctr.ts';
import { type RatioTerm, type SessionRatio, sessionRatio } from './session-ratio.ts';
import { weightedCountInterval } from './weighted-count-interval.ts';

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
  const independent = terms.reduce(
    (sum, { numerator, probability }) => sum + numerator / probability ** 2,
    0,
  );
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

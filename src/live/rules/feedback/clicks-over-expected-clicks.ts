/**
 * Clicks over expected clicks (COEC): a click measure that corrects for the positions at which documents were shown.
 * The expected clicks come from the click-through rate (CTR) at each rank in the baseline of the pipeline.
 *
 * Sources: Zhang and Jones, Comparing click logs and editorial labels for training query rewriting, WWW 2007 workshop
 * on query log analysis; Chapelle and Zhang, A dynamic Bayesian network click model for web search ranking, WWW 2009.
 */
import { studentTQuantile } from '../../../math/stats/distributions.ts';
import type { Bounds } from '../../../math/stats/intervals.ts';
import { checkProbability, effectiveClusters } from '../sampling/estimate.ts';
import { type ClickedQuery, type RatioTerm, type SessionRatio, sessionRatio, tooFew } from './click-rates.ts';

/** Baseline click-through rates, as plain numbers that can be stored as JSON. */
export type BaselineCtr = Extract<ReturnType<typeof baselineCtr>, { kind: 'baseline' }>;

/** Default maximum rank, because users rarely view deeper ranks. */
export const DEFAULT_CLICK_CUTOFF = 10;
/** Minimum number of sessions at a rank. With fewer sessions, the relative error of the rate is a third or more. */
const MIN_SESSIONS = 100;
const MIN_CLICKS = 20;
/** Number of pseudo-impressions that are added to each rank. */
const SMOOTHING = 1;

/**
 * Computes the click-through rates for `clicksOverExpectedClicks` from a baseline window of the same pipeline.
 *
 * The rate of a rank is (n p + s c) / (n + s), where s = 1. Here, p is the weighted share of clicked documents at that
 * rank, n is the effective number of sessions with a document at that rank, and c is the share over all ranks. This
 * additive smoothing keeps the rate of a rank without clicks above 0, and preserves the sum of the rates if all ranks
 * were shown equally often.
 *
 * Rates are computed only for ranks down to `cutoff` that have an effective number of at least 100 sessions. The
 * covariance between the weighted shares at two ranks is computed as in `sessionRatio`.
 *
 * @param queries baseline queries that can receive no further counted clicks (see `clicksCompleteUntil`); their clicks
 * must be attributed in the same way as in later windows
 * @throws RangeError for a probability that is outside (0, 1], or so small that weights overflow
 */
export function baselineCtr(queries: readonly ClickedQuery[], cutoff = DEFAULT_CLICK_CUTOFF) {
  for (const query of queries) checkProbability(query);
  const ranks = shownRanks(queries, cutoff);
  if (ranks.length === 0) {
    return tooFew('sessions', Math.floor(effectiveClusters(shownTo(queries, 1))), MIN_SESSIONS);
  }
  const depth = ranks.length;
  const clicks = queries.reduce((sum, query) => sum + clicksWithin(query, depth), 0);
  if (clicks < MIN_CLICKS) return tooFew('clicks', clicks, MIN_CLICKS);
  const overall = ratioOf(ranks);
  const rates = ranks.map(
    (rank) => (rank.sessions * ratioOf([rank]) + SMOOTHING * overall) / (rank.sessions + SMOOTHING),
  );
  const shown = shownTo(queries, 1);
  return {
    kind: 'baseline' as const,
    /** CTR at ranks 1, 2, ...; each in (0, 1]. Deeper ranks were shown too rarely to estimate their rates. */
    rates,
    /** Covariance of the rates, which are estimates too. */
    covariance: covarianceOf(shown, ranks),
    queries: shown.length,
    sessions: new Set(shown.map(({ cluster }) => cluster)).size,
    /** Number of clicked documents at the ranks that `rates` covers. */
    clicks,
  };
}

/** Counts the clicked documents in the top `depth` ranks of a query. */
function clicksWithin({ clickedRanks }: ClickedQuery, depth: number): number {
  return clickedRanks.filter((rank) => rank <= depth).length;
}

function shownTo(queries: readonly ClickedQuery[], rank: number): ClickedQuery[] {
  return queries.filter(({ shown }) => shown >= rank);
}

/** Effective number of sessions, and weighted numbers of clicks and impressions, at each rank. */
function shownRanks(queries: readonly ClickedQuery[], cutoff: number) {
  const totals = [];
  for (let rank = 1; rank <= cutoff; rank++) {
    const shown = shownTo(queries, rank);
    const sessions = effectiveClusters(shown);
    if (!Number.isFinite(sessions)) {
      throw new RangeError('The baseline CTR overflowed; a probability is too small.');
    }
    if (sessions < MIN_SESSIONS) break;
    let clicks = 0;
    let impressions = 0;
    for (const { probability, clickedRanks } of shown) {
      impressions += 1 / probability;
      if (clickedRanks.includes(rank)) clicks += 1 / probability;
    }
    totals.push({ sessions, clicks, impressions });
  }
  return totals;
}

function ratioOf(totals: ReturnType<typeof shownRanks>): number {
  const impressions = totals.reduce((sum, total) => sum + total.impressions, 0);
  return totals.reduce((sum, total) => sum + total.clicks, 0) / impressions;
}

function covarianceOf(queries: readonly ClickedQuery[], ranks: ReturnType<typeof shownRanks>): number[][] {
  const sessions = new Map<string | number, Float64Array>();
  for (const { cluster, probability, shown, clickedRanks } of queries) {
    const residuals = sessions.get(cluster) ?? new Float64Array(ranks.length);
    sessions.set(cluster, residuals);
    for (const [index, rank] of ranks.slice(0, shown).entries()) {
      const clicked = clickedRanks.includes(index + 1) ? 1 : 0;
      const residual = (clicked - rank.clicks / rank.impressions) / (probability * rank.impressions);
      // Weight of the rank's own estimate in the smoothed rate.
      const share = rank.sessions / (rank.sessions + SMOOTHING);
      residuals[index] = (residuals[index] ?? 0) + share * residual;
    }
  }
  const correction = sessions.size / (sessions.size - 1);
  return ranks.map((_, a) =>
    ranks.map((_, b) => {
      let sum = 0;
      for (const residuals of sessions.values()) sum += (residuals[a] ?? 0) * (residuals[b] ?? 0);
      return correction * sum;
    }),
  );
}

const UPPER = 0.975;

/**
 * Clicks on the sampled queries divided by the expected clicks, which are the sum of the baseline CTR over all shown
 * ranks. Actual and expected clicks are weighted by 1 / inclusion probability, and include only the ranks that the
 * baseline covers.
 *
 * The result is a standardized ratio, like the standardized mortality ratio: 1 if users click as in the baseline,
 * regardless of how many documents they are shown. The ratio does not separate position bias from the usual relevance
 * of a rank, and it changes if a new page layout makes users view more or fewer ranks. Queries without results are not
 * included; they affect `clickedQueryRate` and the share of queries without results.
 *
 * The bounds are the `weightedCountInterval` of the clicks, divided by the expected clicks. The variance is that of
 * `sessionRatio` plus value^2 times the variance of the expected clicks, because the baseline is also an estimate. The
 * quantile is that of Student's t with (number of sessions - 1) degrees of freedom. If sessions show no spread, clicks
 * are treated as independent.
 *
 * @param queries queries in the window that can receive no further counted clicks (see `clicksCompleteUntil`); their
 * clicks must be attributed in the same way as in the baseline
 * @throws RangeError for a probability that is outside (0, 1], or so small that weights overflow
 */
export function clicksOverExpectedClicks(queries: readonly ClickedQuery[], baseline: BaselineCtr) {
  const depth = baseline.rates.length;
  const expectedOf = cumulative(baseline.rates);
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
  const variance = clickVariance(ratio, shown) + value ** 2 * expectedVariance(queries, baseline);
  const weight = shown.reduce((largest, { probability }) => Math.max(largest, 1 / probability), 0);
  const bounds = weightedCountInterval(numerator, variance, weight, studentTQuantile(UPPER, sessions - 1));
  return {
    kind: 'coec' as const,
    /**
     * Clicks divided by expected clicks: 1 if users click as in the baseline at the same ranks. The bounds are those of
     * a 95 % confidence interval.
     */
    value,
    low: Math.min(value, bounds.low / denominator),
    high: Math.max(value, bounds.high / denominator),
    n,
  };
}

/** Returns the sums of the first 0, 1, 2, ... rates. */
function cumulative(rates: readonly number[]): number[] {
  const sums = [0];
  for (const rate of rates) sums.push((sums.at(-1) ?? 0) + rate);
  return sums;
}

/** Variance of the weighted clicks, given the expected clicks. */
function clickVariance({ variance, denominator }: SessionRatio, terms: readonly RatioTerm[]): number {
  const spread = variance * denominator ** 2;
  const independent = terms.reduce((sum, { numerator, probability }) => sum + numerator / probability ** 2, 0);
  // A spread below this limit is only a rounding error.
  return spread > 1e-9 * independent ? spread : independent;
}

/** Variance of the weighted expected clicks, from the covariance of the baseline rates. */
function expectedVariance(queries: readonly ClickedQuery[], { rates, covariance }: BaselineCtr): number {
  const impressions = rates.map((_, index) =>
    queries.reduce((sum, { shown, probability }) => sum + (shown > index ? 1 / probability : 0), 0),
  );
  let variance = 0;
  for (const [a, row] of covariance.entries()) {
    for (const [b, value] of row.entries()) variance += (impressions[a] ?? 0) * (impressions[b] ?? 0) * value;
  }
  // Rounding can make a sum of cancelling products negative.
  return Math.max(0, variance);
}

/**
 * The gamma interval of Fay and Feuer (Statistics in Medicine 16, 1997) for a weighted count. The interval consists of
 * the limits of the Poisson distribution with the same ratio of mean to variance; the upper limit includes one more
 * event of the largest weight. The chi-square quantiles use the approximation of Wilson and Hilferty (1931). For equal
 * weights, the result is Byar's approximation of the exact Poisson limits (Breslow and Day, Statistical Methods in
 * Cancer Research II, 1987, chapter 2), accurate to 0.2 % for 10 or more events.
 *
 * The bounds are never negative, and for a small count the upper bound is further from the count than the lower bound.
 * If there are no events, the bounds are 0 and about 3.7.
 *
 * @param count sum of the weights of the events, >= 0
 * @param variance variance of `count`, >= 0; 0 if the count is certain (the upper bound includes the additional event
 *   even then)
 * @param weight the largest possible weight of one event, > 0
 * @param z one-sided quantile: 1.96 for 95 %
 */
export function weightedCountInterval(count: number, variance: number, weight: number, z: number): Bounds {
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

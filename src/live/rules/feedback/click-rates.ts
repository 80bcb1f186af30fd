/**
 * Raw click rates. They move with the positions at which documents are shown; `clicksOverExpectedClicks` does not. No
 * click measure reflects retrieval quality for certain (Radlinski, Kurup and Joachims, CIKM 2008, found that none of
 * eight did in absolute terms): they tell that something changed, golden runs tell whether it is worse.
 */

import { normalQuantile, studentTQuantile } from '../../../stats/distributions.ts';
import { type Interval, wilsonInterval } from '../../../stats/intervals.ts';
import type { ClusterMember } from '../sampling/clusters.ts';
import type { ClickedQuery } from './clicked-ranks.ts';
import type { InsufficientFeedback } from './insufficient-data.ts';
import { type RatioTerm, type SessionRatio, sessionRatio } from './session-ratio.ts';

/** 95 % bounds; 0 <= low <= value <= high <= 1. */
export interface ClickRate {
  readonly kind: 'rate';
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** Sampled queries with a part in it. */
  readonly n: number;
  readonly sessions: number;
}

export type ClickRateOutcome = ClickRate | InsufficientFeedback;

const CONFIDENCE = 0.95;
/** Spread so small that it is rounding, or chance: no more is claimed than from this many times the sessions. */
const MOST_GAIN = 1e6;

/** Share of all documents shown at the ranks 1 to `cutoff` that were clicked: the raw CTR. */
export function clickThroughRate(queries: readonly ClickedQuery[], cutoff: number): ClickRateOutcome {
  return boundedRate(
    queries.map((query) => {
      const clicks = query.clickedRanks.filter((rank) => rank <= cutoff).length;
      return term(query, clicks, Math.min(query.shown, cutoff));
    }),
  );
}

/** Share of queries with a click on any document. A query without results counts as one without a click. */
export function clickedQueryRate(queries: readonly ClickedQuery[]): ClickRateOutcome {
  return boundedRate(queries.map((query) => term(query, query.clickedRanks.length > 0 ? 1 : 0, 1)));
}

/**
 * Mean over queries with a click of 1 / rank of the best-ranked clicked document: the mean reciprocal rank with clicks
 * in place of judgments (Max RR of Radlinski, Kurup and Joachims, CIKM 2008). It says where users click when they do;
 * how often they do is the `clickedQueryRate`.
 */
export function clickedReciprocalRank(queries: readonly ClickedQuery[]): ClickRateOutcome {
  return boundedRate(
    queries.flatMap((query) => {
      const best = query.clickedRanks[0];
      return best === undefined ? [] : [term(query, 1 / best, 1)];
    }),
  );
}

function term({ cluster, probability }: ClusterMember, numerator: number, denominator: number): RatioTerm {
  return { cluster, probability, numerator, denominator };
}

function boundedRate(terms: readonly RatioTerm[]): ClickRateOutcome {
  const ratio = sessionRatio(terms);
  if (ratio.kind === 'insufficient_data') return ratio;
  // Rounding can carry the ratio of equal sums past 1.
  const value = Math.min(1, ratio.value);
  const { low, high } = boundsOf(value, ratio);
  return {
    kind: 'rate',
    value,
    low: Math.min(low, value),
    high: Math.max(high, value),
    n: ratio.n,
    sessions: ratio.sessions,
  };
}

/**
 * Wilson interval as if from the n = p(1 - p) / variance independent trials that would spread as much, n reduced by
 * (z / t)^2 for the sessions (Korn and Graubard 1998; Dean and Pagano 2015). When all sessions agree they have no
 * spread, and n is their effective number.
 */
function boundsOf(value: number, { variance, sessions, effectiveSessions }: SessionRatio): Interval {
  const spread = value * (1 - value);
  const isUnanimous = variance * MOST_GAIN * effectiveSessions <= spread;
  const trials = isUnanimous ? effectiveSessions : spread / variance;
  const upper = (1 + CONFIDENCE) / 2;
  const t = studentTQuantile(upper, sessions - 1);
  return wilsonInterval(value, trials * (normalQuantile(upper) / t) ** 2, CONFIDENCE);
}

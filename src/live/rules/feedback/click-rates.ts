/**
 * Raw click rates. Unlike `clicksOverExpectedClicks`, click-through rates depend on the ranks at which documents are
 * shown. No click measure reliably reflects retrieval quality: none of the eight measures that Radlinski, Kurup and
 * Joachims (CIKM 2008) tested reflected it in absolute terms. Click measures show that user behavior changed; golden
 * runs show whether retrieval got worse.
 */

import { MINUTE_MS } from '../../../core/time.ts';
import { normalQuantile, studentTQuantile } from '../../../math/stats/distributions.ts';
import { effectiveNumber } from '../../../math/stats/effective-number.ts';
import { type Bounds, wilsonInterval } from '../../../math/stats/intervals.ts';
import { type ClusterMember, checkProbability, effectiveClusters } from '../sampling/estimate.ts';

/** A sampled query with the documents that were shown. */
export interface ShownQuery extends ClusterMember {
  readonly id: string;
  readonly occurredAt: Date;
  /** Ids of the shown documents, best first; empty if the retrieval found nothing or failed. */
  readonly documentIds: readonly string[];
}

export interface Click {
  readonly queryId: string;
  readonly documentId: string | null;
  /** Rank, starting at 1; used only if there is no document id. */
  readonly rank: number | null;
  readonly occurredAt: Date;
}

/** A sampled query whose weight may be calibrated. */
export interface CalibratedMember extends ClusterMember {
  /** Factor for the weight (see `calibrationOf`); default: 1. */
  readonly calibration?: number;
}

export interface ClickedQuery extends CalibratedMember {
  /** Number of shown documents, at ranks 1 to `shown`. */
  readonly shown: number;
  /** Ranks of the clicked documents, ascending and distinct. */
  readonly clickedRanks: readonly number[];
}

/** Maximum time between a query and a click that counts: half an hour, the usual session timeout. */
export const CLICK_ATTRIBUTION_MS = 30 * MINUTE_MS;

/**
 * Assigns clicks to the documents of sampled queries. Several clicks on a document count once.
 *
 * Services send the clicks for all queries, but the shown documents are known only for sampled queries. A click
 * therefore counts only if its query was sampled, and it is given the weight of that query. If a tenth of the queries
 * were sampled, dividing all clicks by the sampled impressions would make the rate ten times too high.
 *
 * A click counts only within `CLICK_ATTRIBUTION_MS` of its query, so that queries in old windows do not collect clicks
 * for longer than queries in new windows. The newest queries must wait for their clicks (see `clicksCompleteUntil`).
 *
 * @param queries all from one pipeline
 * @param clicks clicks on that pipeline, without clicks beyond the cap per user
 */
export function clickedQueries(queries: readonly ShownQuery[], clicks: readonly Click[]) {
  const entries = queries.map((query) => ({ query, ranks: new Set<number>() }));
  const byId = new Map(entries.map((entry) => [entry.query.id, entry]));
  const leftOut = { notShown: 0, late: 0 };
  for (const click of clicks) {
    const entry = byId.get(click.queryId);
    if (entry === undefined) continue;
    const rank = shownRank(click, entry.query.documentIds);
    if (rank === null) leftOut.notShown++;
    else if (click.occurredAt.getTime() - entry.query.occurredAt.getTime() > CLICK_ATTRIBUTION_MS) leftOut.late++;
    else entry.ranks.add(rank);
  }
  return {
    /** Queries with their clicks, in the given order. */
    queries: entries.map(({ query: { cluster, probability, documentIds }, ranks }) => ({
      cluster,
      probability,
      shown: documentIds.length,
      clickedRanks: [...ranks].toSorted((a, b) => a - b),
    })),
    /** Number of ignored clicks on these queries, by reason. */
    leftOut,
  };
}

/**
 * Returns the end of the period whose queries can no longer receive clicks that count. Click measures must not use
 * queries that occurred at or after this time.
 */
export function clicksCompleteUntil(now: Date): Date {
  return new Date(now.getTime() - CLICK_ATTRIBUTION_MS);
}

/**
 * Returns the rank of the clicked document among the shown documents. If the click has no document id, returns the rank
 * that the client sent. Returns null if the document or the rank was not shown.
 */
function shownRank({ documentId, rank }: Click, documentIds: readonly string[]): number | null {
  if (documentId !== null) {
    const index = documentIds.indexOf(documentId);
    return index < 0 ? null : index + 1;
  }
  return rank !== null && rank >= 1 && rank <= documentIds.length ? rank : null;
}

export interface RatioTerm extends ClusterMember {
  readonly numerator: number;
  /** Denominator, at least 0; it is 0 only if the numerator is 0 too. */
  readonly denominator: number;
}

export type SessionRatio = Extract<ReturnType<typeof sessionRatio>, { kind: 'ratio' }>;

/** Minimum number of sessions; a single session has no variance. */
const MIN_SESSIONS = 2;

/**
 * Ratio of the sum of numerator / probability to the sum of denominator / probability. The variance of the ratio covers
 * both the sampling of sessions and the random behavior of users:
 *
 *     m / (m - 1)  sum over sessions of (sum of (numerator - value * denominator) / probability)^2 / denominator^2
 *
 * This is the linearized variance of a ratio (Särndal, Swensson and Wretman, Model Assisted Survey Sampling, 1992,
 * section 5.6) between ultimate clusters (Hansen, Hurwitz and Madow 1953); a bootstrap over sessions yields a similar
 * variance. Queries within a session may depend on each other in any way. The variance does not vanish even if every
 * query was sampled, because user behavior is still random.
 *
 * @throws RangeError for a probability outside (0, 1] or a sum that is not finite
 */
export function sessionRatio(terms: readonly RatioTerm[]) {
  const members = terms.filter(({ denominator }) => denominator > 0);
  let numerator = 0;
  let denominator = 0;
  for (const member of members) {
    checkProbability(member);
    numerator += member.numerator / member.probability;
    denominator += member.denominator / member.probability;
  }
  const value = denominator === 0 ? 0 : numerator / denominator;
  const residuals = new Map<string | number, number>();
  for (const { cluster, probability, numerator, denominator } of members) {
    const residual = (numerator - value * denominator) / probability;
    residuals.set(cluster, (residuals.get(cluster) ?? 0) + residual);
  }
  const sessions = residuals.size;
  if (sessions < MIN_SESSIONS) return tooFew('sessions', sessions, MIN_SESSIONS);
  const contributions = [...residuals.values()].map((residual) => (residual / denominator) ** 2);
  const variance = (sessions / (sessions - 1)) * contributions.reduce((sum, square) => sum + square, 0);
  // The minimum of 1 is needed because the effective number is 0 if the squares of tiny contributions underflow.
  const freedom = Math.max(1, Math.min(sessions - 1, effectiveNumber(contributions)));
  const effectiveSessions = effectiveClusters(members);
  if (![numerator, denominator, variance, effectiveSessions].every(Number.isFinite)) {
    throw new RangeError('A ratio over sessions overflowed; a probability is too small.');
  }
  return {
    kind: 'ratio' as const,
    value,
    /** Sums of the weighted terms; `value` is their ratio. */
    numerator,
    denominator,
    variance,
    /** Degrees of freedom of the variance (Satterthwaite); small if a few heavy sessions dominate the variance. */
    degreesOfFreedom: freedom,
    /** Number of terms with a positive denominator. */
    n: members.length,
    sessions,
    /** Kish's effective number of sessions. */
    effectiveSessions,
  };
}

/** A rate with a 95 % confidence interval; 0 <= low <= value <= high <= 1. */
export type ClickRateOutcome = ReturnType<typeof rateOver>;

const CONFIDENCE = 0.95;
/**
 * Maximum ratio of the effective sample size to the effective number of sessions. A higher ratio does not show that the
 * rate is precise: the spread between sessions is then small only because of rounding or chance.
 */
const MAX_GAIN = 1e6;

/** Share of the documents shown at ranks 1 to `cutoff` that were clicked (raw CTR). */
export function clickThroughRate(queries: readonly ClickedQuery[], cutoff: number): ClickRateOutcome {
  return rateOver(
    queries.map((query) => {
      const clicks = query.clickedRanks.filter((rank) => rank <= cutoff).length;
      return ratioTerm(query, clicks, Math.min(query.shown, cutoff));
    }),
  );
}

/** Share of queries with a click on any document. Queries without results count as not clicked. */
export function clickedQueryRate(queries: readonly ClickedQuery[]): ClickRateOutcome {
  return queryRate(queries, ({ clickedRanks }) => clickedRanks.length > 0);
}

export function queryRate<Query extends CalibratedMember>(
  queries: readonly Query[],
  holds: (query: Query) => boolean,
): ClickRateOutcome {
  return meanShare(queries, (query) => (holds(query) ? 1 : 0));
}

/** Mean of a share in [0, 1] over all queries. */
export function meanShare<Query extends CalibratedMember>(
  queries: readonly Query[],
  shareOf: (query: Query) => number,
): ClickRateOutcome {
  return rateOver(queries.map((query) => ratioTerm(query, shareOf(query), 1)));
}

/**
 * Mean of 1 / rank of the best clicked document, over queries with a click: the mean reciprocal rank with clicks
 * instead of judgments (Max RR in Radlinski, Kurup and Joachims, CIKM 2008). The reciprocal rank shows at which ranks
 * users click; `clickedQueryRate` shows how often they click.
 */
export function clickedReciprocalRank(queries: readonly ClickedQuery[]): ClickRateOutcome {
  return rateOver(
    queries.flatMap((query) => {
      const best = query.clickedRanks[0];
      return best === undefined ? [] : [ratioTerm(query, 1 / best, 1)];
    }),
  );
}

export function ratioTerm(
  { cluster, probability, calibration = 1 }: CalibratedMember,
  numerator: number,
  denominator: number,
): RatioTerm {
  return { cluster, probability, numerator: numerator * calibration, denominator: denominator * calibration };
}

/** Estimates the ratio of the sums. No numerator may exceed its denominator, so the ratio is at most 1. */
export function rateOver(terms: readonly RatioTerm[]) {
  const ratio = sessionRatio(terms);
  if (ratio.kind === 'insufficient_data') return ratio;
  // Rounding can push the ratio above 1.
  const value = Math.min(1, ratio.value);
  const { low, high } = boundsOf(value, ratio);
  return {
    kind: 'rate' as const,
    value,
    low: Math.min(low, value),
    high: Math.max(high, value),
    /** Number of sampled queries from which the rate was estimated. */
    n: ratio.n,
    sessions: ratio.sessions,
  };
}

/**
 * Wilson interval for n independent trials, where n = p(1 - p) / variance, so that the trials have the given variance.
 * The number n is reduced by (z / t)^2, because the number of sessions is limited (Korn and Graubard 1998; Dean and
 * Pagano 2015). If all sessions agree, the variance is 0, and n is the effective number of sessions.
 */
function boundsOf(value: number, { variance, degreesOfFreedom, sessions, effectiveSessions }: SessionRatio): Bounds {
  const spread = value * (1 - value);
  const isUnanimous = variance * MAX_GAIN * effectiveSessions <= spread;
  const trials = isUnanimous ? effectiveSessions : spread / variance;
  const upper = (1 + CONFIDENCE) / 2;
  const t = studentTQuantile(upper, isUnanimous ? sessions - 1 : degreesOfFreedom);
  return wilsonInterval(value, trials * (normalQuantile(upper) / t) ** 2, CONFIDENCE);
}

export type InsufficientFeedback = ReturnType<typeof tooFew>;

/** Returns the result of a feedback measure that has too little data. */
export function tooFew(of: 'opinions' | 'sessions' | 'clicks', have: number, need: number) {
  return { kind: 'insufficient_data' as const, of, have, need };
}

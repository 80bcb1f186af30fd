/**
 * Raw click rates. They move with the positions at which documents are shown; `clicksOverExpectedClicks` does not. No
 * click measure reflects retrieval quality for certain (Radlinski, Kurup and Joachims, CIKM 2008, found that none of
 * eight did in absolute terms): they tell that something changed, golden runs tell whether it is worse.
 */

import { MINUTE_MS } from '../../../core/time.ts';
import { normalQuantile, studentTQuantile } from '../../../math/stats/distributions.ts';
import { effectiveNumber } from '../../../math/stats/effective-number.ts';
import { type Interval, wilsonInterval } from '../../../math/stats/intervals.ts';
import { type ClusterMember, effectiveClusters } from '../sampling/estimate.ts';

/** A sampled query with what was shown for it, best first. */
export interface ShownQuery extends ClusterMember {
  readonly id: string;
  readonly occurredAt: Date;
  /** Empty when the retrieval found nothing or failed. */
  readonly documentIds: readonly string[];
}

/** A counted click. */
export interface Click {
  readonly queryId: string;
  readonly documentId: string | null;
  /** From 1; used when the document is not named. */
  readonly rank: number | null;
  readonly occurredAt: Date;
}

/** A sampled query whose weight may be held to what is known of all. */
export interface CalibratedMember extends ClusterMember {
  /** What its weight is multiplied by, see `calibrationOf`; left out: 1. */
  readonly calibration?: number;
}

/** A sampled query as the click measures need it. */
export interface ClickedQuery extends CalibratedMember {
  /** Number of documents that were shown, at the ranks 1 to `shown`. */
  readonly shown: number;
  /** Ranks of the clicked ones, ascending, each once. */
  readonly clickedRanks: readonly number[];
}

/** How long after its query a click counts: half an hour, the usual end of a session. */
export const CLICK_ATTRIBUTION_MS = 30 * MINUTE_MS;

/**
 * Assigns clicks to the documents of sampled queries. A document counts as clicked once, however often it was.
 *
 * Services send the clicks of all queries, but what was shown is known only for the sampled ones. So only clicks of
 * sampled queries are used, with the weight of their query: clicks and impressions are then those of the same queries.
 * All clicks over the impressions of a tenth of the queries would give a rate ten times too high.
 *
 * A click counts only within `attributionMs` of its query, so that an old window has had no more time to gather clicks
 * than a new one; the newest windows must wait for theirs, see `clicksCompleteUntil`.
 *
 * @param queries of one pipeline
 * @param clicks latest opinions of kind `click` of that pipeline, within their caps
 */
export function clickedQueries(
  queries: readonly ShownQuery[],
  clicks: readonly Click[],
  attributionMs = CLICK_ATTRIBUTION_MS,
) {
  const entries = queries.map((query) => ({ query, ranks: new Set<number>() }));
  const byId = new Map(entries.map((entry) => [entry.query.id, entry]));
  const leftOut = { otherQuery: 0, notShown: 0, late: 0 };
  for (const click of clicks) {
    const entry = byId.get(click.queryId);
    if (entry === undefined) {
      leftOut.otherQuery++;
      continue;
    }
    const rank = shownRank(click, entry.query.documentIds);
    if (rank === null) leftOut.notShown++;
    else if (click.occurredAt.getTime() - entry.query.occurredAt.getTime() > attributionMs) leftOut.late++;
    else entry.ranks.add(rank);
  }
  return {
    /** One per query, in their order. */
    queries: entries.map(({ query: { cluster, probability, documentIds }, ranks }) => ({
      cluster,
      probability,
      shown: documentIds.length,
      clickedRanks: [...ranks].toSorted((a, b) => a - b),
    })),
    /** Clicks that are not in `queries`, by why. */
    leftOut,
  };
}

/**
 * Queries before this time have all the clicks that they can get; windows that end later should not be measured yet.
 */
export function clicksCompleteUntil(now: Date, attributionMs = CLICK_ATTRIBUTION_MS): Date {
  return new Date(now.getTime() - attributionMs);
}

/** The document's rank among those that were shown; the rank that was sent only where no document was named. */
function shownRank({ documentId, rank }: Click, documentIds: readonly string[]): number | null {
  if (documentId !== null) {
    const index = documentIds.indexOf(documentId);
    return index < 0 ? null : index + 1;
  }
  return rank !== null && rank >= 1 && rank <= documentIds.length ? rank : null;
}

/** Ratios over sampled queries whose users might have acted otherwise. */
export interface RatioTerm extends ClusterMember {
  readonly numerator: number;
  /** >= 0; 0 only where the numerator is 0 as well. */
  readonly denominator: number;
}

export interface SessionRatio {
  readonly kind: 'ratio';
  readonly value: number;
  /** Sums of the weighted terms; `value` is their ratio. */
  readonly numerator: number;
  readonly denominator: number;
  /** Of `value`. */
  readonly variance: number;
  /** Satterthwaite's of the variance: few when few heavy sessions make it up, however many light ones there are. */
  readonly degreesOfFreedom: number;
  /** Terms with a part in it. */
  readonly n: number;
  readonly sessions: number;
  /** Kish's effective number of sessions. */
  readonly effectiveSessions: number;
}

/** One session has no spread. */
const MIN_SESSIONS = 2;

/**
 * Sum of numerator / probability over sum of denominator / probability, with the variance that the sums have because
 * other sessions might have come and their users might have clicked otherwise:
 *
 *     m / (m - 1)  sum over sessions of (sum of (numerator - value * denominator) / probability)^2 / denominator^2
 *
 * It is the linearised variance of a ratio (Särndal, Swensson and Wretman, Model Assisted Survey Sampling, 1992,
 * section 5.6) between ultimate clusters (Hansen, Hurwitz and Madow 1953), close to what a bootstrap over sessions would
 * give. Queries of a session may depend on each other in any way. It does not vanish when every query was kept: what
 * users do, and what fails for them, is chance even then.
 *
 * @throws RangeError for a probability outside (0, 1] or a sum that is not finite
 */
export function sessionRatio(terms: readonly RatioTerm[]): SessionRatio | InsufficientFeedback {
  const members = terms.filter(({ denominator }) => denominator > 0);
  let numerator = 0;
  let denominator = 0;
  for (const member of members) {
    if (!(member.probability > 0 && member.probability <= 1)) {
      throw new RangeError(`An inclusion probability must lie in (0, 1], not be ${member.probability}.`);
    }
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
  // Where the squares of tiny numbers vanish, the least that it can be.
  const freedom = Math.max(1, Math.min(sessions - 1, effectiveNumber(contributions)));
  const effectiveSessions = effectiveClusters(members);
  if (![numerator, denominator, variance, effectiveSessions].every(Number.isFinite)) {
    throw new RangeError('A ratio over sessions overflowed; a probability is too small.');
  }
  return {
    kind: 'ratio',
    value,
    numerator,
    denominator,
    variance,
    degreesOfFreedom: freedom,
    n: members.length,
    sessions,
    effectiveSessions,
  };
}

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
const MAX_GAIN = 1e6;

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
  return queryRate(queries, ({ clickedRanks }) => clickedRanks.length > 0);
}

/** Share of queries of which something holds, such as that they failed. */
export function queryRate<Query extends CalibratedMember>(
  queries: readonly Query[],
  holds: (query: Query) => boolean,
): ClickRateOutcome {
  return meanShare(queries, (query) => (holds(query) ? 1 : 0));
}

/** Mean over queries of a share of each, 0..1. */
export function meanShare<Query extends CalibratedMember>(
  queries: readonly Query[],
  shareOf: (query: Query) => number,
): ClickRateOutcome {
  return boundedRate(queries.map((query) => term(query, shareOf(query), 1)));
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

function term(
  { cluster, probability, calibration = 1 }: CalibratedMember,
  numerator: number,
  denominator: number,
): RatioTerm {
  return { cluster, probability, numerator: numerator * calibration, denominator: denominator * calibration };
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
function boundsOf(value: number, { variance, degreesOfFreedom, sessions, effectiveSessions }: SessionRatio): Interval {
  const spread = value * (1 - value);
  const isUnanimous = variance * MAX_GAIN * effectiveSessions <= spread;
  const trials = isUnanimous ? effectiveSessions : spread / variance;
  const upper = (1 + CONFIDENCE) / 2;
  const t = studentTQuantile(upper, isUnanimous ? sessions - 1 : degreesOfFreedom);
  return wilsonInterval(value, trials * (normalQuantile(upper) / t) ** 2, CONFIDENCE);
}

/** The outcome of a measure of feedback when there is too little to say anything; never NaN. */
export interface InsufficientFeedback {
  readonly kind: 'insufficient_data';
  /** What there is too little of. */
  readonly of: 'opinions' | 'sessions' | 'clicks';
  readonly have: number;
  readonly need: number;
}

/** The outcome for `have` of what there should be `need` of. */
export function tooFew(of: InsufficientFeedback['of'], have: number, need: number): InsufficientFeedback {
  return { kind: 'insufficient_data', of, have, need };
}

/**
 * Decides, within the cap on samples per minute, whether to sample a live query, and computes its inclusion
 * probability.
 */
import { hash } from 'node:crypto';
import type { QueryOutcome } from '../../../core/model.ts';
import type { LiveQuery } from '../live-query.ts';

// The cap on samples per minute. Each replica counts the queries of the minute and halves the rate as often as needed
// to stay within its share of `max_per_minute`. A replica starts a minute with the halvings that the previous minute
// needed. When the minute is over, the maximum number of halvings on any replica applies to the whole minute. Samples
// that were selected only by an earlier, higher rate are deleted, and all other samples store the final rate. The order
// of arrival does not matter, and the stored probability is exact.
//
// Why estimates stay unbiased: levels depend on the number and the rates of the queries, never on their hashes. Given
// the arrivals, a query is sampled with probability exactly `rate * 2^-level`.
// - Before the minute is closed, a sample has the level that applied when it arrived. The probability of such a sample
//   is exact too, but samples of the same minute may have different probabilities. Samples of a crashed replica need no
//   repair.
// - After closing, all samples of the minute have the closing level. A higher level selects a subset of the samples of
//   a lower level, so closing never adds samples. Closing again after a late report can only delete further samples.
// - After a burst or a cold start, more samples than the budget allows are stored until the minute closes: in
//   expectation, at most budget * (1 + halvings / 2). In expectation, a closed minute has at most `budget` samples.
//   Only the expected number is capped: a session is sampled as a whole, so a session with thousands of queries per
//   minute can exceed the budget.
// - A query that is sent again in a later minute with a lower level has a second chance to be sampled. The store must
//   keep the larger probability and move the sample to the minute in which the query had this probability. Closing that
//   minute then accounts for both chances.

/** Load of one replica for one pipeline in one minute. */
export interface MinuteLoad {
  /** Minute of arrival (not of `occurred_at`), in whole minutes since the epoch. */
  readonly minute: number;
  /** Expected number of samples before halving: the sum of the rates of the queries that no rule selects. */
  readonly expected: number;
  /** Rates of this minute are multiplied by 2^-level. The level never decreases within a minute. */
  readonly level: number;
}

/**
 * Counts one query and returns the load whose level applies to the query. If the returned minute differs from the
 * minute of `load`, the old `load` is final. Arrivals store their levels, and the highest stored level applies when the
 * minute is closed.
 *
 * @param load result for the previous query on this replica and pipeline; null at the start
 * @param minute when the query arrived; if the clock went back, the query counts in the open minute
 * @param rate sampling rate of the query; 0 if a rule selects it, because the cap does not apply to rules
 * @param budget as in `SamplingPolicy`
 */
export function countArrival(load: MinuteLoad | null, minute: number, rate: number, budget: number): MinuteLoad {
  const open = load !== null && minute <= load.minute ? load : openMinute(load, minute, budget);
  const expected = open.expected + rate;
  return { minute: open.minute, expected, level: neededLevel(expected, budget, open.level) };
}

/** After a minute without traffic, the level starts at 0. */
function openMinute(previous: MinuteLoad | null, minute: number, budget: number): MinuteLoad {
  const follows = previous !== null && previous.minute + 1 === minute;
  return { minute, expected: 0, level: follows ? neededLevel(previous.expected, budget, 0) : 0 };
}

/** Smallest level >= `min` at which the expected samples fit the budget. */
function neededLevel(expected: number, budget: number, min: number): number {
  let level = min;
  while (expected * 2 ** -level > budget) level++;
  return level;
}

/** Queries that share one random number. Kinds are distinct: session `7` and trace `7` are two units. */
interface SamplingUnit {
  readonly kind: 'session' | 'episode' | 'trace' | 'query';
  readonly id: string;
}

/** Domain prefix that makes sampling hashes independent of all other uses of SHA-256 on the same ids. */
const DOMAIN = 'recalld/sampling/v1';

/**
 * Returns the sampling unit of a live query, which is the first of these that is set: its session, its episode, its
 * trace, or the query itself. Sessions and episodes are sampled as a whole. A blank id counts as missing, because some
 * clients send it for all users without a session, and these users would otherwise be sampled together.
 *
 * The sampling unit of a span is its trace, because its episode lies within the trace and may become known only after
 * the span was sampled.
 */
export function samplingUnit(query: UnitIds): SamplingUnit {
  const { sessionId, traceId } = query;
  const episodeId = query.episode?.id ?? null;
  if (isSet(sessionId)) return { kind: 'session', id: sessionId };
  if (isSet(episodeId) && !isWithinTrace(episodeId, traceId)) return { kind: 'episode', id: episodeId };
  if (isSet(traceId)) return { kind: 'trace', id: traceId };
  return { kind: 'query', id: query.id };
}

export type UnitIds = Pick<LiveQuery, 'id' | 'sessionId' | 'traceId'> & {
  readonly episode: { readonly id: string } | null;
};

function isSet(id: string | null): id is string {
  return id !== null && id.trim() !== '';
}

/** True for an episode that was derived from spans: its id is the trace id, or starts with it. */
function isWithinTrace(episodeId: string, traceId: string | null): boolean {
  return traceId !== null && (episodeId === traceId || episodeId.startsWith(`${traceId}-`));
}

/**
 * Returns the random number of a sampling unit: the first 53 bits of SHA-256 of (domain, pipeline, kind, id), as a
 * number in [0, 1).
 *
 * Every replica and every retry gets the same number for a unit, and the numbers of different units behave like
 * independent uniform random numbers. A unit is sampled if and only if its number is below its probability, so raising
 * a probability never drops a sampled unit. The probability that two units have the same number is only 2^-53, so the
 * number also identifies the unit in estimates (`SampledValue.cluster`) without storing the session id.
 *
 * Upstream sampling must not use the same hash, because probabilities multiply only for independent draws.
 */
export function samplingHash(pipeline: string, unit: SamplingUnit): number {
  return uniformHash([DOMAIN, pipeline, unit.kind, unit.id]);
}

/**
 * Returns the first 53 bits of the SHA-256 of the given strings, as a number in [0, 1). The first string is the hash's
 * domain.
 */
export function uniformHash(parts: readonly string[]): number {
  // JSON separates the hashed parts unambiguously.
  const digest = hash('sha256', JSON.stringify(parts), 'binary');
  return (uint32(digest, 0) * 2 ** 21 + (uint32(digest, 4) >>> 11)) / 2 ** 53;
}

/** Returns the big-endian integer that four one-byte characters encode. */
function uint32(bytes: string, from: number): number {
  const [a, b] = [bytes.charCodeAt(from), bytes.charCodeAt(from + 1)];
  const [c, d] = [bytes.charCodeAt(from + 2), bytes.charCodeAt(from + 3)];
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}

/**
 * Settings of `sampling` in the config. Queries that match `always_keep` or `low_similarity_below` are sampled
 * regardless of the rate and the cap.
 */
export interface SamplingRates {
  /** Sampling rate before the cap on samples per minute, in [0, 1]. */
  readonly rate: number;
  /** Rates, keyed by segment `key=value`; a matching rate replaces `rate`. */
  readonly segments: Readonly<Record<string, number>>;
}

export interface SamplingPolicy extends SamplingRates {
  readonly always_keep: readonly ('error' | 'zero_results' | 'negative_feedback')[];
  readonly low_similarity_below: number | null;
  /**
   * This replica's share of `max_per_minute`. If traffic is uneven, the busiest replica determines the level, so the
   * pipeline samples less than the cap, never more.
   */
  readonly budget: number;
}

/**
 * Query attributes that sampling uses. Feedback and a measured similarity become known only after ingestion. These two
 * attributes may be set only while unsampled queries are still buffered, because a rule that uses them must be able to
 * select unsampled queries too. Otherwise, only queries that were already sampled would get the probability 1, which
 * would bias estimates.
 */
export interface SamplingTraits extends UnitIds, Pick<LiveQuery, 'pipeline' | 'segments' | 'upstreamProbability'> {
  readonly outcome: QueryOutcome;
  /** Similarity of the best document; null if unknown. */
  readonly similarity: number | null;
  readonly hasNegativeFeedback: boolean;
}

/**
 * Counts an arriving query, and decides at the resulting level whether the query is sampled.
 *
 * @param load the load of this replica for the pipeline so far; null at the start
 */
export function sampleArrival(query: SamplingTraits, policy: SamplingPolicy, load: MinuteLoad | null, minute: number) {
  const rule = matchingRule(query, policy);
  const rate = rateFor(query.segments, policy);
  const next = countArrival(load, minute, rule === null ? rate : 0, policy.budget);
  return { decision: decideBy(query, rule, rate, next.level), load: next };
}

/**
 * Decides from the attributes and the hash alone, so that the decision can be repeated when feedback or similarity
 * becomes known. A query that matches a rule later gets the same probability as a query that matched it immediately.
 *
 * @param level sampling level of the minute in which the query arrived
 */
export function decide(query: SamplingTraits, policy: SamplingPolicy, level: number): SamplingDecision {
  return decideBy(query, matchingRule(query, policy), rateFor(query.segments, policy), level);
}

export type SamplingDecision = ReturnType<typeof decideBy>;

function decideBy(query: SamplingTraits, rule: ReturnType<typeof matchingRule>, rate: number, level: number) {
  const hash = samplingHash(query.pipeline, samplingUnit(query));
  const rateProbability = rate * 2 ** -level;
  const isSampled = rule !== null || hash < rateProbability;
  return {
    isSampled,
    /** Inclusion probability; weights are its inverse. The probability is 0 only for queries that are never sampled. */
    probability: query.upstreamProbability * (rule === null ? rateProbability : 1),
    /** The rule that matched; `rate` if the random number selected the query; otherwise `not_sampled`. */
    reason: rule ?? (isSampled ? ('rate' as const) : ('not_sampled' as const)),
    /** Random number of the sampling unit. */
    hash,
    /**
     * Probability from the rate and the level alone, without upstream sampling. The whole session is sampled if `hash <
     * rateProbability`.
     */
    rateProbability,
  };
}

function matchingRule(query: SamplingTraits, { always_keep: kinds, low_similarity_below: below }: SamplingPolicy) {
  const isLow = below !== null && query.similarity !== null && query.similarity < below;
  return kinds.find((kind) => matches(kind, query)) ?? (isLow ? 'low_similarity' : null);
}

function matches(kind: SamplingPolicy['always_keep'][number], query: SamplingTraits): boolean {
  switch (kind) {
    case 'error':
      return query.outcome === 'error' || query.outcome === 'timeout';
    case 'zero_results':
      return query.outcome === 'empty';
    case 'negative_feedback':
      return query.hasNegativeFeedback;
  }
}

/** Returns the sampling rate of a query: the largest rate that matches its segments. */
export function rateFor(segments: Readonly<Record<string, string>>, rates: SamplingRates): number {
  let largest: number | null = null;
  for (const key in segments) {
    const rate = rates.segments[`${key}=${segments[key]}`];
    if (rate !== undefined) largest = Math.max(largest ?? 0, rate);
  }
  return largest ?? rates.rate;
}

/** Whether a live query is kept, and with which probability it was, within the cap on samples a minute. */
import { hash } from 'node:crypto';
import type { QueryOutcome } from '../../../core/model.ts';

// The cap on samples a minute. Each replica counts the queries of the minute and halves the
// rate as often as it takes to stay within its share of `max_per_minute`; it starts a minute with as many halvings as
// the minute before needed. When the minute is over, the most halvings of any replica hold for the whole minute:
// samples that only an earlier, higher rate kept are deleted, and all others store the final rate. Who came first
// makes no difference, and the stored probability is exact.
//
// Why estimates stay unbiased. Levels follow from the number and the rates of the queries that arrived and never from
// their hashes, so that, given the arrivals, a query is kept with exactly `rate * 2^-level`.
// - Before the minute is closed, a sample holds the level at its own arrival: exact as well, merely unequal within the
//   minute. A replica that dies leaves such samples behind; they need no repair.
// - After it, all samples of the minute hold the closing level, on every replica. A higher level keeps a subset of
//   what a lower one kept, so closing only deletes; closing again, with a report that came late, only deletes more.
// - A burst or a cold start writes more than the budget until the minute closes: at most budget * (1 + halvings / 2)
//   in expectation. Closed minutes expect at most the budget. It is the expected number that is capped: a session is
//   kept whole, so one session that sends thousands of queries a minute can exceed the budget when it is drawn.
// - A query that is sent again in a later minute of a lower level has two chances. Whoever stores it must keep the
//   larger probability, and the sample in the minute that gave it, whose closing then holds for both chances alike.

/** What one replica counted in one minute of one pipeline. */
export interface MinuteLoad {
  /** Whole minutes since the epoch, by arrival, not by `occurred_at`. */
  readonly minute: number;
  /** Samples that the rates alone would keep: the sum of the rates of the queries that no rule keeps. */
  readonly expected: number;
  /** Rates of this minute are multiplied by 2^-level. It never falls within a minute. */
  readonly level: number;
}

/**
 * A replica's share of the cap, in samples a minute. With traffic spread unevenly the busiest replica decides the
 * level, so that the pipeline keeps less than the cap, never more.
 *
 * @throws RangeError unless `maxPerMinute` is positive and `replicas` is a whole number >= 1
 */
export function budgetShare(maxPerMinute: number, replicas: number): number {
  if (!(maxPerMinute > 0)) throw new RangeError(`max_per_minute must be positive, not ${maxPerMinute}.`);
  if (!Number.isSafeInteger(replicas) || replicas < 1) {
    throw new RangeError(`The number of replicas must be a whole number of at least 1, not ${replicas}.`);
  }
  return maxPerMinute / replicas;
}

/**
 * Counts one query and returns the load whose level holds for it. When the result has another minute than `load`,
 * that `load` is final and is what the replica reports for closing.
 *
 * @param load of the query before on this replica and pipeline; null at the start
 * @param minute of arrival; when the clock went back, the query counts in the minute that is open
 * @param rate of the query, 0 when a rule keeps it: kept by rule is outside the cap
 * @param budget from `budgetShare`
 */
export function countArrival(load: MinuteLoad | null, minute: number, rate: number, budget: number): MinuteLoad {
  const open = load !== null && minute <= load.minute ? load : openMinute(load, minute, budget);
  const expected = open.expected + rate;
  return { minute: open.minute, expected, level: neededLevel(expected, budget, open.level) };
}

/** After a minute without traffic nothing is known, so the rate starts unhalved. */
function openMinute(previous: MinuteLoad | null, minute: number, budget: number): MinuteLoad {
  const follows = previous !== null && previous.minute + 1 === minute;
  return { minute, expected: 0, level: follows ? neededLevel(previous.expected, budget, 0) : 0 };
}

/** The smallest level, from `least` up, at which the expected samples fit the budget. */
function neededLevel(expected: number, budget: number, least: number): number {
  let level = least;
  while (expected * 2 ** -level > budget) level++;
  return level;
}

/** The queries that share one draw. Kinds never mix: the session `7` and the trace `7` are two units. */
interface SamplingUnit {
  readonly kind: 'session' | 'trace' | 'query';
  readonly id: string;
}

/** Separates these hashes from every other use of SHA-256 on the same ids. */
const DOMAIN = 'recalld/sampling/v1';

/**
 * What is sampled together: the live queries of one session, so that a session is kept or left whole.
 *
 * The unit of a live query: its session, else its trace, else the query itself. A blank id counts as none, because
 * clients send one for everybody who has no session, and all of them would be kept or left together.
 */
export function samplingUnit(query: {
  readonly id: string;
  readonly sessionId: string | null;
  readonly traceId: string | null;
}): SamplingUnit {
  if (query.sessionId !== null && query.sessionId.trim() !== '') return { kind: 'session', id: query.sessionId };
  if (query.traceId !== null && query.traceId.trim() !== '') return { kind: 'trace', id: query.traceId };
  return { kind: 'query', id: query.id };
}

/**
 * The draw of a unit: the first 53 bits of SHA-256 of (domain, pipeline, kind, id), as a number in [0, 1).
 *
 * It is the same on every replica and every retry, and over units it behaves as independent uniform draws. A unit is
 * kept iff its hash is below its probability, so that raising a probability never drops a unit that was kept. All
 * queries of a unit share it, and two units share one with probability 2^-53, so it also names the unit where
 * estimates need one (`SampledValue.cluster`) without the session id being stored.
 *
 * Whoever samples upstream must not draw by this very hash: probabilities multiply only between independent draws.
 */
export function samplingHash(pipeline: string, unit: SamplingUnit): number {
  return uniformHash([DOMAIN, pipeline, unit.kind, unit.id]);
}

/** The first 53 bits of the SHA-256 of some texts, as a number in [0, 1); the first of them names what it is for. */
export function uniformHash(parts: readonly string[]): number {
  // JSON keeps the parts apart whatever characters they hold.
  const digest = hash('sha256', JSON.stringify(parts), 'binary');
  return (uint32(digest, 0) * 2 ** 21 + (uint32(digest, 4) >>> 11)) / 2 ** 53;
}

/** Of four characters that are bytes. */
function uint32(bytes: string, from: number): number {
  const [a, b] = [bytes.charCodeAt(from), bytes.charCodeAt(from + 1)];
  const [c, d] = [bytes.charCodeAt(from + 2), bytes.charCodeAt(from + 3)];
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}

/** Keeps every query that it fires for, outside the rate and the cap. */
export type AlwaysKeepRule =
  /** The retrieval failed or timed out. */
  | { readonly kind: 'error' }
  /** The retriever answered without documents. */
  | { readonly kind: 'zero_results' }
  | { readonly kind: 'negative_feedback' }
  /** The best document is less similar than `below`. */
  | { readonly kind: 'low_similarity'; readonly below: number };

export interface SamplingPolicy {
  readonly rates: SamplingRates;
  readonly alwaysKeep: readonly AlwaysKeepRule[];
  /** This replica's samples a minute, from `budgetShare`. */
  readonly budget: number;
}

/**
 * What sampling asks of a live query. An attribute that becomes known after ingest (feedback, a measured similarity)
 * may be filled in only if it would have become known for a query that was not kept as well, because that query is
 * still held somewhere. Otherwise the rule could not have pulled the query in, its probability was not 1, and
 * claiming so would count too few of its kind.
 */
export interface SamplingTraits {
  readonly pipeline: string;
  readonly id: string;
  readonly sessionId: string | null;
  readonly traceId: string | null;
  readonly segments: Readonly<Record<string, string>>;
  readonly outcome: QueryOutcome;
  /** Of the best document; null while unknown. */
  readonly similarity: number | null;
  readonly hasNegativeFeedback: boolean;
  /** Probability with which it survived sampling before it came here, in (0, 1]; 1 when there was none. */
  readonly upstreamProbability: number;
}

export interface SamplingDecision {
  readonly isSampled: boolean;
  /** Inclusion probability, to be stored with a sample; weights are its inverse. 0 only for what is never kept. */
  readonly probability: number;
  /** The rule that fired, `rate` when the draw kept it, `not_sampled` when it is left. */
  readonly reason: AlwaysKeepRule['kind'] | 'rate' | 'not_sampled';
  /** The draw of the unit. */
  readonly hash: number;
  /** What the rate and the level alone gave, without upstream; `hash < rateProbability` means the session is whole. */
  readonly rateProbability: number;
}

/**
 * Decides on a query as it arrives and counts it: `decide` at the level that `countArrival` finds for it.
 *
 * @param load of this replica and pipeline so far, null at the start
 */
export function sampleArrival(
  query: SamplingTraits,
  policy: SamplingPolicy,
  load: MinuteLoad | null,
  minute: number,
): { readonly decision: SamplingDecision; readonly load: MinuteLoad } {
  const rule = firedRule(query, policy.alwaysKeep);
  const rate = rateFor(query.segments, policy.rates);
  const next = countArrival(load, minute, rule === null ? rate : 0, policy.budget);
  return { decision: decideBy(query, rule, rate, next.level), load: next };
}

/**
 * Decides by (attributes, hash) alone, so that deciding again after the fact, with feedback or similarity now known,
 * is the same function: a query whose rule fires later is kept with the probability of one whose rule fired at once.
 *
 * @param level of the minute in which the query arrived
 * @throws RangeError for an upstream probability outside (0, 1], which the HTTP schema refuses
 */
export function decide(query: SamplingTraits, policy: SamplingPolicy, level: number): SamplingDecision {
  return decideBy(query, firedRule(query, policy.alwaysKeep), rateFor(query.segments, policy.rates), level);
}

function decideBy(
  query: SamplingTraits,
  rule: AlwaysKeepRule['kind'] | null,
  rate: number,
  level: number,
): SamplingDecision {
  const hash = samplingHash(query.pipeline, samplingUnit(query));
  const rateProbability = rate * 2 ** -level;
  const probability = probabilityBy(query, rule, rateProbability);
  if (rule !== null) return { isSampled: true, probability, reason: rule, hash, rateProbability };
  const isSampled = hash < rateProbability;
  return { isSampled, probability, reason: isSampled ? 'rate' : 'not_sampled', hash, rateProbability };
}

/**
 * Probability with which a query of these attributes ends among the samples: 1 when a rule fires, else its rate at
 * the level of its minute; times the upstream probability, because nothing here brings back what was dropped before.
 */
function probabilityBy(
  { upstreamProbability: upstream }: SamplingTraits,
  rule: AlwaysKeepRule['kind'] | null,
  rateProbability: number,
): number {
  if (!(upstream > 0 && upstream <= 1)) {
    throw new RangeError(`An upstream sampling probability must lie in (0, 1], not be ${upstream}.`);
  }
  return rule === null ? upstream * rateProbability : upstream;
}

/** The first rule of the policy that fires. */
function firedRule(query: SamplingTraits, rules: readonly AlwaysKeepRule[]): AlwaysKeepRule['kind'] | null {
  return rules.find((rule) => fires(rule, query))?.kind ?? null;
}

function fires(rule: AlwaysKeepRule, query: SamplingTraits): boolean {
  switch (rule.kind) {
    case 'error':
      return query.outcome === 'error' || query.outcome === 'timeout';
    case 'zero_results':
      return query.outcome === 'empty';
    case 'negative_feedback':
      return query.hasNegativeFeedback;
    case 'low_similarity':
      return query.similarity !== null && query.similarity < rule.below;
  }
}

/** How often live queries of a pipeline are kept, before the cap on samples a minute. */
interface SamplingRates {
  /** Rate of a query that no entry of `segments` matches, in [0, 1]; 0 and 1 are exact: none and all. */
  readonly rate: number;
  /** Rates by segment, written `key=value`; each takes the place of `rate`, upwards or downwards. */
  readonly segments: Readonly<Record<string, number>>;
}

/**
 * The rate of a query with these segments. When several entries match, the largest counts: whoever asked to see more
 * of a segment gets it, whatever other segments the query is in.
 *
 * @throws RangeError for a rate outside [0, 1], which the config schema refuses
 */
export function rateFor(segments: Readonly<Record<string, string>>, rates: SamplingRates): number {
  let largest: number | null = null;
  for (const key in segments) {
    const rate = rates.segments[`${key}=${segments[key]}`];
    if (rate !== undefined) largest = Math.max(largest ?? 0, checkedRate(rate));
  }
  return largest ?? checkedRate(rates.rate);
}

function checkedRate(rate: number): number {
  if (rate >= 0 && rate <= 1) return rate;
  throw new RangeError(`A sampling rate must lie in [0, 1], not be ${rate}.`);
}

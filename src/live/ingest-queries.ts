/**
 * Ingests live queries: validates, samples, anonymizes and stores them. Ingestion reports the result only after the
 * database has committed the samples.
 */

import type { Context } from '../core/context.ts';
import type { Rejection } from '../core/errors.ts';
import type { QueryOutcome } from '../core/model.ts';
import { MINUTE_MS } from '../core/time.ts';
import type { Meter } from '../platform/metrics/meter.ts';
import { createIsolationTally, type IsolationTally } from './isolation-tally.ts';
import type { PersonalData } from './privacy/personal-data.ts';
import type { FeedbackTarget, RecentQueries, RecentQuery } from './recent-queries.ts';
import type { SentimentMapping } from './rules/feedback/sentiment.ts';
import type { FeedbackCaps } from './rules/feedback/user-cap.ts';
import type { ParsedRule } from './rules/isolation.ts';
import { checkLiveQuery, checkOccurredAt, type LiveQuery, type PipelineLimits } from './rules/live-query.ts';
import {
  decide,
  type MinuteLoad,
  type SamplingDecision,
  type SamplingPolicy,
  type SamplingTraits,
  sampleArrival,
} from './rules/sampling/decision.ts';
import type { LiveSample } from './sql/record-arrivals.ts';

export interface LivePipeline {
  readonly name: string;
  readonly limits: PipelineLimits;
  readonly sampling: SamplingPolicy;
  readonly personalData: PersonalData;
  readonly isolation: readonly ParsedRule[];
  readonly feedback: SentimentMapping & { readonly caps: FeedbackCaps };
}

/** Configured pipelines that the sender may use, keyed by name. Items for other pipelines are rejected. */
export type LivePipelines = Pick<ReadonlyMap<string, LivePipeline>, 'get'>;

export interface IngestState {
  readonly live: LivePipelines;
  /** Sampling load of the latest minute with traffic, keyed by pipeline. */
  readonly loads: Map<string, MinuteLoad>;
  readonly recent: RecentQueries;
  /** Stores the dimensions of the first vector that arrives for a pipeline. */
  learnDimensions(pipeline: string, dimensions: number): Promise<void>;
}

/**
 * Ingests a batch. Each query is validated separately.
 *
 * @throws RecalldError database_unreachable or overloaded if nothing was stored; the client may send the batch again
 */
export async function ingestQueries(context: Context, state: IngestState, queries: readonly LiveQuery[]) {
  const { db, clock, meter, hooks } = context;
  const now = clock.now();
  const rejected: (Rejection & { index: number })[] = [];
  for (let index = 0; index < queries.length; index++) {
    const query = queries[index] as LiveQuery;
    const limits = state.live.get(query.pipeline)?.limits ?? null;
    const rejection = checkLiveQuery(query, limits, now);
    if (rejection !== null) rejected.push({ index, ...rejection });
    else if (query.embedding !== null && limits?.dimensions === null) {
      await state.learnDimensions(query.pipeline, query.embedding.length);
    }
  }
  const refused = new Set(rejected.map(({ index }) => index));
  const valid = refused.size === 0 ? queries : queries.filter((_, index) => !refused.has(index));
  const isolation = createIsolationTally(now);
  const arrivals = valid.map((query) => countAndSample(state, query, now, isolation));
  const pending: Promise<LiveSample>[] = [];
  for (const { sample } of arrivals) if (sample !== null) pending.push(sample);
  const samples = pending.length === 0 ? [] : await Promise.all(pending);
  const minute = new Date(Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS);
  const checked = isolation.arrival();
  const { isNew, isNewViolation } = await db.live.traffic.record({
    samples,
    counts: arrivals.map(({ query: { pipeline }, outcome }) => ({ pipeline, minute, outcome, queries: 1 })),
    levels: arrivals.map(({ query: { pipeline }, level }) => ({ pipeline, minute, level })),
    isolation: checked,
  });
  // Metrics are incremented only after the commit, because the client resends a failed batch.
  let [position, duplicates] = [0, 0];
  for (const { query, outcome, sample, unchecked } of arrivals) {
    if (sample === null || isNew[position++] === true) {
      observe(meter, query, outcome);
      for (const { rule, reason } of unchecked)
        meter.increment('recalld_live_isolation_unchecked_total', { pipeline: query.pipeline, rule, reason });
    } else duplicates += 1;
  }
  const violations = checked?.violations.filter((_, index) => isNewViolation[index] === true) ?? [];
  for (const { pipeline, rule } of violations)
    meter.increment('recalld_live_isolation_violations_total', { pipeline, rule });
  if (violations.length > 0) hooks.reportViolations([...new Set(violations.map(({ pipeline }) => pipeline))]);
  return {
    /** Number of new, valid queries, sampled or not. */
    accepted: arrivals.length - duplicates,
    sampled: samples.length - duplicates,
    /** Number of sampled queries whose id was already stored. */
    duplicates,
    rejected,
  };
}

/** Counts the query in its minute, and creates a sample if the random draw or a rule selects it. */
function countAndSample({ live, loads, recent }: IngestState, query: LiveQuery, now: Date, isolation: IsolationTally) {
  const pipeline = live.get(query.pipeline);
  if (pipeline === undefined)
    throw new Error(`a live query of the unknown pipeline ${query.pipeline} passed validation`);
  const outcome = outcomeOf(query);
  const traits = traitsOf(query, outcome, recent.hasNegativeFeedback(query));
  const minute = Math.floor(now.getTime() / MINUTE_MS);
  const { decision, load } = sampleArrival(traits, pipeline.sampling, loads.get(pipeline.name) ?? null, minute);
  loads.set(pipeline.name, load);
  const unchecked = isolation.add(query, pipeline);
  if (!decision.isSampled) recent.add({ query, receivedAt: now, isSampled: false });
  else if (decision.reason === 'rate') {
    recent.add({ query: outlineOf(query), receivedAt: now, isSampled: true });
  }
  const sample = decision.isSampled ? toSample(query, pipeline, decision, load.level, now) : null;
  return { query, outcome, level: load.level, sample, unchecked };
}

function traitsOf(query: LiveQuery, outcome: QueryOutcome, hasNegativeFeedback: boolean): SamplingTraits {
  return { ...query, outcome, similarity: similarityOf(query), hasNegativeFeedback };
}

/**
 * Removes the text, the vector and most results from the buffered copy of a stored sample, because a later change to
 * the sample's probability does not need them.
 */
function outlineOf(query: LiveQuery): LiveQuery {
  const episode = query.episode === null ? null : { ...query.episode, originalText: null };
  return { ...query, episode, text: null, embedding: null, stages: [], results: query.results.slice(0, 1) };
}

async function toSample(
  query: LiveQuery,
  pipeline: LivePipeline,
  decision: SamplingDecision,
  level: number,
  now: Date,
): Promise<LiveSample> {
  const { sessionId: _session, userId: _user, upstreamProbability: _upstream, episode, versions, ...kept } = query;
  return {
    ...kept,
    receivedAt: now,
    occurredAt: query.occurredAt ?? now,
    episode: episode?.id ?? null,
    episodeStep: episode?.step ?? null,
    outcome: outcomeOf(query),
    indexVersion: versions.index,
    embedderVersion: versions.embedder,
    retrieverVersion: versions.retriever,
    ...(await pipeline.personalData.toPrivateQuery(query)),
    probability: decision.probability,
    keepReason: decision.reason,
    unitHash: decision.hash,
    rateProbability: decision.rateProbability,
    level,
  };
}

function outcomeOf(query: LiveQuery): QueryOutcome {
  if (query.error === 'timeout') return 'timeout';
  if (query.error !== null) return 'error';
  return query.results.length === 0 ? 'empty' : 'ok';
}

function observe(meter: Meter, query: LiveQuery, outcome: QueryOutcome): void {
  const { pipeline } = query;
  const labels = { pipeline };
  meter.increment('recalld_queries_total', { pipeline, outcome });
  if (outcome === 'empty') meter.increment('recalld_query_zero_results_total', labels);
  if (query.latencyMs !== null) meter.observe('recalld_query_latency_seconds', labels, query.latencyMs / 1000);
  const best = similarityOf(query);
  if (best !== null) meter.observe('recalld_query_top1_similarity', labels, best);
}

/** Returns the score of the best document if that score can be a cosine, otherwise null. */
function similarityOf({ results }: LiveQuery): number | null {
  const best = results[0]?.score ?? null;
  return best !== null && best >= -1 && best <= 1 ? best : null;
}

/**
 * Samples the recent query (or the queries of the trace) that received negative feedback. If the query was already
 * sampled, its probability is raised to 1, because its negative feedback would have caused it to be sampled in any
 * case. A query that is no longer in the buffer is not sampled, so that estimates stay unbiased. Queries that were
 * erased in the meantime stay erased.
 */
export async function promoteNegativeFeedback(
  context: Context,
  { live, recent }: IngestState,
  target: FeedbackTarget,
): Promise<void> {
  recent.noteNegativeFeedback(target);
  const pipeline = live.get(target.pipeline);
  if (pipeline === undefined) return;
  const queries = recent.take(target);
  if (queries.length === 0) return;
  try {
    await storePromoted(context, pipeline, queries);
  } catch (error) {
    // If storing fails, the client resends the feedback, so the queries must be in the buffer again by then.
    for (const query of queries) recent.add(query);
    throw error;
  }
}

async function storePromoted(
  { db, clock }: Context,
  pipeline: LivePipeline,
  recent: readonly RecentQuery[],
): Promise<void> {
  const now = clock.now();
  const candidates = recent.map(({ query, receivedAt, isSampled }) => {
    const { userHash } = pipeline.personalData.hashPeople(query);
    return { query: { ...query, occurredAt: query.occurredAt ?? receivedAt }, userHash, isSampled };
  });
  const erased = await db.live.traffic.areErased(
    candidates.map(({ query, userHash }) => ({ ...query, episode: query.episode?.id ?? null, userHash })),
  );
  const unsampled: Promise<LiveSample>[] = [];
  const sampled: Promise<LiveSample>[] = [];
  for (const [position, { query, isSampled }] of candidates.entries()) {
    // Drops queries that are older than the retention period: if they were erased, the record of the erasure may
    // already be gone.
    const { retentionDays } = pipeline.limits;
    if (erased[position] === true || checkOccurredAt(query.occurredAt, retentionDays, now) !== null) continue;
    const decision = decide(traitsOf(query, outcomeOf(query), true), pipeline.sampling, 0);
    if (decision.reason !== 'negative_feedback') continue;
    (isSampled ? sampled : unsampled).push(toSample(query, pipeline, decision, 0, now));
  }
  const [samples, raised] = await Promise.all([Promise.all(unsampled), Promise.all(sampled)]);
  if (samples.length > 0) await db.live.traffic.record({ samples, counts: [], levels: [] });
  if (raised.length > 0) await db.live.traffic.raiseProbabilities(raised);
}

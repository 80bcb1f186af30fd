/** Live queries in: judge, make private, sample, store. What comes back is only said after the database has committed. */
import { checkLiveQuery, type PipelineLimits } from '../core/live/check-live-query.ts';
import type { LiveQuery } from '../core/live/live-query.ts';
import type { Rejection } from '../core/live/rejection.ts';
import type { QueryOutcome } from '../core/model.ts';
import {
  decide,
  type SamplingDecision,
  type SamplingPolicy,
  sampleArrival,
} from '../core/sampling/decision.ts';
import type { MinuteLoad } from '../core/sampling/minute-load.ts';
import type { Clock } from '../ports/clock.ts';
import type { ArrivalCount, LiveSample, LiveTraffic, MinuteLevel } from '../ports/live-traffic.ts';
import type { Meter } from '../ports/metrics.ts';
import type { PersonalData } from './personal-data.ts';
import type { RecentQueries } from './recent-queries.ts';

const MINUTE_MS = 60_000;

/** How one pipeline takes in its live queries. */
export interface LivePipeline {
  readonly name: string;
  readonly limits: PipelineLimits;
  readonly sampling: SamplingPolicy;
  readonly personalData: PersonalData;
}

export interface IngestQueriesDeps {
  readonly traffic: LiveTraffic;
  readonly clock: Clock;
  readonly meter: Meter;
  /** Null when the config has no pipeline of that name. */
  livePipeline(name: string): LivePipeline | null;
  readonly recent: RecentQueries;
  /** Tells the pipeline the length of its vectors, once. */
  learnDimensions(pipeline: string, dimensions: number): Promise<void>;
}

/** Carries the load of each pipeline from one request to the next, in this process. */
export type SamplingLoads = Map<string, MinuteLoad>;

export interface IngestReport {
  /** Valid queries that are new, sampled or not. */
  readonly accepted: number;
  /** Those of them that were kept. */
  readonly sampled: number;
  /** Kept queries whose id was there before. */
  readonly duplicates: number;
  readonly rejected: readonly (Rejection & { readonly index: number })[];
}

/**
 * Takes in a batch; each query is judged on its own.
 *
 * @throws RecalldError database_unreachable: nothing of the batch was stored, and it may be sent again
 */
export async function ingestQueries(
  deps: IngestQueriesDeps,
  loads: SamplingLoads,
  queries: readonly LiveQuery[],
): Promise<IngestReport> {
  const now = deps.clock.now();
  const rejected: (Rejection & { index: number })[] = [];
  const taken: Taken[] = [];
  for (const [index, query] of queries.entries()) {
    const pipeline = deps.livePipeline(query.pipeline);
    const rejection = checkLiveQuery(query, pipeline?.limits ?? null, now);
    if (rejection !== null) rejected.push({ index, ...rejection });
    else if (pipeline !== null) taken.push(await take(deps, loads, pipeline, query, now));
  }
  const samples = taken.flatMap(({ sample }) => (sample === null ? [] : [sample]));
  const { isNew } = await deps.traffic.record({ samples, ...countArrivals(taken, now) });
  const known = new Set(samples.filter((_, position) => isNew[position] !== true));
  // What could not be stored is sent again, so it is only counted now.
  for (const { query, outcome, sample } of taken) {
    if (sample === null || !known.has(sample)) observe(deps.meter, query, outcome);
  }
  const duplicates = known.size;
  return { accepted: taken.length - duplicates, sampled: samples.length - duplicates, duplicates, rejected };
}

interface Taken {
  readonly query: LiveQuery;
  readonly outcome: QueryOutcome;
  readonly level: number;
  /** Null when the query is not kept. */
  readonly sample: LiveSample | null;
}

/** Counts the query in its minute and makes a sample of it when the draw or a rule keeps it. */
async function take(
  deps: IngestQueriesDeps,
  loads: SamplingLoads,
  pipeline: LivePipeline,
  query: LiveQuery,
  now: Date,
): Promise<Taken> {
  if (query.embedding !== null && pipeline.limits.dimensions === null) {
    await deps.learnDimensions(query.pipeline, query.embedding.length);
  }
  const outcome = outcomeOf(query);
  const hasNegativeFeedback = deps.recent.isUnhappy(query.pipeline, query.id);
  const traits = { ...query, outcome, similarity: null, hasNegativeFeedback };
  const minute = Math.floor(now.getTime() / MINUTE_MS);
  const { decision, load } = sampleArrival(
    traits,
    pipeline.sampling,
    loads.get(pipeline.name) ?? null,
    minute,
  );
  loads.set(pipeline.name, load);
  if (!decision.kept) deps.recent.hold(query);
  const sample = decision.kept ? toSample(query, pipeline, decision, load.level, now) : null;
  return { query, outcome, level: load.level, sample };
}

/** A live query as it is stored, with the weight that its sampling gave it. */
function toSample(
  query: LiveQuery,
  pipeline: LivePipeline,
  decision: SamplingDecision,
  level: number,
  now: Date,
): LiveSample {
  return {
    pipeline: query.pipeline,
    id: query.id,
    receivedAt: now,
    occurredAt: query.occurredAt ?? now,
    traceId: query.traceId,
    embedding: query.embedding,
    topK: query.topK,
    outcome: outcomeOf(query),
    results: query.results,
    latencyMs: query.latencyMs,
    segments: query.segments,
    indexVersion: query.versions.index,
    embedderVersion: query.versions.embedder,
    retrieverVersion: query.versions.retriever,
    ...pipeline.personalData.ofQuery(query),
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
  const labels = { pipeline: query.pipeline };
  meter.increment('recalld_queries_total', { ...labels, outcome });
  if (outcome === 'empty') meter.increment('recalld_query_zero_results_total', labels);
  if (query.latencyMs !== null)
    meter.observe('recalld_query_latency_seconds', labels, query.latencyMs / 1000);
  const best = query.results[0]?.score ?? null;
  if (best !== null && best >= -1 && best <= 1) meter.observe('recalld_query_top1_similarity', labels, best);
}

/** Sums a batch by pipeline and outcome, so that it costs one row each and not one per query. */
function countArrivals(
  taken: readonly Taken[],
  now: Date,
): { counts: ArrivalCount[]; levels: MinuteLevel[] } {
  const minute = new Date(Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS);
  const counts = new Map<string, ArrivalCount>();
  const levels = new Map<string, MinuteLevel>();
  for (const { query, outcome, level } of taken) {
    const { pipeline } = query;
    const key = `${outcome} ${pipeline}`;
    counts.set(key, { pipeline, minute, outcome, queries: (counts.get(key)?.queries ?? 0) + 1 });
    levels.set(pipeline, { pipeline, minute, level });
  }
  return { counts: [...counts.values()], levels: [...levels.values()] };
}

/**
 * Keeps a query after all that was not sampled when it came, because a user was unhappy with it. Without effect when
 * it is no longer held, or was kept before.
 */
export async function keepUnhappy(deps: IngestQueriesDeps, pipelineName: string, id: string): Promise<void> {
  deps.recent.noteUnhappy(pipelineName, id);
  const pipeline = deps.livePipeline(pipelineName);
  const query = deps.recent.take(pipelineName, id);
  if (pipeline === null || query === null) return;
  const traits = { ...query, outcome: outcomeOf(query), similarity: null, hasNegativeFeedback: true };
  const decision = decide(traits, pipeline.sampling, 0);
  if (!decision.kept) return;
  const sample = toSample(query, pipeline, decision, 0, deps.clock.now());
  await deps.traffic.record({ samples: [sample], counts: [], levels: [] });
}

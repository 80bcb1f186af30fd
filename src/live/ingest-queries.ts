/** Live queries in: judge, make private, sample, store. What comes back is only said after the database has committed. */

import type { Rejection } from '../core/errors.ts';
import type { QueryOutcome } from '../core/model.ts';
import { type Clock, MINUTE_MS } from '../core/time.ts';
import type { Meter } from '../platform/metrics/meter.ts';
import type { PersonalData } from './privacy/personal-data.ts';
import type { HeldQuery, Judged, RecentQueries } from './recent-queries.ts';
import { checkLiveQuery, checkOccurredAt, type LiveQuery, type PipelineLimits } from './rules/live-query.ts';
import {
  decide,
  type MinuteLoad,
  type SamplingDecision,
  type SamplingPolicy,
  type SamplingTraits,
  sampleArrival,
} from './rules/sampling/decision.ts';
import type { LiveTraffic } from './sql/live-traffic.ts';
import type { ArrivalCount, LiveSample, MinuteLevel } from './sql/record-arrivals.ts';

/** How one pipeline takes in its live queries. */
export interface LivePipeline {
  readonly name: string;
  readonly limits: PipelineLimits;
  readonly sampling: SamplingPolicy;
  readonly personalData: PersonalData;
}

interface IngestQueriesDeps {
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

/**
 * Takes in a batch; each query is judged on its own.
 *
 * @throws RecalldError database_unreachable, overloaded: nothing of the batch was stored, and it may be sent again
 */
export async function ingestQueries(deps: IngestQueriesDeps, loads: SamplingLoads, queries: readonly LiveQuery[]) {
  const now = deps.clock.now();
  const rejected: (Rejection & { index: number })[] = [];
  for (let index = 0; index < queries.length; index++) {
    const query = queries[index] as LiveQuery;
    const limits = deps.livePipeline(query.pipeline)?.limits ?? null;
    const rejection = checkLiveQuery(query, limits, now);
    if (rejection !== null) rejected.push({ index, ...rejection });
    else if (query.embedding !== null && limits?.dimensions === null) {
      await deps.learnDimensions(query.pipeline, query.embedding.length);
    }
  }
  const valid = rejected.length === 0 ? queries : without(queries, new Set(rejected.map(({ index }) => index)));
  const arrived = new ArrivalTally(now);
  const taken = valid.map((query) => take(deps, loads, query, arrived));
  const kept: Promise<LiveSample>[] = [];
  for (const { sample } of taken) if (sample !== null) kept.push(sample);
  const samples = kept.length === 0 ? [] : await Promise.all(kept);
  const { isNew } = await deps.traffic.record({ samples, counts: arrived.counts, levels: arrived.levels });
  // What could not be stored is sent again, so it is only counted now.
  let [position, duplicates] = [0, 0];
  for (const { query, outcome, sample } of taken) {
    if (sample === null || isNew[position++] === true) observe(deps.meter, query, outcome);
    else duplicates += 1;
  }
  return {
    /** Valid queries that are new, sampled or not. */
    accepted: taken.length - duplicates,
    /** Those of them that were kept. */
    sampled: samples.length - duplicates,
    /** Kept queries whose id was there before. */
    duplicates,
    rejected,
  };
}

function without(queries: readonly LiveQuery[], refused: ReadonlySet<number>): LiveQuery[] {
  return queries.filter((_, index) => !refused.has(index));
}

/** Counts the query in its minute and makes a sample of it when the draw or a rule keeps it. */
function take(deps: IngestQueriesDeps, loads: SamplingLoads, query: LiveQuery, arrived: ArrivalTally) {
  const { now } = arrived;
  const pipeline = deps.livePipeline(query.pipeline);
  if (pipeline === null) throw new Error('a live query was taken for a pipeline that is not there');
  const outcome = outcomeOf(query);
  const traits = traitsOf(query, outcome, deps.recent.isUnhappy(query));
  const minute = Math.floor(now.getTime() / MINUTE_MS);
  const { decision, load } = sampleArrival(traits, pipeline.sampling, loads.get(pipeline.name) ?? null, minute);
  loads.set(pipeline.name, load);
  arrived.add(query.pipeline, outcome, load.level);
  if (!decision.kept) deps.recent.hold({ query, receivedAt: now, isKept: false });
  else if (decision.reason === 'rate') {
    deps.recent.hold({ query: outlineOf(query), receivedAt: now, isKept: true });
  }
  const sample = decision.kept ? toSample(query, pipeline, decision, load.level, now) : null;
  return {
    query,
    outcome,
    /** Being made private, as all of a batch are at once; null when the query is not kept. */
    sample,
  };
}

function traitsOf(query: LiveQuery, outcome: QueryOutcome, hasNegativeFeedback: boolean): SamplingTraits {
  const { pipeline, id, sessionId, traceId, segments, upstreamProbability } = query;
  return {
    pipeline,
    id,
    sessionId,
    traceId,
    segments,
    outcome,
    similarity: similarityOf(query),
    hasNegativeFeedback,
    upstreamProbability,
  };
}

/** What a sample needs whose weight may still change: its text and vector need not wait in memory for that. */
function outlineOf(query: LiveQuery): LiveQuery {
  return { ...query, text: null, embedding: null, stages: [], results: query.results.slice(0, 1) };
}

/** A live query as it is stored, with the weight that its sampling gave it. */
async function toSample(
  query: LiveQuery,
  pipeline: LivePipeline,
  decision: SamplingDecision,
  level: number,
  now: Date,
): Promise<LiveSample> {
  const { sessionHash, userHash, text, textHash, error } = await pipeline.personalData.ofQuery(query);
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
    context: query.context,
    latencyMs: query.latencyMs,
    stages: query.stages,
    segments: query.segments,
    indexVersion: query.versions.index,
    embedderVersion: query.versions.embedder,
    retrieverVersion: query.versions.retriever,
    sessionHash,
    userHash,
    text,
    textHash,
    error,
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

/** Score of the best document where it can be a cosine; null where it cannot, or there is none. */
function similarityOf({ results }: LiveQuery): number | null {
  const best = results[0]?.score ?? null;
  return best !== null && best >= -1 && best <= 1 ? best : null;
}

/** Sums a batch by pipeline and outcome, so that it costs one row each and not one per query. */
class ArrivalTally {
  readonly now: Date;
  /** Mostly one of each, and never more than a few: they are looked through. */
  readonly counts: Mutable<ArrivalCount>[] = [];
  readonly levels: Mutable<MinuteLevel>[] = [];
  private readonly minute: Date;

  constructor(now: Date) {
    this.now = now;
    this.minute = new Date(Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS);
  }

  add(pipeline: string, outcome: QueryOutcome, level: number): void {
    const { minute } = this;
    const count = this.counts.find((one) => one.pipeline === pipeline && one.outcome === outcome);
    if (count === undefined) this.counts.push({ pipeline, minute, outcome, queries: 1 });
    else count.queries += 1;
    const last = this.levels.find((one) => one.pipeline === pipeline);
    if (last === undefined) this.levels.push({ pipeline, minute, level });
    else last.level = level;
  }
}

type Mutable<Row> = { -readonly [Key in keyof Row]: Row[Key] };

/**
 * Keeps what was not sampled when it came, because a user was unhappy with it: a query, or those of a trace. One that
 * the rate had kept has been certain to be kept from now on, so its probability is raised. Without effect when it is
 * no longer held: then neither happens, so that estimates stay unbiased. What was erased since it came stays erased.
 */
export async function promoteNegativeFeedback(deps: IngestQueriesDeps, judged: Judged): Promise<void> {
  deps.recent.noteUnhappy(judged);
  const pipeline = deps.livePipeline(judged.pipeline);
  if (pipeline === null) return;
  const taken = deps.recent.take(judged);
  if (taken.length === 0) return;
  try {
    await storeUnhappy(deps, pipeline, taken);
  } catch (error) {
    // The feedback is sent again, and shall find them.
    for (const held of taken) deps.recent.hold(held);
    throw error;
  }
}

async function storeUnhappy(
  deps: IngestQueriesDeps,
  pipeline: LivePipeline,
  taken: readonly HeldQuery[],
): Promise<void> {
  const now = deps.clock.now();
  const asked = taken.map(({ query, receivedAt, isKept }) => {
    const { userHash } = pipeline.personalData.ofPeople(query);
    return { query: { ...query, occurredAt: query.occurredAt ?? receivedAt }, userHash, isKept };
  });
  const erased = await deps.traffic.areErased(asked.map(({ query, userHash }) => ({ ...query, userHash })));
  const late: Promise<LiveSample>[] = [];
  const kept: Promise<LiveSample>[] = [];
  for (const [position, { query, isKept }] of asked.entries()) {
    // What is past its retention was dropped, had it been kept; nobody remembers whether it was erased.
    const { retentionDays } = pipeline.limits;
    if (erased[position] === true || checkOccurredAt(query.occurredAt, retentionDays, now) !== null) continue;
    const decision = decide(traitsOf(query, outcomeOf(query), true), pipeline.sampling, 0);
    if (decision.reason !== 'negative_feedback') continue;
    (isKept ? kept : late).push(toSample(query, pipeline, decision, 0, now));
  }
  const [samples, raised] = await Promise.all([Promise.all(late), Promise.all(kept)]);
  if (samples.length > 0) await deps.traffic.record({ samples, counts: [], levels: [] });
  if (raised.length > 0) await deps.traffic.raiseProbabilities(raised);
}

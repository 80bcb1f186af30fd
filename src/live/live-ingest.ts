/** Builds the ingestion of live traffic from the config. */
import type { PipelineConfig } from '../app/config/schema.ts';
import type { CleanupStack } from '../core/cleanup-stack.ts';
import type { Context } from '../core/context.ts';
import { messageOf, type Rejection, type RejectionCode } from '../core/errors.ts';
import { MINUTE_MS } from '../core/time.ts';
import type { AuthenticationSettings } from '../platform/access/authentication.ts';
import { type FeedbackPolicy, ingestFeedback } from './ingest-feedback.ts';
import { type IngestState, ingestQueries, type LivePipeline, promoteNegativeFeedback } from './ingest-queries.ts';
import type { ParsedItems } from './ingest-schema.ts';
import { createPersonalData, type PersonalData, type PersonalDataParts } from './privacy/personal-data.ts';
import { createRedactionThread } from './privacy/redaction-thread.ts';
import { createRecentQueries, type FeedbackTarget } from './recent-queries.ts';
import type { SentimentMapping } from './rules/feedback/sentiment.ts';
import type { FeedbackCaps } from './rules/feedback/user-cap.ts';
import { parseRules } from './rules/isolation.ts';
import { checkEmbedding, type Feedback, type LiveQuery } from './rules/live-query.ts';
import type { PersonFragment, TraceFragment } from './rules/otel/trace-fragment.ts';
import type { UnreadableRetriever } from './rules/otel/unreadable-retriever.ts';
import { type AlwaysKeepRule, budgetShare } from './rules/sampling/decision.ts';
import type { BufferedFragment } from './sql/trace-fragments.ts';

export interface Report {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly (Rejection & { readonly index: number })[];
}

export interface IngestDeps {
  readonly authentication: AuthenticationSettings;
  /** Parses large bodies in a worker thread, into batches that do not block the main thread. */
  readonly largeBodies: {
    readonly queries: (json: readonly Uint8Array[]) => Promise<Iterable<ParsedItems<LiveQuery>>>;
    readonly feedback: (json: readonly Uint8Array[]) => Promise<Iterable<ParsedItems<Feedback>>>;
  };
  ingestQueries(queries: readonly LiveQuery[]): Promise<Report & { readonly sampled: number }>;
  ingestFeedback(feedback: readonly Feedback[]): Promise<Report>;
  /** Counts a rejected item. */
  onRejected(code: RejectionCode): void;
}

/**
 * Limits of fragments, which are stored for 10 to 20 minutes: at most about 600 MB in total. `bytesPerMinute`:
 * estimated bytes that this process stores in a minute; further fragments are dropped and counted. `perTrace`:
 * fragments per trace and export, because a service that indexes documents creates thousands of embeddings in one
 * trace.
 */
const FRAGMENTS = { bytesPerMinute: 32 * 1024 * 1024, perTrace: 100 };

type FragmentPipelines = ReadonlyMap<string, Omit<LivePipeline, 'name' | 'sampling' | 'isolation'>>;

/**
 * Creates a function that buffers the fragments of one export.
 *
 * Drops vectors with the wrong dimensions. Also drops vectors and texts of spans without a pipeline, because only the
 * privacy settings of a pipeline allow storing them.
 *
 * @param live configured pipelines by name
 * @param withoutPipeline hashes the users and sessions of spans without a pipeline
 * @throws RecalldError database_unreachable if some data was not stored; the client may send the export again
 */
export function createFragmentBuffer(
  { db, clock, meter }: Context,
  live: FragmentPipelines,
  withoutPipeline: PersonalData,
  budget: typeof FRAGMENTS = FRAGMENTS,
): (fragments: readonly TraceFragment[]) => Promise<void> {
  let minute = 0;
  let bytes = 0;
  const fitsBudget = (fragment: BufferedFragment, now: Date): boolean => {
    const current = Math.floor(now.getTime() / MINUTE_MS);
    if (current !== minute) bytes = 0;
    minute = current;
    bytes += sizeOf(fragment);
    return bytes <= budget.bytesPerMinute;
  };
  return async (fragments) => {
    const now = clock.now();
    const usable = fragments.filter((fragment) => isUsable(live, fragment));
    const last = lastOfEachTrace(usable, budget.perTrace);
    const pending = last.map((fragment) => toBuffered(live, withoutPipeline, fragment, now));
    const buffered = numbered(await Promise.all(pending)).filter((one) => fitsBudget(one, now));
    meter.increment('recalld_trace_spans_total', { outcome: 'fragment_dropped' }, usable.length - buffered.length);
    await db.live.traffic.bufferFragments(buffered);
  };
}

/** Returns false for vectors that do not match the dimensions of their pipeline. */
function isUsable(live: FragmentPipelines, fragment: TraceFragment): boolean {
  if (fragment.kind !== 'embedding') return true;
  const pipeline = live.get(fragment.pipeline ?? '');
  return pipeline !== undefined && checkEmbedding(fragment.vector, pipeline.limits.dimensions) === null;
}

async function toBuffered(
  live: FragmentPipelines,
  withoutPipeline: PersonalData,
  fragment: TraceFragment,
  now: Date,
): Promise<BufferedFragment> {
  const pipeline = live.get(fragment.pipeline ?? '');
  const { kind, traceId, spanId, endedAtUnixNano, within } = fragment;
  const place = { kind, traceId, spanId, endedAtUnixNano, within, part: 0, receivedAt: now };
  const base = { ...place, ...noFields, pipeline: pipeline === undefined ? null : fragment.pipeline };
  switch (fragment.kind) {
    case 'embedding': {
      const { vector, model } = fragment;
      const text = await pipeline?.personalData.toPrivateText(fragment.text);
      return { ...base, ...text, embedding: vector, embedderVersion: model };
    }
    case 'rerank': {
      const text = await pipeline?.personalData.toPrivateText(fragment.text);
      return { ...base, ...text, topK: fragment.topK, latencyMs: fragment.latencyMs, results: fragment.results };
    }
    case 'episode': {
      const { scope, startedAtUnixNano } = fragment;
      const text = await pipeline?.personalData.toPrivateText(fragment.text);
      return { ...base, ...text, scope, startedAtUnixNano };
    }
    case 'person':
      return { ...base, ...personOf(fragment, pipeline?.personalData ?? withoutPipeline) };
  }
}

const noFields = {
  text: null,
  textHash: null,
  embedding: null,
  embedderVersion: null,
  topK: null,
  latencyMs: null,
  results: null,
  sessionHash: null,
  traceHash: null,
  userHash: null,
  scope: null,
  startedAtUnixNano: null,
} as const;

function personOf({ traceId, sessionId, userId }: PersonFragment, personalData: PersonalData) {
  const { userHash, sessionHash } = personalData.hashPeople({ id: '', traceId, episode: null, sessionId, userId });
  if (sessionId === null) return { sessionHash: null, traceHash: null, userHash };
  const traceHash = personalData.hashPeople({
    id: '',
    traceId,
    episode: null,
    sessionId: null,
    userId: null,
  }).sessionHash;
  return { sessionHash, traceHash, userHash };
}

function lastOfEachTrace(fragments: readonly TraceFragment[], max: number): TraceFragment[] {
  const found = new Map<string, number>();
  return fragments
    .toReversed()
    .filter(({ traceId }) => {
      found.set(traceId, (found.get(traceId) ?? 0) + 1);
      return (found.get(traceId) ?? 0) <= max;
    })
    .toReversed();
}

/** Numbers the fragments of each span. A retry has the same spans and therefore gets the same numbers. */
function numbered(fragments: readonly BufferedFragment[]): BufferedFragment[] {
  const parts = new Map<string, number>();
  return fragments.map((fragment) => {
    const span = `${fragment.traceId} ${fragment.spanId}`;
    const part = parts.get(span) ?? 0;
    parts.set(span, part + 1);
    return { ...fragment, part };
  });
}

/** Returns the approximate size of a fragment in the database, in bytes. */
function sizeOf({ text, embedding, results }: BufferedFragment): number {
  return 500 + (text?.length ?? 0) + (embedding?.byteLength ?? 0) + 50 * (results?.length ?? 0);
}

/** Limits of the recent-query buffer, which cover a few minutes of a busy service. */
const RECENT = { queries: 10_000, bytes: 32 * 1024 * 1024 };

export type LiveIngest = Awaited<ReturnType<typeof createLiveIngest>>;

/** @param cleanups receives a cleanup that stops the thread that redacts long texts */
export async function createLiveIngest(context: Context, cleanups: CleanupStack) {
  const { config, db, clock, meter, logger, hashKey: key } = context;
  const { traffic } = db.live;
  const thread = createRedactionThread();
  cleanups.defer('redaction of long texts', () => thread.close());
  const live = new Map<string, LivePipeline>();
  const feedback = new Map<string, FeedbackPolicy>();
  const dimensions = new Map<string, number | null>();
  for (const pipeline of config.pipelines) {
    const { name, embedding_dimensions: configured } = pipeline;
    if (configured !== null) await traffic.fixDimensions(name, configured);
    dimensions.set(name, configured ?? (await traffic.dimensions(name, null)));
  }
  const personalDataOf = (pipeline: string, privacy: PersonalDataParts['privacy']) =>
    createPersonalData({ pipeline, privacy, key, thread, meter, logger, clock });
  const personal = config.pipelines.map((pipeline) => ({
    pipeline,
    personalData: personalDataOf(pipeline.name, pipeline.privacy),
  }));
  const build = (replicas: number): void => {
    for (const { pipeline, personalData } of personal) {
      live.set(pipeline.name, livePipeline(pipeline, personalData, dimensions.get(pipeline.name) ?? null, replicas));
      feedback.set(pipeline.name, feedbackPolicy(pipeline, personalData));
    }
  };
  let replicas = 1;
  build(replicas);

  const state: IngestState = {
    live,
    loads: new Map(),
    recent: createRecentQueries(RECENT),
    async learnDimensions(pipeline, length) {
      dimensions.set(pipeline, await traffic.dimensions(pipeline, length));
      build(replicas);
    },
  };
  const promote = (target: FeedbackTarget) => promoteNegativeFeedback(context, state, target);
  return {
    ingestQueries: (queries: readonly LiveQuery[]) => ingestQueries(context, state, queries),
    ingestFeedback: (items: readonly Feedback[]) => ingestFeedback(context, feedback, promote, items),
    /** Buffers fragments that may complete live queries that arrived earlier or arrive later. */
    bufferFragments: createFragmentBuffer(context, live, personalDataOf('none', { text: 'hash', patterns: [] })),
    recordUnreadable: createUnreadableRecorder(context),
    /** Updates the number of replicas that share the sampling cap. Must be called about once a minute. */
    async refresh() {
      replicas = await traffic.replicas(new Date(clock.now().getTime() - 120_000));
      build(replicas);
    },
  };
}

/** Maximum number of distinct kinds of unreadable spans to remember. */
const MAX_KINDS = 1000;

/**
 * Records retriever spans that did not produce a live query, for `recalld doctor`. Stores repeated records of the same
 * kind at most once a minute. Never rejects, because losing these records is harmless: they only help to find faults.
 */
function createUnreadableRecorder({ db, clock, logger }: Context) {
  const waiting = new Map<string, UnreadableRetriever>();
  let writtenAt = Number.NEGATIVE_INFINITY;
  return async (kinds: readonly UnreadableRetriever[]): Promise<void> => {
    let isNew = false;
    for (const kind of kinds) {
      const key = JSON.stringify([kind.pipeline, kind.instrumentation, kind.reason]);
      const known = waiting.get(key);
      isNew ||= known === undefined;
      if (known !== undefined || waiting.size < MAX_KINDS)
        waiting.set(key, { ...kind, spans: kind.spans + (known?.spans ?? 0) });
    }
    const now = clock.now();
    const due = now.getTime() - writtenAt >= MINUTE_MS;
    const fresh = [...waiting.values()].filter(({ spans }) => spans > 0);
    if (fresh.length === 0 || (!isNew && !due)) return;
    writtenAt = now.getTime();
    try {
      await db.live.traffic.recordUnreadable(fresh, now);
      // The kind stays in the map, so that only new kinds are stored immediately.
      for (const [key, kind] of waiting) waiting.set(key, { ...kind, spans: 0 });
    } catch (error) {
      logger.warn('cannot record unreadable retriever spans', { reason: messageOf(error) });
    }
  };
}

function livePipeline(
  { name, sampling, privacy, isolation }: PipelineConfig,
  personalData: LivePipeline['personalData'],
  dimensions: number | null,
  replicas: number,
): LivePipeline {
  return {
    name,
    limits: { dimensions, retentionDays: privacy.retention_days },
    sampling: {
      rates: { rate: sampling.rate, segments: sampling.segments },
      alwaysKeep: alwaysKeepRules(sampling),
      budget: budgetShare(sampling.max_per_minute, replicas),
    },
    personalData,
    isolation: parseRules(isolation),
  };
}

function alwaysKeepRules(sampling: PipelineConfig['sampling']): AlwaysKeepRule[] {
  const { always_keep: kinds, low_similarity_below: below } = sampling;
  const rules = kinds.map((kind): AlwaysKeepRule => ({ kind }));
  return below === null ? rules : [...rules, { kind: 'low_similarity', below }];
}

function feedbackPolicy(
  { feedback, privacy }: PipelineConfig,
  personalData: FeedbackPolicy['personalData'],
): FeedbackPolicy {
  const { thumb_zero: zero, rating, relevance, caps, ...implicit } = feedback;
  const mapping: SentimentMapping = {
    thumb: { zero },
    rating: scaleOf(rating),
    relevance: scaleOf(relevance),
    ...implicit,
  };
  return { mapping, caps: capsOf(caps), retentionDays: privacy.retention_days, personalData };
}

function scaleOf(scale: PipelineConfig['feedback']['rating']) {
  return {
    min: scale.min,
    max: scale.max ?? Number.POSITIVE_INFINITY,
    positiveFrom: scale.positive_from,
    negativeTo: scale.negative_to,
  };
}

function capsOf(caps: PipelineConfig['feedback']['caps']): FeedbackCaps {
  const cap = ({ per_hour: perHour, per_day: perDay }: (typeof caps)['explicit']) => ({ perHour, perDay });
  return { explicit: cap(caps.explicit), engagement: cap(caps.engagement), struggle: cap(caps.struggle) };
}

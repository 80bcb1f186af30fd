/** Composes the taking in of live traffic: what each pipeline of the config does with its queries and feedback. */
import type { Config, PipelineConfig } from '../app/config/schema.ts';
import type { CleanupStack } from '../core/cleanup-stack.ts';
import { messageOf, type Rejection, type RejectionCode } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { type Clock, MINUTE_MS } from '../core/time.ts';
import type { AuthenticationSettings } from '../platform/access/authentication.ts';
import type { Meter } from '../platform/metrics/meter.ts';
import { type FeedbackPolicy, ingestFeedback } from './ingest-feedback.ts';
import { ingestQueries, type LivePipeline, promoteNegativeFeedback, type SamplingLoads } from './ingest-queries.ts';
import type { ParsedItems } from './ingest-schema.ts';
import { createPersonalData, type PersonalData, type PersonalDataSettings } from './privacy/personal-data.ts';
import { createRedactionThread } from './privacy/redaction-thread.ts';
import { createRecentQueries, type FeedbackTarget } from './recent-queries.ts';
import type { SentimentMapping } from './rules/feedback/sentiment.ts';
import type { FeedbackCaps } from './rules/feedback/user-cap.ts';
import { checkEmbedding, type Feedback, type LiveQuery } from './rules/live-query.ts';
import type { PersonFragment, TraceFragment } from './rules/otel/trace-fragment.ts';
import type { UnreadableRetriever } from './rules/otel/unreadable-retriever.ts';
import { type AlwaysKeepRule, budgetShare } from './rules/sampling/decision.ts';
import type { LiveTraffic } from './sql/live-traffic.ts';
import type { BufferedFragment } from './sql/trace-fragments.ts';

export interface Report {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly (Rejection & { readonly index: number })[];
}

interface QueriesReport extends Report {
  readonly sampled: number;
}

export interface IngestDeps {
  readonly authentication: AuthenticationSettings;
  /** Reads bodies that would hold up the main thread, in parts that do not. */
  readonly largeBodies: {
    readonly queries: (json: readonly Uint8Array[]) => Promise<Iterable<ParsedItems<LiveQuery>>>;
    readonly feedback: (json: readonly Uint8Array[]) => Promise<Iterable<ParsedItems<Feedback>>>;
  };
  ingestQueries(queries: readonly LiveQuery[]): Promise<QueriesReport>;
  ingestFeedback(feedback: readonly Feedback[]): Promise<Report>;
  /** Counts an item that was not accepted. */
  onRejected(code: RejectionCode): void;
}

/** How many fragments of traces are held for the live queries that they complete. */
interface FragmentBudget {
  /** What this process holds of one minute at most, estimated; what is beyond it is dropped and counted. */
  readonly bytesPerMinute: number;
  /** Of one trace in one export; a service that fills its store embeds documents by the thousand. */
  readonly perTrace: number;
}

interface HoldFragmentsDeps {
  readonly traffic: LiveTraffic;
  readonly clock: Clock;
  readonly meter: Meter;
  readonly budget: FragmentBudget;
  /** Null when the config has no pipeline of that name. */
  livePipeline(name: string): Pick<LivePipeline, 'limits' | 'personalData'> | null;
  /** Of people on spans that belong to no pipeline. */
  readonly anybody: PersonalData;
}

/**
 * A function that takes in the fragments of one export.
 *
 * Vectors that are not of the pipeline's length are left out, as are vectors and texts of spans that tell no
 * pipeline: what may be kept of a text is the pipeline's to say.
 *
 * @throws RecalldError database_unreachable: something was not stored, and all of it may be sent again
 */
export function createFragmentBuffer(deps: HoldFragmentsDeps): (fragments: readonly TraceFragment[]) => Promise<void> {
  let minute = 0;
  let bytes = 0;
  const fitsBudget = (fragment: BufferedFragment, now: Date): boolean => {
    const current = Math.floor(now.getTime() / MINUTE_MS);
    if (current !== minute) bytes = 0;
    minute = current;
    bytes += sizeOf(fragment);
    return bytes <= deps.budget.bytesPerMinute;
  };
  return async (fragments) => {
    const now = deps.clock.now();
    const usable = fragments.filter((fragment) => isUsable(deps, fragment));
    const last = lastOfEachTrace(usable, deps.budget.perTrace);
    // All of an export are made private at once.
    const holding = await Promise.all(last.map((fragment) => toHeld(deps, fragment, now)));
    const held = numbered(holding).filter((one) => fitsBudget(one, now));
    deps.meter.increment('recalld_trace_spans_total', { outcome: 'fragment_dropped' }, usable.length - held.length);
    await deps.traffic.bufferFragments(held);
  };
}

/** A vector is of use only to a pipeline with such vectors. */
function isUsable(deps: HoldFragmentsDeps, fragment: TraceFragment): boolean {
  if (fragment.kind !== 'embedding') return true;
  const pipeline = fragment.pipeline === null ? null : deps.livePipeline(fragment.pipeline);
  return pipeline !== null && checkEmbedding(fragment.vector, pipeline.limits.dimensions) === null;
}

async function toHeld(deps: HoldFragmentsDeps, fragment: TraceFragment, now: Date): Promise<BufferedFragment> {
  const pipeline = fragment.pipeline === null ? null : deps.livePipeline(fragment.pipeline);
  const { kind, traceId, spanId, endedAtUnixNano, within } = fragment;
  const place = { kind, traceId, spanId, endedAtUnixNano, within, part: 0, receivedAt: now };
  const base = { ...place, ...nothing, pipeline: pipeline === null ? null : fragment.pipeline };
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
    case 'person':
      return { ...base, ...personOf(fragment, pipeline?.personalData ?? deps.anybody) };
  }
}

const nothing = {
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
} as const;

const nobody = { id: '', traceId: null, sessionId: null, userId: null };

function personOf(
  { traceId, sessionId, userId }: PersonFragment,
  personalData: PersonalData,
): Pick<BufferedFragment, 'sessionHash' | 'traceHash' | 'userHash'> {
  const { userHash, sessionHash } = personalData.hashPeople({ ...nobody, traceId, sessionId, userId });
  if (sessionId === null) return { sessionHash: null, traceHash: null, userHash };
  return { sessionHash, traceHash: personalData.hashPeople({ ...nobody, traceId }).sessionHash, userHash };
}

function lastOfEachTrace(fragments: readonly TraceFragment[], most: number): TraceFragment[] {
  const found = new Map<string, number>();
  return fragments
    .toReversed()
    .filter(({ traceId }) => {
      found.set(traceId, (found.get(traceId) ?? 0) + 1);
      return (found.get(traceId) ?? 0) <= most;
    })
    .toReversed();
}

/** The same in a retry, which brings the same spans. */
function numbered(fragments: readonly BufferedFragment[]): BufferedFragment[] {
  const parts = new Map<string, number>();
  return fragments.map((fragment) => {
    const span = `${fragment.traceId} ${fragment.spanId}`;
    const part = parts.get(span) ?? 0;
    parts.set(span, part + 1);
    return { ...fragment, part };
  });
}

/** What a fragment weighs in the database, roughly. */
function sizeOf({ text, embedding, results }: BufferedFragment): number {
  return 500 + (text?.length ?? 0) + (embedding?.byteLength ?? 0) + 50 * (results?.length ?? 0);
}

/** Of queries that no rule kept, in case a user is unhappy with one: some minutes of a busy service. */
const RECENT = { queries: 10_000, bytes: 32 * 1024 * 1024 };

/** Of fragments that wait for their live queries, ten to twenty minutes long: at most some 600 MB. */
const FRAGMENTS = { bytesPerMinute: 32 * 1024 * 1024, perTrace: 100 };

interface LiveIngestSettings {
  readonly config: Config;
  readonly traffic: LiveTraffic;
  readonly clock: Clock;
  readonly meter: Meter;
  readonly logger: Logger;
  readonly hashKey: string;
  /** End the thread that redacts long texts. */
  readonly cleanups: CleanupStack;
}

export interface LiveIngest extends Pick<IngestDeps, 'ingestQueries' | 'ingestFeedback'> {
  /** Takes in what may complete live queries that came before or come later. */
  bufferFragments(fragments: readonly TraceFragment[]): Promise<void>;
  /**
   * Remembers retriever spans that gave no query, for the doctor: those of a minute are written together, when the next
   * ones come. Never rejects, since nothing of what users sent is lost with it.
   */
  recordUnreadable(kinds: readonly UnreadableRetriever[]): Promise<void>;
  /** Learns how many replicas share the caps; to be called every minute or so. */
  refresh(): Promise<void>;
}

export async function createLiveIngest(settings: LiveIngestSettings): Promise<LiveIngest> {
  const { config, traffic, clock, meter, logger, hashKey, cleanups } = settings;
  const thread = createRedactionThread();
  cleanups.defer('redaction of long texts', () => thread.close());
  const loads: SamplingLoads = new Map();
  const recent = createRecentQueries(RECENT);
  const live = new Map<string, LivePipeline>();
  const feedback = new Map<string, FeedbackPolicy>();
  const dimensions = new Map<string, number | null>();
  for (const pipeline of config.pipelines) {
    const { name, embedding_dimensions: told } = pipeline;
    if (told !== null) await traffic.fixDimensions(name, told);
    dimensions.set(name, told ?? (await traffic.dimensions(name, null)));
  }
  const personalDataOf = (pipeline: string, privacy: PersonalDataSettings['privacy']) =>
    createPersonalData({ pipeline, privacy, key: hashKey, thread, meter, logger, clock });
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

  const queriesDeps = {
    traffic,
    clock,
    meter,
    recent,
    livePipeline: (name: string) => live.get(name) ?? null,
    async learnDimensions(pipeline: string, length: number) {
      dimensions.set(pipeline, await traffic.dimensions(pipeline, length));
      build(replicas);
    },
  };
  const feedbackDeps = {
    traffic,
    clock,
    meter,
    promoteNegativeFeedback: (target: FeedbackTarget) => promoteNegativeFeedback(queriesDeps, target),
    feedbackPolicy: (name: string) => feedback.get(name) ?? null,
  };
  return {
    ingestQueries: (queries) => ingestQueries(queriesDeps, loads, queries),
    ingestFeedback: (items) => ingestFeedback(feedbackDeps, items),
    bufferFragments: createFragmentBuffer({
      ...queriesDeps,
      budget: FRAGMENTS,
      anybody: personalDataOf('none', { text: 'hash', patterns: [] }),
    }),
    recordUnreadable: createUnreadableRecorder(settings),
    async refresh() {
      replicas = await traffic.replicas(new Date(clock.now().getTime() - 120_000));
      build(replicas);
    },
  };
}

/** Different kinds that wait for their minute. */
const MAX_KINDS = 1000;

function createUnreadableRecorder({
  traffic,
  clock,
  logger,
}: Pick<LiveIngestSettings, 'traffic' | 'clock' | 'logger'>): LiveIngest['recordUnreadable'] {
  const waiting = new Map<string, UnreadableRetriever>();
  let writtenAt = Number.NEGATIVE_INFINITY;
  return async (kinds) => {
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
      await traffic.recordUnreadable(fresh, now);
      // A key stays, so that only the first of a kind is written at once.
      for (const [key, kind] of waiting) waiting.set(key, { ...kind, spans: 0 });
    } catch (error) {
      logger.warn('unreadable retriever spans were not noted', { reason: messageOf(error) });
    }
  };
}

function livePipeline(
  { name, sampling, privacy }: PipelineConfig,
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

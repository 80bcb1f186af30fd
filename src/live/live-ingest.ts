/** Creates the ingestion of live traffic from the config. */
import type { CleanupStack } from '../core/cleanup-stack.ts';
import type { Context } from '../core/context.ts';
import { messageOf, type RejectionCode } from '../core/errors.ts';
import { MINUTE_MS } from '../core/time.ts';
import type { AuthenticationSettings } from '../platform/access/authentication.ts';
import { ingestFeedback } from './ingest-feedback.ts';
import {
  type IngestState,
  ingestQueries,
  type LivePipeline,
  type LivePipelines,
  promoteNegativeFeedback,
} from './ingest-queries.ts';
import type { createJsonBodyReader } from './json-bodies.ts';
import { createPersonalData, type PersonalData, type PersonalDataParts } from './privacy/personal-data.ts';
import { createRedactionThread } from './privacy/redaction-thread.ts';
import { createRecentQueries, type FeedbackTarget } from './recent-queries.ts';
import { parseRules } from './rules/isolation.ts';
import { checkEmbedding, type Feedback, type LiveQuery } from './rules/live-query.ts';
import type { TraceFragment } from './rules/otel/trace-fragment.ts';
import type { UnreadableRetriever } from './rules/otel/unreadable-retriever.ts';
import type { BufferedFragment } from './sql/trace-fragments.ts';

export interface IngestDeps extends Pick<LiveIngest, 'ingestQueries' | 'ingestFeedback'> {
  readonly authentication: AuthenticationSettings;
  /** Parses large bodies in a worker thread and returns batches that are small enough not to block the main thread. */
  readonly largeBodies: Pick<ReturnType<typeof createJsonBodyReader>, 'queries' | 'feedback'>;
  onRejected(code: RejectionCode): void;
}

/**
 * Limits on stored fragments, which are kept for 10 to 20 minutes: at most about 600 MB in total. `bytesPerMinute`:
 * maximum estimated number of bytes that this process stores per minute; further fragments are dropped and counted.
 * `perTrace`: maximum number of fragments per trace and export, because a service that indexes documents creates
 * thousands of embeddings in one trace.
 */
const FRAGMENTS = { bytesPerMinute: 32 * 1024 * 1024, perTrace: 100 };

type FragmentPipelines = ReadonlyMap<string, Pick<LivePipeline, 'limits' | 'personalData'>>;

/**
 * Creates a function that buffers the fragments of one export.
 *
 * Drops vectors with the wrong dimensions. Also drops vectors and texts of spans without a pipeline, because only the
 * privacy settings of a pipeline determine how they may be stored.
 *
 * @param live configured pipelines, keyed by name
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
  if (fragment.kind === 'person') {
    const { sessionId, userId } = fragment;
    const { hashPeople } = pipeline?.personalData ?? withoutPipeline;
    const person = { id: '', traceId, episode: null, sessionId, userId };
    const { sessionHash, userHash } = hashPeople(person);
    if (sessionId === null) return { ...base, userHash };
    return { ...base, sessionHash, traceHash: hashPeople({ ...person, sessionId: null }).sessionHash, userHash };
  }
  const text = await pipeline?.personalData.toPrivateText(fragment.text);
  switch (fragment.kind) {
    case 'embedding':
      return { ...base, ...text, embedding: fragment.vector, embedderVersion: fragment.model };
    case 'rerank':
      return { ...base, ...text, topK: fragment.topK, latencyMs: fragment.latencyMs, results: fragment.results };
    case 'episode':
      return { ...base, ...text, scope: fragment.scope, startedAtUnixNano: fragment.startedAtUnixNano };
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

/** Limits of the recent-query buffer, which holds a few minutes of a busy service's queries. */
const RECENT = { queries: 10_000, bytes: 32 * 1024 * 1024 };

export type LiveIngest = Awaited<ReturnType<typeof createLiveIngest>>;

/** @param cleanups receives a function that stops the redaction thread for long texts */
export async function createLiveIngest(context: Context, cleanups: CleanupStack) {
  const { config, db, clock, meter, logger, hashKey: key } = context;
  const { traffic } = db.live;
  const thread = createRedactionThread();
  cleanups.defer('redaction of long texts', () => thread.close());
  const personalDataOf = (pipeline: string, privacy: PersonalDataParts['privacy']) =>
    createPersonalData({ pipeline, privacy, key, thread, meter, logger, clock });
  const live = new Map<string, LivePipeline>();
  for (const { name, embedding_dimensions: configured, sampling, privacy, isolation, feedback } of config.pipelines) {
    if (configured !== null) await traffic.fixDimensions(name, configured);
    live.set(name, {
      name,
      limits: {
        dimensions: configured ?? (await traffic.dimensions(name, null)),
        retentionDays: privacy.retention_days,
      },
      sampling: { ...sampling, budget: sampling.max_per_minute },
      personalData: personalDataOf(name, privacy),
      isolation: parseRules(isolation),
      feedback,
    });
  }
  const change = (name: string, changed: (pipeline: LivePipeline) => Partial<LivePipeline>): void => {
    const pipeline = live.get(name);
    if (pipeline !== undefined) live.set(name, { ...pipeline, ...changed(pipeline) });
  };

  const state: IngestState = {
    live,
    loads: new Map(),
    recent: createRecentQueries(RECENT),
    async learnDimensions(pipeline, length) {
      const dimensions = await traffic.dimensions(pipeline, length);
      change(pipeline, ({ limits }) => ({ limits: { ...limits, dimensions } }));
    },
  };
  const usableBy = (only: readonly string[] | null): LivePipelines =>
    only === null ? live : { get: (name) => (only.includes(name) ? live.get(name) : undefined) };
  const promote = (target: FeedbackTarget) => promoteNegativeFeedback(context, state, target);
  return {
    /** @param only pipelines that the sender may use; null for all */
    ingestQueries: (queries: readonly LiveQuery[], only: readonly string[] | null = null) =>
      ingestQueries(context, { ...state, live: usableBy(only) }, queries),
    ingestFeedback: (items: readonly Feedback[], only: readonly string[] | null = null) =>
      ingestFeedback(context, usableBy(only), promote, items),
    /** Buffers fragments that may complete earlier or later live queries. */
    bufferFragments: createFragmentBuffer(context, live, personalDataOf('none', { text: 'hash', patterns: [] })),
    recordUnreadable: createUnreadableRecorder(context),
    /** Updates the number of replicas that share the sampling cap. Must be called about once a minute. */
    async refresh() {
      const replicas = await traffic.replicas(new Date(clock.now().getTime() - 120_000));
      for (const { name, sampling } of config.pipelines)
        change(name, () => ({ sampling: { ...sampling, budget: sampling.max_per_minute / replicas } }));
    },
  };
}

/** Maximum number of kinds of unreadable spans that are remembered. */
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

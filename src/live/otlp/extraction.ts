/** Reads OTLP requests: small bodies on the main thread, large ones in a worker thread. */
import { groupBy } from '../../core/group-by.ts';
import { createByteLimit, createThreadPool, movable } from '../../platform/threads/thread-pool.ts';
import type { RetrievalToolConfig } from '../config.ts';
import { ITEM_WEIGHT, pack, splitByWeight, unpackEach, weightOfFeedback, weightOfQuery } from '../item-batches.ts';
import { type Extraction, extractLiveQueries } from '../rules/otel/extract.ts';
import { extractLogFeedback } from '../rules/otel/feedback.ts';
import type { ExtractionOptions } from '../rules/otel/retrieved-documents.ts';
import type { Telemetry } from '../rules/otel/span.ts';
import { decodeLogs, decodeTraces } from './decode.ts';
import { contentOf, defaultOtlpLimits, type OtlpContent } from './parse.ts';
import { createToolFinder } from './retrieval-tools.ts';

interface ReadingInput {
  readonly content: OtlpContent;
  readonly pipelines: readonly TracedPipeline[];
}

export const tasks = {
  traces: (input: ReadingInput) => packed(readTraces(input.content, input.pipelines)),
  logs: (input: ReadingInput) => packed(readLogs(input.content, input.pipelines)),
} as const;

/** Returns the items of a body in packed batches, and the counts of unreadable items. */
function packed<Read extends Found>(read: Read) {
  const { batches, ...counts } = batched(read);
  return { ...counts, batches: batches.map(pack) };
}

/** Returns the items of a body in batches, and the counts of unreadable items. */
function batched<Read extends Found>({ queries, fragments, feedback, ...counts }: Read) {
  return { ...counts, batches: inBatches({ queries, fragments, feedback }) };
}

/** Data needed to find the pipeline of a span. The data is a plain object, so that it can be sent to a thread. */
export interface TracedPipeline {
  readonly name: string;
  readonly serviceNames: readonly string[];
  readonly segmentKeys: readonly string[];
  /** Keys of the document metadata that isolation rules compare. */
  readonly fieldKeys: readonly string[];
  readonly tools: readonly RetrievalToolConfig[];
  /**
   * True if several pipelines are configured, some of which may be hidden from the sender. A span that names no
   * pipeline may then belong to a hidden pipeline.
   */
  readonly isOneOfSeveral?: boolean;
}

/** Rejected items and other unreadable parts of a body, as returned by `decodeTraces`. */
export type Unread = Pick<ReturnType<typeof decodeTraces>, 'rejected' | 'flaws' | 'misnamed'>;

/** @throws RecalldError as `decodeTraces` */
export function readTraces(content: OtlpContent, pipelines: readonly TracedPipeline[]) {
  const { items, ...unread } = decodeTraces(content, defaultOtlpLimits);
  const found = extractLiveQueries(items, extractionOptions(pipelines));
  return { ...found, liveQueries: found.queries.length, ...unread };
}

/** @throws RecalldError as `decodeLogs` */
export function readLogs(content: OtlpContent, pipelines: readonly TracedPipeline[]) {
  const { items, ...unread } = decodeLogs(content, defaultOtlpLimits);
  const feedback = extractLogFeedback(items, extractionOptions(pipelines));
  return { queries: [], fragments: [], feedback, ...unread };
}

function extractionOptions(pipelines: readonly TracedPipeline[]): ExtractionOptions {
  const pipelineOf = pipelineFinder(pipelines);
  const toolFinders = new Map(
    pipelines.flatMap(({ name, tools }) => (tools.length === 0 ? [] : [[name, createToolFinder(tools)] as const])),
  );
  return {
    pipelineOf,
    segmentKeysOf: (name) => pipelines.find((pipeline) => pipeline.name === name)?.segmentKeys ?? [],
    fieldKeysOf: (name) => pipelines.find((pipeline) => pipeline.name === name)?.fieldKeys ?? [],
    toolOf: (span) => toolFinders.get(pipelineOf(span) ?? '')?.(span) ?? null,
  };
}

/**
 * Finds the pipeline of a span. The first of these applies: the pipeline that `recalld.pipeline` names on the span or
 * its resource, the pipeline that lists the service in `service_names`, the pipeline with the same name as the service,
 * or the only configured pipeline.
 */
function pipelineFinder(pipelines: readonly TracedPipeline[]): (telemetry: Telemetry) => string | null {
  const names = new Set(pipelines.map(({ name }) => name));
  const byService = new Map(
    pipelines.flatMap(({ name, serviceNames }) => serviceNames.map((service) => [service, name] as const)),
  );
  const [first] = pipelines;
  const only = pipelines.length === 1 && first?.isOneOfSeveral !== true ? (first?.name ?? null) : null;
  return ({ attributes, resource }) => {
    const named = attributes['recalld.pipeline'] ?? resource.attributes['recalld.pipeline'];
    if (typeof named === 'string') return names.has(named) ? named : null;
    const service = resource.serviceName ?? '';
    return byService.get(service) ?? (names.has(service) ? service : only);
  };
}

export type Found = Pick<Extraction, 'queries' | 'fragments' | 'feedback'>;

/**
 * Splits items into batches: queries first, feedback last. The fragments of a trace stay in one batch, because the
 * limit per trace applies to all of them.
 */
export function inBatches({ queries, fragments, feedback }: Found): Found[] {
  const none = { queries: [], fragments: [], feedback: [] };
  const traces = [...groupBy(fragments, ({ traceId }) => traceId).values()];
  return [
    ...splitByWeight(queries, weightOfQuery).map((batch) => ({ ...none, queries: batch })),
    ...splitByWeight(traces, (trace) => ITEM_WEIGHT * trace.length).map((batch) => ({
      ...none,
      fragments: batch.flat(),
    })),
    ...splitByWeight(feedback, weightOfFeedback).map((batch) => ({ ...none, feedback: batch })),
  ];
}

/**
 * The uncompressed body (which may be transferred to the thread), its `Content-Type`, and the pipelines that the sender
 * may see and use (null: all pipelines).
 */
export type OtlpRequest = readonly [body: Uint8Array, contentType: string | undefined, only?: readonly string[] | null];

/** Size in bytes above which a body is read in the worker thread. The slowest body of this size takes 16 ms to read. */
const SMALL_BYTES = 64 * 1024;

/**
 * Maximum total size, in bytes, of the large bodies in memory. At this limit, the last body in the queue waits for a
 * few seconds.
 */
const MAX_BYTES = 48 * 1024 * 1024;

const REFUSAL = 'Too many large OpenTelemetry bodies are waiting to be parsed; send this request again later.';

/** Signal for work that continues after the client has disconnected, because the data must still be stored. */
const never = new AbortController().signal;

/** Creates a reader whose worker thread starts when the first large body arrives. */
export function createOtlpReader(configured: readonly TracedPipeline[]) {
  const pool = createThreadPool<typeof tasks>({
    tasks: import.meta.url,
    threads: 1,
    // The queue is limited by bytes (see MAX_BYTES).
    maxWaiting: Number.POSITIVE_INFINITY,
    refusal: REFUSAL,
  });
  const holding = createByteLimit(MAX_BYTES, REFUSAL);
  const seenBy = (only: readonly string[] | null): readonly TracedPipeline[] =>
    only === null
      ? configured
      : configured
          .filter(({ name }) => only.includes(name))
          .map((pipeline) => ({ ...pipeline, isOneOfSeveral: configured.length > 1 }));
  const reading =
    <Read extends Found>(
      read: (content: OtlpContent, pipelines: readonly TracedPipeline[]) => Read,
      inThread: (input: ReadingInput) => Promise<Omit<Read, keyof Found> & { readonly batches: readonly Uint8Array[] }>,
    ) =>
    /**
     * @throws RecalldError for the same reasons as `contentOf` and `decodeTraces`; also `overloaded`, if too many large
     *   bodies are waiting
     */
    async (...[body, type, only = null]: OtlpRequest) => {
      const content = contentOf(body, type);
      const pipelines = seenBy(only);
      const { length } = content.bytes;
      if (length <= SMALL_BYTES) return batched(read(content, pipelines));
      const { batches, ...counts } = await holding(length, () => inThread({ content, pipelines }));
      return { ...counts, batches: unpackEach<Found>(batches) };
    };
  return {
    traces: reading(readTraces, (input) => pool.run('traces', input, never, moved(input))),
    logs: reading(readLogs, (input) => pool.run('logs', input, never, moved(input))),
    close: (): Promise<void> => pool.close(),
  };
}

function moved({ content }: ReadingInput) {
  return movable(content.bytes);
}

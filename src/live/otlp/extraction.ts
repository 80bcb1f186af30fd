/** From a request to live queries and feedback in parts: small ones at once, large ones in a thread. */
import { createBytesInHand, createThreadPool, movable } from '../../platform/threads/thread-pool.ts';
import { cut, eachUnpacked, ITEM_WEIGHT, pack, weightOfFeedback, weightOfQuery } from '../parts.ts';
import { type Extraction, extractLiveQueries } from '../rules/otel/extract.ts';
import { extractLogFeedback, type LogExtraction } from '../rules/otel/feedback.ts';
import type { ExtractionOptions } from '../rules/otel/retrieved-documents.ts';
import type { Telemetry } from '../rules/otel/span.ts';
import type { TraceFragment } from '../rules/otel/trace-fragment.ts';
import { decodeLogs, decodeTraces } from './decode.ts';
import { contentOf, defaultOtlpLimits, type OtlpContent } from './parse.ts';

interface ReadingInput {
  readonly content: OtlpContent;
  readonly pipelines: readonly TracedPipeline[];
}

/** What was counted, and what was found in packed parts. */
type Packed<Read> = Omit<Read, keyof Found> & { readonly parts: readonly Uint8Array[] };

export const tasks = {
  traces({ content, pipelines }: ReadingInput): Packed<TracesRead> {
    const { queries, fragments, feedback, ...counts } = readTraces(content, pipelines);
    return { ...counts, parts: inParts({ queries, fragments, feedback }).map(pack) };
  },
  logs({ content, pipelines }: ReadingInput): Packed<LogsRead> {
    const { feedback, ...counts } = readLogs(content, pipelines);
    return { ...counts, parts: inParts({ queries: [], fragments: [], feedback }).map(pack) };
  },
} as const;

/** A pipeline, as far as telemetry tells it from others: plain data, which can be given to a thread. */
export interface TracedPipeline {
  readonly name: string;
  readonly serviceNames: readonly string[];
  readonly segmentKeys: readonly string[];
}

/** What of a body could not be read, as `decodeTraces` counts it. */
type Unread = Pick<ReturnType<typeof decodeTraces>, 'rejected' | 'flaws' | 'misnamed'>;

export interface TracesRead extends Extraction, Unread {
  readonly liveQueries: number;
}

interface LogsRead extends LogExtraction, Unread {}

/** Keys of metadata, or of a document, that hold its id where it has no id of its own. */
const DOCUMENT_ID_KEYS = [
  'chunk_id',
  'chunkId',
  'x-amz-bedrock-kb-chunk-id',
  'document_id',
  'documentId',
  'doc_id',
  'docId',
  'id',
  '_id',
  'file_id',
  'doc_uri',
  'source',
];

/** @throws RecalldError as `decodeTraces` */
export function readTraces(content: OtlpContent, pipelines: readonly TracedPipeline[]): TracesRead {
  const { items, ...unread } = decodeTraces(content, defaultOtlpLimits);
  const found = extractLiveQueries(items, extractionOptions(pipelines));
  return { ...found, liveQueries: found.queries.length, ...unread };
}

/** @throws RecalldError as `decodeLogs` */
export function readLogs(content: OtlpContent, pipelines: readonly TracedPipeline[]): LogsRead {
  const { items, ...unread } = decodeLogs(content, defaultOtlpLimits);
  return { ...extractLogFeedback(items, extractionOptions(pipelines)), ...unread };
}

function extractionOptions(pipelines: readonly TracedPipeline[]): ExtractionOptions {
  return {
    pipelineOf: pipelineFinder(pipelines),
    segmentKeysOf: (name) => pipelines.find((pipeline) => pipeline.name === name)?.segmentKeys ?? [],
    documentIdKeys: DOCUMENT_ID_KEYS,
  };
}

/**
 * The pipeline of a span: `recalld.pipeline` on it or its resource, else the pipeline that names the service under
 * `service_names`, else the pipeline of the service's own name, else the only pipeline of the config.
 */
function pipelineFinder(pipelines: readonly TracedPipeline[]): (telemetry: Telemetry) => string | null {
  const names = new Set(pipelines.map(({ name }) => name));
  const byService = new Map(
    pipelines.flatMap(({ name, serviceNames }) => serviceNames.map((service) => [service, name] as const)),
  );
  const only = pipelines.length === 1 ? (pipelines[0]?.name ?? null) : null;
  return ({ attributes, resource }) => {
    const told = attributes['recalld.pipeline'] ?? resource.attributes['recalld.pipeline'];
    if (typeof told === 'string') return names.has(told) ? told : null;
    const service = resource.serviceName ?? '';
    return byService.get(service) ?? (names.has(service) ? service : only);
  };
}

export type Found = Pick<Extraction, 'queries' | 'fragments' | 'feedback'>;

/** Queries first, feedback last; the fragments of a trace stay together, because what is kept of it is chosen of all. */
export function inParts({ queries, fragments, feedback }: Found): Found[] {
  const none = { queries: [], fragments: [], feedback: [] };
  return [
    ...cut(queries, weightOfQuery).map((part) => ({ ...none, queries: part })),
    ...cut(byTrace(fragments), (trace) => ITEM_WEIGHT * trace.length).map((part) => ({
      ...none,
      fragments: part.flat(),
    })),
    ...cut(feedback, weightOfFeedback).map((part) => ({ ...none, feedback: part })),
  ];
}

function byTrace(fragments: readonly TraceFragment[]): TraceFragment[][] {
  const traces = new Map<string, TraceFragment[]>();
  for (const fragment of fragments) {
    const trace = traces.get(fragment.traceId);
    if (trace === undefined) traces.set(fragment.traceId, [fragment]);
    else trace.push(fragment);
  }
  return [...traces.values()];
}

/** What was counted, and what was found, to be taken in part by part. A part is unpacked when it is asked for. */
type InParts<Read> = Omit<Read, keyof Found> & { readonly parts: Iterable<Found> };

/** The body without its compression, which may be moved to the thread, and its header `Content-Type`. */
export type OtlpRequest = readonly [body: Uint8Array, contentType: string | undefined];

/** A larger one is read in the thread: the costliest so large take 16 ms. */
const SMALL_BYTES = 64 * 1024;

/** Of large bodies in hand: the last of them waits for some seconds. */
const MAX_BYTES = 48 * 1024 * 1024;

const REFUSAL = 'More large OpenTelemetry bodies wait than can be read; send this one again later.';

/** Of work that goes on although its caller has gone: what was sent shall be kept. */
const never = new AbortController().signal;

/** The thread starts with the first large body. */
export function createOtlpReader(pipelines: readonly TracedPipeline[]) {
  const pool = createThreadPool<typeof tasks>({
    tasks: import.meta.url,
    threads: 1,
    // Their bytes are what is bounded.
    mostWaiting: Number.POSITIVE_INFINITY,
    refusal: REFUSAL,
  });
  const holding = createBytesInHand(MAX_BYTES, REFUSAL);
  const inThread = <Name extends keyof typeof tasks>(name: Name, content: OtlpContent) =>
    holding(content.bytes.length, () => pool.run(name, { content, pipelines }, never, movable(content.bytes)));
  return {
    /**
     * @throws RecalldError as `contentOf` and `decodeTraces`; overloaded when too many large bodies wait
     */
    async traces(...request: OtlpRequest): Promise<InParts<TracesRead>> {
      const content = contentOf(...request);
      if (content.bytes.length > SMALL_BYTES) return unpacked(await inThread('traces', content));
      const { queries, fragments, feedback, ...counts } = readTraces(content, pipelines);
      return { ...counts, parts: inParts({ queries, fragments, feedback }) };
    },
    /** @throws RecalldError as `traces` */
    async logs(...request: OtlpRequest): Promise<InParts<LogsRead>> {
      const content = contentOf(...request);
      if (content.bytes.length > SMALL_BYTES) return unpacked(await inThread('logs', content));
      const { feedback, ...counts } = readLogs(content, pipelines);
      return { ...counts, parts: inParts({ queries: [], fragments: [], feedback }) };
    },
    close: (): Promise<void> => pool.close(),
  };
}

function unpacked<Read>({ parts, ...counts }: Packed<Read>) {
  return { ...counts, parts: eachUnpacked<Found>(parts) };
}

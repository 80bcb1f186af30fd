/** From the content of a request to live queries and feedback in parts, in whichever thread. */
import { cut, ITEM_WEIGHT, pack, weightOfFeedback, weightOfQuery } from '../parts.ts';
import { type Extraction, extractLiveQueries } from '../rules/otel/extract.ts';
import { extractLogFeedback, type LogExtraction } from '../rules/otel/feedback.ts';
import type { ExtractionOptions } from '../rules/otel/retrieved-documents.ts';
import type { Telemetry } from '../rules/otel/span.ts';
import type { TraceFragment } from '../rules/otel/trace-fragment.ts';
import { decodeLogs, decodeTraces } from './decode.ts';
import { defaultOtlpLimits, type OtlpContent } from './parse.ts';

interface ReadingInput {
  readonly content: OtlpContent;
  readonly pipelines: readonly TracedPipeline[];
}

/** What was counted, and what was found in packed parts. */
export type Packed<Read> = Omit<Read, keyof Found> & { readonly parts: readonly Uint8Array[] };

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

/** Items without a valid id, which are counted and not read. */
interface WithRejected {
  readonly rejected: number;
}

export interface TracesRead extends Extraction, WithRejected {
  readonly liveQueries: number;
}

export interface LogsRead extends LogExtraction, WithRejected {}

/** Metadata keys that hold a document's id where the span has no id of its own. */
const DOCUMENT_ID_KEYS = ['chunk_id', 'document_id', 'doc_id', 'id', 'source'];

/** @throws RecalldError as `decodeTraces` */
export function readTraces(content: OtlpContent, pipelines: readonly TracedPipeline[]): TracesRead {
  const { items, rejected } = decodeTraces(content, defaultOtlpLimits);
  const found = extractLiveQueries(items, extractionOptions(pipelines));
  return { ...found, liveQueries: found.queries.length, rejected };
}

/** @throws RecalldError as `decodeLogs` */
export function readLogs(content: OtlpContent, pipelines: readonly TracedPipeline[]): LogsRead {
  const { items, rejected } = decodeLogs(content, defaultOtlpLimits);
  return { ...extractLogFeedback(items, extractionOptions(pipelines)), rejected };
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

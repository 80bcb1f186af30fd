/** From the content of a request to live queries and feedback, in whichever thread. */
import { createHash } from 'node:crypto';
import { type Extraction, extractLiveQueries } from '../rules/otel/extract.ts';
import { extractLogFeedback, type LogExtraction } from '../rules/otel/feedback.ts';
import type { ExtractionOptions } from '../rules/otel/retrieved-documents.ts';
import type { Telemetry } from '../rules/otel/span.ts';
import type { OtlpContent } from './content.ts';
import { decodeLogs, decodeTraces } from './decode.ts';
import { defaultOtlpLimits } from './limits.ts';

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
    sha256Hex: (text) => createHash('sha256').update(text).digest('hex'),
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

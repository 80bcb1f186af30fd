/** OpenTelemetry in: decode, find live queries and feedback, take them in like any others, answer as OTLP asks. */
import { createHash } from 'node:crypto';
import { otlpFormat } from '../adapters/otlp/content.ts';
import { decodeLogs, decodeTraces } from '../adapters/otlp/decode.ts';
import { encodeFailure, encodeSuccess, type OtlpAnswer } from '../adapters/otlp/encode.ts';
import { defaultOtlpLimits } from '../adapters/otlp/limits.ts';
import type { Config } from '../contracts/config/schema.ts';
import { RecalldError } from '../core/errors.ts';
import type { LiveQuery } from '../core/live/live-query.ts';
import { extractLiveQueries } from '../core/otel/extract.ts';
import type { ExtractionOptions } from '../core/otel/extraction-options.ts';
import type { TracedFeedback } from '../core/otel/feedback.ts';
import { extractLogFeedback } from '../core/otel/log-feedback.ts';
import type { Telemetry } from '../core/otel/span.ts';
import type { OtlpReceiver } from '../http/otlp.ts';
import type { Meter } from '../ports/metrics.ts';
import type { LiveIngest } from './live-ingest.ts';

/** Metadata keys that hold a document's id where the span has no id of its own. */
const DOCUMENT_ID_KEYS = ['chunk_id', 'document_id', 'doc_id', 'id', 'source'];

/** Codes of gRPC, which OTLP uses in its failures. */
const INVALID_ARGUMENT = 3;
const UNAVAILABLE = 14;

export function createOtlpReceiver(config: Config, ingest: LiveIngest, meter: Meter): OtlpReceiver {
  const options: ExtractionOptions = {
    pipelineOf: pipelineFinder(config),
    segmentKeysOf: (name) => config.pipelines.find((pipeline) => pipeline.name === name)?.segments.keys ?? [],
    documentIdKeys: DOCUMENT_ID_KEYS,
    sha256Hex: (text) => createHash('sha256').update(text).digest('hex'),
  };

  const takeTraces = async (
    body: Uint8Array,
    type: string | undefined,
    encoding: string | undefined,
  ): Promise<Outcome> => {
    const { items, rejected } = await decodeTraces(body, type, encoding, defaultOtlpLimits);
    const found = extractLiveQueries(items, options);
    meter.increment('recalld_otlp_spans_total', { outcome: 'truncated' }, found.truncatedSpans);
    meter.increment('recalld_otlp_spans_total', { outcome: 'ignored' }, found.ignoredSpans);
    meter.increment('recalld_otlp_spans_total', { outcome: 'without_pipeline' }, found.spansWithoutPipeline);
    meter.increment(
      'recalld_otlp_spans_total',
      { outcome: 'without_documents' },
      found.spansWithoutDocuments,
    );
    meter.increment('recalld_otlp_spans_total', { outcome: 'live_query' }, found.queries.length);
    const refused = await takeAll(ingest, found.queries, found.feedback);
    return {
      rejected: rejected + refused.length,
      message: refused[0] ?? (rejected > 0 ? 'spans without a valid id' : null),
    };
  };

  const takeLogs = async (
    body: Uint8Array,
    type: string | undefined,
    encoding: string | undefined,
  ): Promise<Outcome> => {
    const { items, rejected } = await decodeLogs(body, type, encoding, defaultOtlpLimits);
    const found = extractLogFeedback(items, options);
    const refused = await takeAll(ingest, [], found.feedback);
    return { rejected: rejected + refused.length, message: refused[0] ?? null };
  };

  return async (signal, body, type, encoding) => {
    try {
      const { rejected, message } = await (signal === 'traces' ? takeTraces : takeLogs)(body, type, encoding);
      const partial =
        rejected === 0 ? null : { rejected, message: message ?? 'some items were not accepted' };
      return { status: 200, ...encodeSuccess(signal, otlpFormat(type) ?? 'json', partial) };
    } catch (error) {
      return failure(error, type);
    }
  };
}

interface Outcome {
  readonly rejected: number;
  readonly message: string | null;
}

/** @returns the sentences for what was refused */
async function takeAll(
  ingest: LiveIngest,
  queries: readonly LiveQuery[],
  feedback: readonly TracedFeedback[],
): Promise<string[]> {
  const refused: string[] = [];
  if (queries.length > 0)
    refused.push(...(await ingest.ingestQueries(queries)).rejected.map(({ message }) => message));
  if (feedback.length > 0)
    refused.push(...(await ingest.ingestFeedback(feedback)).rejected.map(({ message }) => message));
  return refused;
}

function failure(error: unknown, type: string | undefined): OtlpAnswer & { status: number } {
  if (!(error instanceof RecalldError)) throw error;
  const format = otlpFormat(type) ?? 'json';
  if (error.retryable) return { status: 503, ...encodeFailure(format, UNAVAILABLE, error.message) };
  return {
    status: error.kind === 'too_large' ? 413 : 400,
    ...encodeFailure(format, INVALID_ARGUMENT, error.message),
  };
}

/**
 * The pipeline of a span: `recalld.pipeline` on it or its resource, else the pipeline that names the service under
 * `service_names`, else the pipeline of the service's own name, else the only pipeline of the config.
 */
function pipelineFinder(config: Config): (telemetry: Telemetry) => string | null {
  const names = new Set(config.pipelines.map((pipeline) => pipeline.name));
  const byService = new Map(
    config.pipelines.flatMap(({ name, service_names }) =>
      service_names.map((service) => [service, name] as const),
    ),
  );
  const only = config.pipelines.length === 1 ? (config.pipelines[0]?.name ?? null) : null;
  return ({ attributes, resource }) => {
    const told = attributes['recalld.pipeline'] ?? resource.attributes['recalld.pipeline'];
    if (typeof told === 'string') return names.has(told) ? told : null;
    const service = resource.serviceName ?? '';
    return byService.get(service) ?? (names.has(service) ? service : only);
  };
}

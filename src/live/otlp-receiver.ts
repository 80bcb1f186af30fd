/** OpenTelemetry in: decode, find live queries and feedback, take them in like any others, answer as OTLP asks. */
import type { Config } from '../app/config/schema.ts';
import type { CleanupStack } from '../cleanup-stack.ts';
import { RecalldError } from '../errors.ts';
import type { Meter } from '../metrics/meter.ts';
import type { LiveIngest } from './live-ingest.ts';
import { otlpFormat } from './otlp/content.ts';
import { encodeFailure, encodeSuccess } from './otlp/encode.ts';
import type { Found } from './otlp/parts.ts';
import { createOtlpReader, type OtlpRequest } from './otlp/reader.ts';
import type { OtlpAnswer, OtlpReceiver } from './otlp-routes.ts';

/** Codes of gRPC, which OTLP uses in its failures. */
const INVALID_ARGUMENT = 3;
const UNAVAILABLE = 14;

/** The thread that reads large bodies ends with the cleanups. */
export function createOtlpReceiver(
  config: Config,
  ingest: LiveIngest,
  meter: Meter,
  cleanups: CleanupStack,
): OtlpReceiver {
  const reader = createOtlpReader(
    config.pipelines.map(({ name, service_names: serviceNames, segments }) => ({
      name,
      serviceNames,
      segmentKeys: segments.keys,
    })),
  );
  cleanups.defer('reader of OpenTelemetry', () => reader.close());

  const count = (outcome: string, spans: number): void =>
    meter.increment('recalld_otlp_spans_total', { outcome }, spans);

  const takeTraces = async (...request: OtlpRequest): Promise<Outcome> => {
    const found = await reader.traces(...request);
    count('truncated', found.truncatedSpans);
    count('ignored', found.ignoredSpans);
    count('without_pipeline', found.spansWithoutPipeline);
    count('without_documents', found.spansWithoutDocuments);
    count('live_query', found.liveQueries);
    const refused = await takeAll(ingest, found.parts);
    return {
      rejected: found.rejected + refused.length,
      message: refused[0] ?? (found.rejected > 0 ? 'spans without a valid id' : null),
    };
  };

  const takeLogs = async (...request: OtlpRequest): Promise<Outcome> => {
    const { parts, rejected } = await reader.logs(...request);
    const refused = await takeAll(ingest, parts);
    return { rejected: rejected + refused.length, message: refused[0] ?? null };
  };

  return {
    async take(signal, body, type) {
      try {
        const { rejected, message } = await (signal === 'traces' ? takeTraces : takeLogs)(body, type);
        const partial =
          rejected === 0 ? null : { rejected, message: message ?? 'some items were not accepted' };
        return { status: 200, ...encodeSuccess(signal, otlpFormat(type) ?? 'json', partial) };
      } catch (error) {
        if (error instanceof RecalldError) return refuse(error, type);
        throw error;
      }
    },
    refuse,
  };
}

interface Outcome {
  readonly rejected: number;
  readonly message: string | null;
}

/**
 * Part by part, so that other requests have their turn.
 *
 * @returns the sentences for what was refused
 */
async function takeAll(ingest: LiveIngest, parts: Iterable<Found>): Promise<readonly string[]> {
  const refused: string[] = [];
  for (const { queries, fragments, feedback } of parts) {
    if (queries.length > 0)
      refused.push(...(await ingest.ingestQueries(queries)).rejected.map(({ message }) => message));
    if (fragments.length > 0) await ingest.holdFragments(fragments);
    if (feedback.length > 0)
      refused.push(...(await ingest.ingestFeedback(feedback)).rejected.map(({ message }) => message));
  }
  return refused;
}

function refuse(error: RecalldError, type: string | undefined): OtlpAnswer {
  const format = otlpFormat(type) ?? 'json';
  if (error.retryable)
    return { status: 503, shed: error.code, ...encodeFailure(format, UNAVAILABLE, error.message) };
  return {
    status: error.kind === 'too_large' ? 413 : 400,
    ...encodeFailure(format, INVALID_ARGUMENT, error.message),
  };
}

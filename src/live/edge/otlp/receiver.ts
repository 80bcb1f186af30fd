/**
 * Receives OpenTelemetry data: decodes it, extracts live queries and feedback, ingests them, and responds in OTLP
 * format.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../../app/config/schema.ts';
import type { CleanupStack } from '../../../core/cleanup-stack.ts';
import {
  type ErrorCode,
  RecalldError,
  type Rejection,
  type RejectionCode,
  rejectionTable,
} from '../../../core/errors.ts';
import { type AuthenticationSettings, requireScope } from '../../../platform/access/authentication.ts';
import { pipelinesOf } from '../../../platform/access/pipeline-access.ts';
import type { RequestBodies } from '../../../platform/http/request-bodies.ts';
import type { Meter } from '../../../platform/metrics/meter.ts';
import type { LiveIngest } from '../../live-ingest.ts';
import { createOtlpReader, type Found, type OtlpRequest, type Unread } from '../../otlp/extraction.ts';
import {
  encodeFailure,
  encodeSuccess,
  type OtlpAnswer,
  otlpFormat,
  type PartialSuccess,
  unknownType,
} from '../../otlp/parse.ts';
import { grpcExporter, unreadableText } from '../../rules/otel/unreadable-retriever.ts';
import { type ShedReason, shedReason } from '../live-routes.ts';

type OtlpSignal = 'traces' | 'logs';

export type OtlpReceiver = ReturnType<typeof createOtlpReceiver>;

type OtlpResponse = OtlpAnswer & {
  readonly status: number;
  /** Error code of a failure after which the client may retry; absent for all other responses. */
  readonly shed?: ErrorCode;
};

/**
 * Maximum size of a body. This size suffices for a full batch of 512 spans if every tenth span has a vector of 3072
 * numbers, or if each span has a document list of 30 kB. Parsing a hostile body of this size takes about 300 MB of
 * memory.
 */
const LIMIT_BYTES = 16 * 1024 * 1024;

export function addOtlp(
  app: FastifyInstance,
  receiver: OtlpReceiver,
  authentication: AuthenticationSettings,
  onShed: (reason: ShedReason) => void,
  bodies: RequestBodies,
  retryAfterSeconds: number,
): void {
  const send = (reply: FastifyReply, answer: OtlpResponse): FastifyReply => {
    if (answer.shed !== undefined) {
      onShed(shedReason(answer.shed));
      reply.header('retry-after', retryAfterSeconds);
    }
    return reply.code(answer.status).header('content-type', answer.contentType).send(Buffer.from(answer.body));
  };

  void app.register(async (scope) => {
    // Accepts any content type, so that an unsupported type is rejected with an OTLP response.
    scope.addContentTypeParser('*', async (request: FastifyRequest) =>
      Buffer.concat(await bodies.read(request, LIMIT_BYTES)),
    );
    scope.setErrorHandler((error, request, reply) => {
      const failure = isWithoutType(error) ? unknownType(request.headers['content-type']) : error;
      const isOfBody = failure instanceof RecalldError && !['unauthorized', 'forbidden'].includes(failure.kind);
      if (!isOfBody) throw error;
      reply.removeHeader('connection');
      return send(reply, receiver.refuse(failure, request.headers['content-type']));
    });
    for (const signal of ['traces', 'logs'] as const) {
      scope.post(`/v1/${signal}`, { preParsing: requireScope('ingest', authentication) }, async (request, reply) => {
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        return send(reply, await receiver.take(signal, body, request.headers['content-type'], pipelinesOf(request)));
      });
    }
  });
}

/** True for the error that Fastify throws if the Content-Type is missing or invalid; Fastify then calls no parser. */
function isWithoutType(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE';
}

/** gRPC codes, which OTLP uses in error responses. */
const INVALID_ARGUMENT = 3;
const UNAVAILABLE = 14;

/** @param cleanups receives a function that stops the parser thread for large bodies */
export function createOtlpReceiver(config: Config, ingest: LiveIngest, meter: Meter, cleanups: CleanupStack) {
  const reader = createOtlpReader(
    config.pipelines.map(
      ({ name, service_names: serviceNames, segments, variants, isolation, retrieval_tools: tools }) => ({
        name,
        serviceNames,
        segmentKeys: [
          ...new Set([
            ...segments.keys,
            ...(variants === undefined ? [] : [variants.tag]),
            ...isolation.map(({ segment }) => segment),
          ]),
        ],
        tools,
        fieldKeys: [...new Set(isolation.flatMap(({ field }) => field ?? []))],
      }),
    ),
  );
  cleanups.defer('OpenTelemetry reader', () => reader.close());

  const count = (outcome: string, spans: number): void =>
    meter.increment('recalld_trace_spans_total', { outcome }, spans);

  const takeTraces = async (...[body, type, only = null]: OtlpRequest): Promise<PartialSuccess> => {
    const found = await reader.traces(body, type, only);
    const unreadable = found.unreadableRetrievers.reduce((sum, { spans }) => sum + spans, 0);
    const documentless = found.unreadableRetrievers.filter(
      ({ reason }) => reason === 'no_documents' || reason === 'hidden',
    );
    count('rejected', found.rejected);
    count('truncated', found.truncatedSpans);
    count('ignored', found.ignoredSpans);
    count('without_pipeline', found.spansWithoutPipeline);
    count('unreadable_retriever', unreadable);
    count(
      'without_documents',
      documentless.reduce((sum, { spans }) => sum + spans, 0),
    );
    count('live_query', found.liveQueries);
    const refused = await ingestAll(ingest, found.batches, only);
    const problems = [...found.unreadableRetrievers, ...found.untracedSearches];
    if (problems.length > 0) await ingest.recordUnreadable(problems);
    meter.increment('recalld_ingest_rejected_total', { code: 'retriever_unreadable' }, unreadable);
    const unread = found.unreadableRetrievers.slice(0, MAX_SENTENCES).map((kind) => unreadableText(kind, ''));
    // If the API key is limited to certain pipelines, retriever spans that belong to none of them count as rejected.
    const others = only === null ? 0 : found.spansWithoutPipeline;
    const { rejected, message } = outcomeOf(found, refused);
    return {
      rejected: rejected + unreadable + others,
      message: [message, ...unread, others === 0 ? '' : notOfKey(others)].filter((text) => text !== '').join(' '),
    };
  };

  const takeLogs = async (...[body, type, only = null]: OtlpRequest): Promise<PartialSuccess> => {
    const found = await reader.logs(body, type, only);
    return outcomeOf(found, await ingestAll(ingest, found.batches, only));
  };

  const outcomeOf = ({ rejected, flaws, misnamed }: Unread, refused: readonly Rejection[]): PartialSuccess => {
    for (const [code, times] of Object.entries(flaws))
      meter.increment('recalld_ingest_rejected_total', { code }, times);
    for (const { code } of refused) meter.increment('recalld_ingest_rejected_total', { code });
    const sentences = [...new Set(refused.map(({ message }) => message))].slice(0, MAX_SENTENCES);
    for (const [code, times] of Object.entries(flaws)) sentences.push(flawText(code as RejectionCode, times));
    if (misnamed !== null)
      sentences.push(`${misnamed} is not an OTLP/JSON field and was ignored; use names such as resourceSpans.`);
    return { rejected: rejected + refused.length, message: sentences.join(' ') };
  };

  return {
    /**
     * Ingests a body and returns the response. The promise rejects only if recalld has a bug.
     *
     * @param pipelines the only pipelines whose data the sender may add; null for all
     */
    async take(
      signal: OtlpSignal,
      body: Uint8Array,
      type: string | undefined,
      pipelines: readonly string[] | null = null,
    ): Promise<OtlpResponse> {
      try {
        const { rejected, message } = await (signal === 'traces' ? takeTraces : takeLogs)(body, type, pipelines);
        const partial = message === '' ? null : { rejected, message: message.slice(0, MAX_MESSAGE) };
        return { status: 200, ...encodeSuccess(signal, otlpFormat(type) ?? 'json', partial) };
      } catch (error) {
        if (error instanceof RecalldError) return refuse(error, type);
        throw error;
      }
    },
    refuse,
    /** Records a refused gRPC connection, for `recalld doctor`. */
    recordGrpc: () => void ingest.recordUnreadable([grpcExporter]),
  };
}

/** Maximum number of distinct messages per response. Each message names the field and the fix. */
const MAX_SENTENCES = 5;
/** Maximum message length, in characters. Exporters log the message after each export. */
const MAX_MESSAGE = 2000;

function notOfKey(spans: number): string {
  const subject = spans === 1 ? '1 retriever span does' : `${spans} retriever spans do`;
  return `${subject} not name a pipeline that the API key may use: set the resource attribute recalld.pipeline, or service_names in the config.`;
}

function flawText(code: RejectionCode, times: number): string {
  const sentence = rejectionTable[code];
  return times === 1 ? sentence : `${times} times: ${sentence}`;
}

/**
 * Ingests batch by batch, so that other requests are served in between.
 *
 * @returns the rejections
 */
async function ingestAll(
  ingest: LiveIngest,
  batches: Iterable<Found>,
  only: readonly string[] | null,
): Promise<readonly Rejection[]> {
  const refused: Rejection[] = [];
  for (const { queries, fragments, feedback } of batches) {
    if (queries.length > 0) refused.push(...(await ingest.ingestQueries(queries)).rejected);
    // Drops other fragments without a pipeline, because they could change queries of pipelines that the sender may not
    // use.
    const own =
      only === null
        ? fragments
        : fragments.filter(({ kind, pipeline }) => pipeline !== null || kind === 'person' || kind === 'episode');
    if (own.length > 0) await ingest.bufferFragments(own);
    if (feedback.length > 0) refused.push(...(await ingest.ingestFeedback(feedback)).rejected);
  }
  return refused;
}

function refuse(error: RecalldError, type: string | undefined): OtlpResponse {
  const format = otlpFormat(type) ?? 'json';
  if (error.retryable) return { status: 503, shed: error.code, ...encodeFailure(format, UNAVAILABLE, error.message) };
  return {
    status: error.kind === 'too_large' ? 413 : 400,
    ...encodeFailure(format, INVALID_ARGUMENT, error.message),
  };
}

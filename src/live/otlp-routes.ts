/** `/v1/traces` and `/v1/logs`: bodies pass as they are, since OTLP has its own formats for answers too. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type AuthenticationSettings, requireScope } from '../access/authentication.ts';
import { type ErrorCode, RecalldError } from '../errors.ts';
import type { RequestBodies } from '../http/request-bodies.ts';
import { type ShedReason, shedReason } from './shed-reason.ts';

export type OtlpSignal = 'traces' | 'logs';

export interface OtlpReceiver {
  /** Takes a body in and says what to answer. Rejects only for bugs of ours. */
  take(signal: OtlpSignal, body: Uint8Array, contentType: string | undefined): Promise<OtlpAnswer>;
  /** The answer when the body could not be read. */
  refuse(error: RecalldError, contentType: string | undefined): OtlpAnswer;
}

export interface OtlpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Why the sender may send it again later. */
  readonly shed?: ErrorCode;
}

export interface OtlpDeps {
  readonly authentication: AuthenticationSettings;
  readonly otlp: OtlpReceiver;
  onShed(reason: ShedReason): void;
}

/**
 * Room for a full batch of 512 spans of which each tenth holds a vector of 3072 numbers, or each a document list of
 * 30 kB. A body that is made to cost as much as it can takes some 300 MB while it is read.
 */
const LIMIT_BYTES = 16 * 1024 * 1024;

export function addOtlp(
  app: FastifyInstance,
  deps: OtlpDeps,
  bodies: RequestBodies,
  retryAfterSeconds: number,
): void {
  const send = (reply: FastifyReply, answer: OtlpAnswer): FastifyReply => {
    if (answer.shed !== undefined) {
      deps.onShed(shedReason(answer.shed));
      reply.header('retry-after', retryAfterSeconds);
    }
    return reply
      .code(answer.status)
      .header('content-type', answer.contentType)
      .send(Buffer.from(answer.body));
  };

  void app.register(async (scope) => {
    // Any type: which of them there are is said in the format of OTLP.
    scope.addContentTypeParser('*', async (request: FastifyRequest) =>
      Buffer.concat(await bodies.read(request, LIMIT_BYTES)),
    );
    scope.setErrorHandler((error, request, reply) => {
      const isOfBody = error instanceof RecalldError && !['unauthorized', 'forbidden'].includes(error.kind);
      if (!isOfBody) throw error;
      reply.removeHeader('connection');
      return send(reply, deps.otlp.refuse(error, request.headers['content-type']));
    });
    for (const signal of ['traces', 'logs'] as const) {
      scope.post(
        `/v1/${signal}`,
        { preParsing: requireScope('ingest', deps.authentication) },
        async (request, reply) => {
          const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
          return send(reply, await deps.otlp.take(signal, body, request.headers['content-type']));
        },
      );
    }
  });
}

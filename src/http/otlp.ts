/** `/v1/traces` and `/v1/logs`: bodies pass as they come, since OTLP has its own formats for answers too. */
import type { FastifyInstance } from 'fastify';
import type { ErrorCode } from '../core/errors.ts';
import { type AuthenticationSettings, requireScope } from './authentication.ts';
import { type ShedReason, shedReason } from './shed-reason.ts';

export type OtlpSignal = 'traces' | 'logs';

/** Takes a body in and says what to answer. Rejects only for bugs of ours. */
export type OtlpReceiver = (
  signal: OtlpSignal,
  body: Uint8Array,
  contentType: string | undefined,
  contentEncoding: string | undefined,
) => Promise<OtlpAnswer>;

export interface OtlpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Why the sender may send it again later. */
  readonly shed?: ErrorCode;
}

export interface OtlpDeps {
  readonly authentication: AuthenticationSettings;
  readonly receive: OtlpReceiver;
  onShed(reason: ShedReason): void;
}

export function addOtlp(app: FastifyInstance, deps: OtlpDeps, retryAfterSeconds: number): void {
  // Its own scope: here JSON is not parsed and gzip is not opened before the receiver does it within its limits.
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    for (const signal of ['traces', 'logs'] as const) {
      scope.post(
        `/v1/${signal}`,
        { preHandler: requireScope('ingest', deps.authentication) },
        async (request, reply) => {
          const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
          const answer = await deps.receive(
            signal,
            body,
            request.headers['content-type'],
            request.headers['content-encoding'],
          );
          if (answer.shed !== undefined) {
            deps.onShed(shedReason(answer.shed));
            reply.header('retry-after', retryAfterSeconds);
          }
          return reply
            .code(answer.status)
            .header('content-type', answer.contentType)
            .send(Buffer.from(answer.body));
        },
      );
    }
  });
}

/** `/v1/queries` and `/v1/feedback`. 202 means that the database has committed. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { feedbackSchema, toFeedback } from '../contracts/http/feedback.ts';
import { liveQuerySchema, toLiveQuery } from '../contracts/http/live-query.ts';
import type { Feedback, LiveQuery } from '../core/live/live-query.ts';
import type { Rejection, RejectionCode } from '../core/live/rejection.ts';
import { type AuthenticationSettings, requireScope } from './authentication.ts';
import { type ParsedItems, parseItems } from './items.ts';

export interface Report {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly (Rejection & { readonly index: number })[];
}

export interface IngestDeps {
  readonly authentication: AuthenticationSettings;
  ingestQueries(queries: readonly LiveQuery[]): Promise<Report & { readonly sampled: number }>;
  ingestFeedback(feedback: readonly Feedback[]): Promise<Report>;
  /** Counts an item that was not accepted. */
  onRejected(code: RejectionCode): void;
}

export function addIngest(app: FastifyInstance, deps: IngestDeps): void {
  const options = { preHandler: requireScope('ingest', deps.authentication) };

  app.post('/v1/queries', options, async (request, reply) => {
    const parsed = parseItems(request.body, liveQuerySchema);
    const report = await deps.ingestQueries(parsed.items.map(toLiveQuery));
    const { accepted, sampled, duplicates } = report;
    return answer(reply, { accepted, sampled, duplicates, rejected: allRejected(parsed, report) }, deps);
  });

  app.post('/v1/feedback', options, async (request, reply) => {
    const parsed = parseItems(request.body, feedbackSchema);
    const report = await deps.ingestFeedback(parsed.items.map(toFeedback));
    const { accepted, duplicates } = report;
    return answer(reply, { accepted, duplicates, rejected: allRejected(parsed, report) }, deps);
  });
}

/** Rejections of the schema and of the pipeline, by where the items stood in the body. */
function allRejected(parsed: ParsedItems<unknown>, report: Report): Report['rejected'] {
  const later = report.rejected.map((rejection) => ({
    ...rejection,
    index: parsed.positions[rejection.index] ?? rejection.index,
  }));
  return [...parsed.rejected, ...later].toSorted((a, b) => a.index - b.index);
}

/** 202 when anything was taken; 422 when all was refused. */
function answer(
  reply: FastifyReply,
  report: Report & { readonly sampled?: number },
  deps: IngestDeps,
): FastifyReply {
  for (const { code } of report.rejected) deps.onRejected(code);
  const taken = report.accepted + report.duplicates > 0 || report.rejected.length === 0;
  return reply.code(taken ? 202 : 422).send(report);
}

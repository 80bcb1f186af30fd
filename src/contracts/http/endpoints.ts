/** Every endpoint of the HTTP API: what it does, what it takes and gives. /openapi.json is made from here. */
import { z } from 'zod';
import type { ApiScope } from '../../core/api-key.ts';
import { rejectionTable } from '../../core/live/rejection.ts';
import { feedbackSchema } from './feedback.ts';
import { liveQuerySchema } from './live-query.ts';

export interface Endpoint {
  readonly method: 'get' | 'post' | 'delete';
  /** With parameters in braces. */
  readonly path: string;
  readonly summary: string;
  /** Null: nobody is asked who they are. */
  readonly scope: ApiScope | null;
  readonly body: z.ZodType | null;
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly body: z.ZodType | null }>
  >;
}

const codes = Object.keys(rejectionTable) as (keyof typeof rejectionTable)[];

const rejected = z
  .array(
    z.object({
      index: z.int().min(0).describe('Where the item stood in the body.'),
      code: z.enum(codes),
      message: z.string().describe('One sentence that names the field and the way out.'),
    }),
  )
  .describe('Items that were not accepted; the others were.');

const count = z.int().min(0);

const queriesReport = z.object({
  accepted: count.describe('Valid queries that are new, sampled or not.'),
  sampled: count.describe('Those of them that were kept.'),
  duplicates: count.describe('Kept queries whose id was there before.'),
  rejected,
});

const feedbackReport = z.object({
  accepted: count,
  duplicates: count.describe('Feedback whose id was there before.'),
  rejected,
});

const erased = z.object({ erased: z.object({ queries: count, feedback: count }) });

const oneOrMany = <Schema extends z.ZodType>(item: Schema) => z.union([item, z.array(item).max(1000)]);

const allRefused = (body: z.ZodType) => ({ description: 'Every item was refused; the body says why.', body });

export const endpoints: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/v1/queries',
    summary: 'Tell live queries: one, or a list of at most 1,000. Idempotent by id.',
    scope: 'ingest',
    body: oneOrMany(liveQuerySchema),
    responses: {
      '202': { description: 'Committed to the database, save the rejected ones.', body: queriesReport },
      '422': allRefused(queriesReport),
    },
  },
  {
    method: 'post',
    path: '/v1/feedback',
    summary: 'Tell what users said or did about answers: one, or a list of at most 1,000.',
    scope: 'ingest',
    body: oneOrMany(feedbackSchema),
    responses: {
      '202': { description: 'Committed to the database, save the rejected ones.', body: feedbackReport },
      '422': allRefused(feedbackReport),
    },
  },
  {
    method: 'post',
    path: '/v1/traces',
    summary: 'OTLP/HTTP traces, protobuf or JSON, plain or gzip.',
    scope: 'ingest',
    body: null,
    responses: {
      '200': { description: 'An ExportTraceServiceResponse in the format of the request.', body: null },
    },
  },
  {
    method: 'post',
    path: '/v1/logs',
    summary: 'OTLP/HTTP logs: gen_ai.evaluation.result events become feedback.',
    scope: 'ingest',
    body: null,
    responses: {
      '200': { description: 'An ExportLogsServiceResponse in the format of the request.', body: null },
    },
  },
  {
    method: 'delete',
    path: '/v1/users/{id}',
    summary: 'Erase a user: their live queries, their feedback, and feedback on their queries.',
    scope: 'admin',
    body: null,
    responses: {
      '200': { description: 'What was erased; an audit row says that it was, not what.', body: erased },
    },
  },
  {
    method: 'delete',
    path: '/v1/queries/{id}',
    summary: 'Erase a live query and the feedback on it.',
    scope: 'admin',
    body: null,
    responses: { '200': { description: 'What was erased.', body: erased } },
  },
  {
    method: 'get',
    path: '/livez',
    summary: 'Whether the process lives. Never asks a dependency.',
    scope: null,
    body: null,
    responses: { '200': { description: 'It lives.', body: z.object({ status: z.literal('ok') }) } },
  },
  {
    method: 'get',
    path: '/readyz',
    summary: 'Whether the daemon can do its work, and what keeps it from it.',
    scope: null,
    body: null,
    responses: {
      '200': {
        description: 'Ready.',
        body: z.object({ ready: z.literal(true), not_ready: z.array(z.unknown()).max(0) }),
      },
      '503': {
        description: 'Not ready.',
        body: z.object({
          ready: z.literal(false),
          not_ready: z.array(z.object({ name: z.string(), reason: z.string() })),
        }),
      },
    },
  },
  {
    method: 'get',
    path: '/metrics',
    summary: 'Prometheus metrics.',
    scope: null,
    body: null,
    responses: { '200': { description: 'Text of the Prometheus exposition format.', body: null } },
  },
];

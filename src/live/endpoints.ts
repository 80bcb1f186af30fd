/** Endpoints that take live queries and feedback in. */
import { z } from 'zod';
import type { Endpoint } from '../http/endpoint.ts';
import { rejectionTable } from '../rejection.ts';
import { feedbackSchema, liveQuerySchema } from './ingest-schema.ts';

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

const oneOrMany = <Schema extends z.ZodType>(item: Schema) => z.union([item, z.array(item).max(1000)]);

const allRefused = (body: z.ZodType) => ({ description: 'Every item was refused; the body says why.', body });

export const ingestEndpoints: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/v1/queries',
    tag: 'ingest',
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
    tag: 'ingest',
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
    tag: 'ingest',
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
    tag: 'ingest',
    summary: 'OTLP/HTTP logs: gen_ai.evaluation.result events become feedback.',
    scope: 'ingest',
    body: null,
    responses: {
      '200': { description: 'An ExportLogsServiceResponse in the format of the request.', body: null },
    },
  },
];

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { findPipeline } from '../../../golden/watched-pipeline.ts';
import { currentValue } from '../../../measures/measurements.ts';
import { type AuthenticationSettings, requireScope } from '../../../platform/access/authentication.ts';
import type { ContextOf } from '../../../platform/access/pipeline-access.ts';
import { identifier, limitField, parseRequest } from '../../../platform/http/fields.ts';
import { type Endpoint, toWire } from '../../../platform/http/wire.ts';
import { type IndexStatus, readIndexStatus } from '../index-reads.ts';
import { namedKinds } from '../rules/findings.ts';

const bounded = z.number().nullable();

const indexStatusSchema = z.object({
  pipeline: z.string(),
  checked_at: z.iso
    .datetime()
    .nullable()
    .describe('When the last complete round ended; null before the first complete round.'),
  documents: z.int().nullable().describe('Number of documents in the manifest.'),
  measures: z.array(
    z.object({
      measure: z.string(),
      segment: z.string(),
      value: bounded.describe('Null if unknown or stale.'),
      ci_low: bounded,
      ci_high: bounded,
      n: z.int(),
      reason: z.string().nullable().describe('Why there is no value; null if there is a value.'),
    }),
  ),
  found: z
    .array(
      z.object({
        kind: z.enum(namedKinds),
        count: z.int(),
        documents: z.array(z.object({ id: z.string(), segment: z.string().nullable(), since: z.iso.datetime() })),
      }),
    )
    .describe('Findings by kind, oldest first, including documents with an overdue change.'),
});

const indexQuery = z.strictObject({
  pipeline: identifier.describe('Configured pipeline.'),
  limit: limitField(1000, 50).describe('Maximum number of documents to list per kind of finding.'),
});

export const indexEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/v1/index',
    tag: 'status',
    summary: 'Compare the store of a pipeline with its manifest, using the latest rounds of the index check.',
    scope: 'read',
    pipelines: 'named',
    query: indexQuery,
    body: null,
    responses: { '200': { description: 'Results of the latest rounds of the index check.', body: indexStatusSchema } },
  },
];

export function addIndex(app: FastifyInstance, contextOf: ContextOf, authentication: AuthenticationSettings): void {
  app.get('/v1/index', { preParsing: requireScope('read', authentication) }, async (request) => {
    const { pipeline, limit } = parseRequest(request.query, indexQuery, 'query');
    const context = contextOf(request);
    findPipeline(context.pipelines, pipeline);
    const now = context.clock.now();
    return indexStatusJson(pipeline, await readIndexStatus(context, pipeline, now, limit), now);
  });
}

const unknown = { value: null, ciLow: null, ciHigh: null, n: 0 };

export function indexStatusJson(
  pipeline: string,
  { checkedAt, documents, measures, found }: IndexStatus,
  now: Date,
): z.infer<typeof indexStatusSchema> {
  return toWire(indexStatusSchema, {
    pipeline,
    checkedAt,
    documents,
    measures: measures.map((one) => {
      return { ...one, ...(currentValue(one, now) ?? unknown), reason: one.gap?.reason ?? null };
    }),
    found: found.map(({ documents: listed, ...kind }) => ({
      ...kind,
      documents: listed.map((document) => ({ ...document, since: document.foundAt })),
    })),
  });
}

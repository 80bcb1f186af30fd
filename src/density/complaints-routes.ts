/** `/v1/complaint-topics`: what people ask who are not content. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type AuthenticationSettings, requireScope } from '../access/authentication.ts';
import { verdicts } from '../explain/rules/verdict.ts';
import type { Endpoint } from '../http/endpoint.ts';
import { identifier, parseRequest } from '../http/fields.ts';
import { type ComplaintsReport, complaintsJson } from './complaints-reads.ts';

const complaintsQuery = z.strictObject({
  pipeline: identifier.describe('Pipeline of the config.'),
  days: z.coerce.number().int().min(1).max(90).default(14).describe('Live queries of so many days.'),
  why: z
    .enum(['true', 'false'])
    .default('false')
    .describe(
      'Asks the retriever why queries of a topic did not get what people liked who asked alike; takes up to a minute.',
    ),
});

const reportSchema = z.object({
  pipeline: z.string(),
  days: z.int(),
  negative_sessions: z.int().nullable().describe('Kept sessions with negative feedback and a vector.'),
  other_sessions: z.int().nullable().describe('Those with a query without negative feedback.'),
  lacking: z
    .object({ of: z.enum(['negative', 'others']), have: z.int(), need: z.int() })
    .nullable()
    .describe('Of what there is too little to tell; null when there is enough.'),
  topics: z.array(
    z.object({
      label: z.array(z.string()),
      sessions: z.int(),
      share: z.number().describe('Of the sessions with negative feedback, with 95 % bounds.'),
      share_low: z.number(),
      share_high: z.number(),
      others_share: z.number(),
      adjusted_p: z.number().describe('Adjusted over all clusters that were tried.'),
      failed: z.int().describe('Its queries that failed.'),
      empty: z.int().describe('Its queries that found nothing.'),
      examples: z.array(z.object({ id: z.string(), text: z.string().nullable() })),
      days: z.array(
        z.object({
          day: z.iso.date(),
          negative: z.int().describe('Sessions with negative feedback.'),
          sessions: z.int().describe('Those of the topic.'),
        }),
      ),
      liked_documents: z.array(z.string()),
      why: z
        .array(
          z.object({
            query: z.string(),
            document: z.string(),
            verdict: z.enum(verdicts),
            outranked_by: z.string().nullable(),
            evidence: z.array(z.string()),
          }),
        )
        .nullable(),
    }),
  ),
});

export const complaintEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/v1/complaint-topics',
    tag: 'density',
    summary:
      'What people ask more who give negative feedback than those who do not, and why they did not get what others liked.',
    scope: 'read',
    query: complaintsQuery,
    body: null,
    responses: { '200': { description: 'The topics, with the largest excess first.', body: reportSchema } },
  },
];

export interface ComplaintRouteDeps {
  readonly authentication: AuthenticationSettings;
  /** @throws RecalldError pipeline_unknown */
  readComplaints(pipeline: string, days: number, why: boolean): Promise<ComplaintsReport>;
}

export function addComplaints(app: FastifyInstance, deps: ComplaintRouteDeps): void {
  app.get('/v1/complaint-topics', { preParsing: requireScope('read', deps.authentication) }, async (request) => {
    const { pipeline, days, why } = parseRequest(request.query, complaintsQuery, 'query');
    return complaintsJson(await deps.readComplaints(pipeline, days, why === 'true'));
  });
}

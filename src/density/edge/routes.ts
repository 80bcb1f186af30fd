import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { readDensityVerdict } from '../../checks/check-store.ts';
import { RecalldError } from '../../core/errors.ts';
import { DAY_MS } from '../../core/time.ts';
import { findPipeline } from '../../golden/watched-pipeline.ts';
import { verdicts } from '../../incidents/explain/rules/verdict.ts';
import { keyHolder, personOf } from '../../platform/access/audit-log.ts';
import { type AuthenticationSettings, assertCallerMay, requireScope } from '../../platform/access/authentication.ts';
import type { ContextOf } from '../../platform/access/pipeline-access.ts';
import { identifier, parseRequest } from '../../platform/http/fields.ts';
import { type Endpoint, toWire } from '../../platform/http/wire.ts';
import { describeDensity } from '../describe-density.ts';
import {
  densityQuery,
  describedTopic,
  rebaselineSchema,
  topicChangeSchema,
  topicJson,
  topicListQuery,
  topicParams,
} from '../http-contract.ts';
import { requestRebaseline } from '../learn-baseline.ts';
import type { UncoveredTopic } from '../rules/uncovered-topic.ts';
import type { TopicsTable } from '../topics-table.ts';
import { type ComplaintsReport, MAX_COMPLAINTS_EXPLAINED, readComplaintsInTime } from './complaints-reads.ts';

const WEEK_MS = 7 * DAY_MS;

export function addDensityRoutes(
  app: FastifyInstance,
  contextOf: ContextOf,
  authentication: AuthenticationSettings,
): void {
  const readers = { preParsing: requireScope('read', authentication) };
  const admins = { preParsing: requireScope('admin', authentication) };

  app.get('/v1/density', readers, async (request) => {
    const { pipeline, segment, from, until } = parseRequest(request.query, densityQuery, 'query');
    const context = contextOf(request);
    findPipeline(context.pipelines, pipeline);
    const end = until === undefined ? context.clock.now() : new Date(until);
    const start = from === undefined ? new Date(end.getTime() - WEEK_MS) : new Date(from);
    const verdict = await readDensityVerdict(context, pipeline);
    return describeDensity(context, { pipeline, segment, from: start, until: end }, verdict);
  });

  app.post('/v1/density/rebaseline', admins, async (request, reply) => {
    const body = parseRequest(request.body, rebaselineSchema, 'body');
    const context = contextOf(request);
    findPipeline(context.pipelines, body.pipeline);
    const status = await requestRebaseline(context, {
      pipeline: body.pipeline,
      reason: body.reason ?? null,
      since: body.since === undefined ? null : new Date(body.since),
      by: keyHolder(request),
    });
    return reply.code(202).send({ status });
  });

  app.get('/v1/uncovered-topics', readers, async (request) => {
    const { pipeline, state, limit } = parseRequest(request.query, topicListQuery, 'query');
    const states = state === undefined ? (['open', 'acknowledged'] as const) : [state];
    const { topics } = contextOf(request).db.density;
    const found = await topics.list({ states, limit, pipeline });
    return { items: await Promise.all(found.map((topic) => describedTopic(topics, topic))), next_cursor: null };
  });

  app.get('/v1/uncovered-topics/:id', readers, async (request) => {
    const { id } = parseRequest(request.params, topicParams, 'path');
    const { topics } = contextOf(request).db.density;
    const topic = await findTopic(topics, id);
    const [texts, windows] = await Promise.all([
      topics.texts(topic.pipeline, topic.examples),
      topics.windows(topic.id),
    ]);
    return topicJson(topic, texts, windows);
  });

  app.post('/v1/uncovered-topics/:id', admins, async (request) => {
    const { id } = parseRequest(request.params, topicParams, 'path');
    const { state, note = null } = parseRequest(request.body, topicChangeSchema, 'body');
    const { db, clock } = contextOf(request);
    const { topics } = db.density;
    await topics.setState(id, state, note, keyHolder(request), clock.now());
    return describedTopic(topics, await findTopic(topics, id));
  });
}

/** @throws RecalldError topic_unknown */
async function findTopic(topics: TopicsTable, id: string): Promise<UncoveredTopic> {
  const topic = await topics.find(id);
  if (topic !== null) return topic;
  throw new RecalldError('topic_unknown', 'There is no uncovered topic with this id.');
}

const complaintsQuery = z.strictObject({
  pipeline: identifier.describe('Configured pipeline.'),
  days: z.coerce.number().int().min(1).max(90).default(14).describe('Number of days of live queries.'),
  why: z
    .enum(['true', 'false'])
    .default('false')
    .describe(
      'Explain why queries of a topic did not return documents that users with similar queries liked. The request takes up to a minute and requires the `admin` scope.',
    ),
});

const reportSchema = z.object({
  pipeline: z.string(),
  days: z.int(),
  negative_sessions: z
    .int()
    .nullable()
    .describe('Number of sampled sessions in which at least one query has both negative feedback and a vector.'),
  other_sessions: z
    .int()
    .nullable()
    .describe('Number of sampled sessions in which at least one query has a vector and no negative feedback.'),
  lacking: z
    .object({ of: z.enum(['negative', 'others']), have: z.int(), need: z.int() })
    .nullable()
    .describe(
      'Which of the two groups has too few sessions, how many it has and how many are needed; null if there is enough data.',
    ),
  topics: z.array(
    z.object({
      label: z.array(z.string()),
      sessions: z.int(),
      share: z.number().describe('Share of sessions with negative feedback that belong to the topic, with a 95 % CI.'),
      share_low: z.number(),
      share_high: z.number(),
      others_share: z.number(),
      adjusted_p: z.number().describe('p-value, adjusted for all tested clusters.'),
      failed: z.int().describe('Number of failed queries in the topic.'),
      empty: z.int().describe('Number of queries in the topic that returned no documents.'),
      examples: z.array(z.object({ id: z.string(), text: z.string().nullable() })),
      days: z.array(
        z.object({
          day: z.iso.date(),
          negative: z.int().describe('Number of sessions with negative feedback.'),
          sessions: z.int().describe('Number of sessions with negative feedback that belong to the topic.'),
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

export function complaintsJson({ found, topics, ...report }: ComplaintsReport): z.infer<typeof reportSchema> {
  const known = found.kind === 'topics' ? found : null;
  return toWire(reportSchema, {
    ...report,
    negativeSessions: known?.negative ?? null,
    otherSessions: known?.others ?? null,
    lacking: found.kind === 'topics' ? null : found,
    topics: topics.map(({ topic, why }) => ({
      ...topic,
      share: topic.share.value,
      shareLow: topic.share.low,
      shareHigh: topic.share.high,
      examples: topic.shown,
      likedDocuments: topic.liked,
      why: why && why.map((one) => ({ ...one, query: one.question.text })),
    })),
  });
}

export const complaintEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/v1/complaint-topics',
    tag: 'density',
    summary:
      'Topics that are more frequent in sessions with negative feedback than in others, and why the queries of these topics did not return documents that other users liked.',
    scope: 'read',
    pipelines: 'named',
    query: complaintsQuery,
    body: null,
    responses: { '200': { description: 'Topics, largest difference in frequency first.', body: reportSchema } },
  },
];

export function addComplaints(
  app: FastifyInstance,
  contextOf: ContextOf,
  authentication: AuthenticationSettings,
): void {
  app.get('/v1/complaint-topics', { preParsing: requireScope('read', authentication) }, async (request) => {
    const { pipeline, days, why } = parseRequest(request.query, complaintsQuery, 'query');
    const context = contextOf(request);
    if (why === 'true') {
      // Explanations require the admin scope because they send queries to the retriever and the store.
      assertCallerMay('admin', request, '`why=true` needs');
      context.explainBudget.spend(personOf(request), MAX_COMPLAINTS_EXPLAINED);
    }
    return complaintsJson(await readComplaintsInTime(context, pipeline, days, why === 'true'));
  });
}

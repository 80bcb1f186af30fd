import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { RecalldError } from '../../core/errors.ts';
import { groupBy } from '../../core/group-by.ts';
import { findPipeline } from '../../golden/watched-pipeline.ts';
import { keyHolder, personOf } from '../../platform/access/audit-log.ts';
import { type AuthenticationSettings, requireScope } from '../../platform/access/authentication.ts';
import type { ContextOf } from '../../platform/access/pipeline-access.ts';
import { identifier, numberedPageShape, pageOf, parseRequest } from '../../platform/http/fields.ts';
import { type Endpoint, toWire } from '../../platform/http/wire.ts';
import { listedJudges } from '../review-queue.ts';
import { MAX_GRADE } from '../rules/judged-scores.ts';

const newJudgment = z.strictObject({
  query_id: identifier.describe('Id of a live query that was selected for judging.'),
  pipeline: identifier.describe('Name of a pipeline in the config.'),
  document_id: identifier.describe('Id of a document returned for the query.'),
  grade: z.int().min(0).max(MAX_GRADE).describe('Grade from 0 to 3. A later grade replaces an earlier one.'),
  judge: z
    .literal('person')
    .default('person')
    .describe('Kind of judge. Only `person` is accepted, because model grades cannot be posted.'),
});

const newJudgments = z.union([newJudgment, z.array(newJudgment).min(1).max(1000)]);

const recorded = z.object({
  accepted: z.int(),
  rejected: z.array(z.object({ index: z.int(), code: z.string(), message: z.string() })),
});

const judgmentSchema = z.object({
  query_id: z.string(),
  document_id: z.string(),
  judge: z.enum(listedJudges).describe('`second`: an independent judgment by a second person.'),
  grade: z.int().nullable().describe('Null if the model gave no grade; see `problem`.'),
  problem: z.string().nullable(),
  flagged: z
    .boolean()
    .describe(
      'True if the query or the document may contain a prompt injection. A person should then review the grade.',
    ),
  judged_at: z.iso.datetime(),
});

const judgmentListQuery = z.strictObject({
  pipeline: identifier.describe('Name of a pipeline in the config.'),
  flagged: z.enum(['true', 'false']).default('false').describe('`true`: return only flagged judgments.'),
  ...numberedPageShape,
});

export const judgingEndpoints: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/v1/judgments',
    tag: 'judging',
    summary: 'Store human judgments for documents of selected live queries: one judgment, or a list of up to 1,000.',
    scope: 'admin',
    pipelines: 'named',
    body: newJudgments,
    responses: {
      '201': { description: 'The number of stored judgments, and the judgments that were rejected.', body: recorded },
    },
  },
  {
    method: 'get',
    path: '/v1/judgments',
    tag: 'judging',
    summary: 'Judgments of a pipeline, newest first.',
    scope: 'read',
    pipelines: 'named',
    query: judgmentListQuery,
    body: null,
    responses: { '200': { description: 'A page of judgments.', body: pageOf(judgmentSchema) } },
  },
];

const NOT_DRAWN =
  'This query was not selected for judging, or was selected without this document. List the selected queries with `recalld judge review`.';

export function addJudgments(app: FastifyInstance, contextOf: ContextOf, authentication: AuthenticationSettings): void {
  app.post('/v1/judgments', { preParsing: requireScope('admin', authentication) }, async (request, reply) => {
    const body = [parseRequest(request.body, newJudgments, 'body')].flat();
    const { clock, pipelines, db } = contextOf(request);
    const { judged } = db.judging;
    const isKnown = new Map<(typeof body)[number], boolean>();
    const byPipeline = groupBy(body, ({ pipeline }) => pipeline);
    for (const pipeline of byPipeline.keys()) findPipeline(pipelines, pipeline);
    const grader = { by: keyHolder(request), person: personOf(request) };
    for (const [pipeline, own] of byPipeline) {
      const grades = own.map((one) => ({ queryId: one.query_id, documentId: one.document_id, grade: one.grade }));
      const known = await judged.recordHumanJudgments(pipeline, grades, grader, clock.now());
      for (const [index, one] of own.entries()) isKnown.set(one, known[index] === true);
    }
    const rejected = body.flatMap((one, index) =>
      isKnown.get(one) === true ? [] : [{ index, code: 'judgment_unknown', message: NOT_DRAWN }],
    );
    if (rejected.length === body.length) throw new RecalldError('judgment_unknown', NOT_DRAWN);
    return reply.code(201).send({ accepted: body.length - rejected.length, rejected });
  });

  app.get('/v1/judgments', { preParsing: requireScope('read', authentication) }, async (request) => {
    const { pipeline, flagged, limit, cursor = '0' } = parseRequest(request.query, judgmentListQuery, 'query');
    const { pipelines, db } = contextOf(request);
    findPipeline(pipelines, pipeline);
    const found = await db.judging.reviews.list(pipeline, limit, Number(cursor), flagged === 'true');
    const items = found.map(({ isFlagged, ...one }) => toWire(judgmentSchema, { ...one, flagged: isFlagged }));
    return { items, next_cursor: found.length === limit ? String(Number(cursor) + limit) : null };
  });
}

/**
 * `/v1/judgments`: grades of live queries, by the model and by people; and what the page *Judge* shows, and its forms
 * do.
 */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { keyHolder, personOf } from '../access/audit-log.ts';
import { type AuthenticationSettings, requireScope } from '../access/authentication.ts';
import { address, pipelinePath } from '../console/links.ts';
import { RecalldError } from '../errors.ts';
import { identifier, numberedPageShape, pageOf, parseRequest } from '../http/fields.ts';
import type { Endpoint } from '../http/wire.ts';
import type { Measurements } from '../measures/measurements.ts';
import type { Clock } from '../time.ts';
import type { JudgePageData } from './judge-page.tsx';
import type { JudgeSpending } from './judge-spending.ts';
import type { JudgedTable } from './judged-table.ts';
import { PEOPLE_AGREEMENT, recordedAgreement } from './measure-judged.ts';
import type { Grader } from './people-grades.ts';
import { type ListedJudgment, listedJudges, type ReviewQueue } from './review-queue.ts';
import { MAX_GRADE } from './rules/judged-scores.ts';

const newJudgment = z.strictObject({
  query_id: identifier.describe('A live query that was drawn to be judged.'),
  pipeline: identifier.describe('Pipeline of the config.'),
  document_id: identifier.describe('One of its documents.'),
  grade: z.int().min(0).max(MAX_GRADE).describe('0 to 3; a later grade takes the place of an earlier one.'),
  judge: z.literal('person').default('person').describe('Grades of the model are its own.'),
  person: identifier
    .optional()
    .describe('Who gave it, where two are asked; left out, whoever the name of the API key stands for.'),
});

const newJudgments = z.union([newJudgment, z.array(newJudgment).min(1).max(1000)]);

const recorded = z.object({
  accepted: z.int(),
  rejected: z.array(z.object({ index: z.int(), code: z.string(), message: z.string() })),
});

const judgmentSchema = z.object({
  query_id: z.string(),
  document_id: z.string(),
  judge: z.enum(listedJudges).describe('`second`: a second person, who did not see the grade of the first.'),
  grade: z.int().nullable().describe('Null where the model gave none, with the problem.'),
  problem: z.string().nullable(),
  flagged: z.boolean().describe('Something in the texts spoke to the model; it was taken out.'),
  judged_at: z.iso.datetime(),
});

const judgmentListQuery = z.strictObject({
  pipeline: identifier.describe('Pipeline of the config.'),
  ...numberedPageShape,
});

export const judgingEndpoints: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/v1/judgments',
    tag: 'judging',
    summary: 'Store grades of people for documents of drawn live queries: one, or a list of up to 1,000.',
    scope: 'admin',
    body: newJudgments,
    responses: { '201': { description: 'What was stored.', body: recorded } },
  },
  {
    method: 'get',
    path: '/v1/judgments',
    tag: 'judging',
    summary: 'Grades of a pipeline, newest first.',
    scope: 'read',
    query: judgmentListQuery,
    body: null,
    responses: { '200': { description: 'A page of them.', body: pageOf(judgmentSchema) } },
  },
];

export interface JudgmentsDeps {
  readonly authentication: AuthenticationSettings;
  readonly clock: Clock;
  readonly judged: Pick<JudgedTable, 'recordPeople'>;
  readonly reviews: ReviewQueue;
  /** @throws RecalldError pipeline_unknown */
  assertPipeline(name: string): void;
}

const NOT_DRAWN =
  'The query was not drawn to be judged, or not with this document; `recalld judge review` gives those that were.';

export function addJudgments(app: FastifyInstance, deps: JudgmentsDeps): void {
  const { authentication, clock, judged, reviews } = deps;

  app.post('/v1/judgments', { preParsing: requireScope('admin', authentication) }, async (request, reply) => {
    const body = [parseRequest(request.body, newJudgments, 'body')].flat();
    const isKnown = new Map<(typeof body)[number], boolean>();
    for (const pipeline of new Set(body.map((one) => one.pipeline))) deps.assertPipeline(pipeline);
    const personOfOne = ({ person = personOf(request) }: (typeof body)[number]): string => person;
    for (const person of new Set(body.map(personOfOne))) {
      const graded = body.filter((one) => personOfOne(one) === person);
      for (const pipeline of new Set(graded.map((one) => one.pipeline))) {
        const own = graded.filter((one) => one.pipeline === pipeline);
        const grades = own.map(({ query_id: queryId, document_id: documentId, grade }) => ({
          queryId,
          documentId,
          grade,
        }));
        const known = await judged.recordPeople(pipeline, grades, { by: keyHolder(request), person }, clock.now());
        for (const [index, one] of own.entries()) isKnown.set(one, known[index] === true);
      }
    }
    const rejected = body.flatMap((one, index) =>
      isKnown.get(one) === true ? [] : [{ index, code: 'judgment_unknown', message: NOT_DRAWN }],
    );
    if (rejected.length === body.length) throw new RecalldError('judgment_unknown', NOT_DRAWN);
    return reply.code(201).send({ accepted: body.length - rejected.length, rejected });
  });

  app.get('/v1/judgments', { preParsing: requireScope('read', authentication) }, async (request) => {
    const { pipeline, limit, cursor = '0' } = parseRequest(request.query, judgmentListQuery, 'query');
    deps.assertPipeline(pipeline);
    const found = await reviews.list(pipeline, limit, Number(cursor));
    const next = found.length === limit ? String(Number(cursor) + limit) : null;
    return { items: found.map(judgmentJson), next_cursor: next };
  });
}

function judgmentJson({ queryId, documentId, isFlagged, judgedAt, ...rest }: ListedJudgment) {
  const { judge, grade, problem } = rest;
  return {
    query_id: queryId,
    document_id: documentId,
    judge,
    grade,
    problem,
    flagged: isFlagged,
    judged_at: judgedAt.toISOString(),
  };
}

export interface JudgePageDeps {
  readonly judged: Pick<JudgedTable, 'recordPeople'>;
  readonly reviews: ReviewQueue;
  readonly spending: Pick<JudgeSpending, 'spent'>;
  readonly measurements: Pick<Measurements, 'latest'>;
  readonly clock: Clock;
}

type Fields = Readonly<Record<string, string | undefined>>;

/** An address of more is refused by some servers. */
const MAX_SKIPPED = 50;

function skippedOf(text = ''): string[] {
  return text.split(' ').filter(Boolean).slice(-MAX_SKIPPED);
}

/** @param query `person`: who looks; `query`: the one to show while it has something open; `skip`: those left for later; `last`: what to take back */
export async function readJudgePage(
  { reviews, spending, measurements, clock }: JudgePageDeps,
  pipeline: string,
  isJudged: boolean,
  query: Fields & { readonly person: string },
): Promise<JudgePageData> {
  const { person } = query;
  const now = clock.now();
  const skipped = skippedOf(query['skip']);
  const asked = query['query'] === undefined ? null : await reviews.find(pipeline, person, query['query']);
  const hasOpen = asked?.documents.some(({ isOpen }) => isOpen) === true;
  const [next = null] = hasOpen ? [asked] : await reviews.next(pipeline, person, 1, skipped);
  const [queryId, documentId] = [query['query'], query['last']];
  return {
    pipeline,
    isJudged,
    query: next,
    progress: await reviews.progress(pipeline, person, now),
    peopleAgreement: recordedAgreement(await measurements.latest(now), pipeline, PEOPLE_AGREEMENT),
    costToday: (await spending.spent(pipeline, now)).today,
    skipped,
    last: queryId === undefined || documentId === undefined ? null : { queryId, documentId },
  };
}

/**
 * Stores or takes back a grade.
 *
 * @returns where to go on
 * @throws RecalldError body_unreadable for what is no grade, judgment_unknown for a query that was not drawn
 */
export async function storeGrade(
  { judged, clock }: JudgePageDeps,
  pipeline: string,
  fields: Fields,
  grader: Grader,
): Promise<string> {
  const { query: queryId = '', document: documentId = '', typed = '', skip } = fields;
  const given = fields['grade'] ?? typed;
  const grade = given === 'none' ? null : Number(given);
  if (given === '' || (grade !== null && !(Number.isInteger(grade) && grade >= 0 && grade <= MAX_GRADE)))
    throw new RecalldError('body_unreadable', `A grade is a number from 0 to ${MAX_GRADE}; go back and choose one.`);
  const [isKnown] = await judged.recordPeople(pipeline, [{ queryId, documentId, grade }], grader, clock.now());
  if (isKnown !== true) throw new RecalldError('judgment_unknown', 'This query was not drawn, or has been erased.');
  const last = grade === null ? null : documentId;
  return address(pipelinePath(pipeline, 'judge'), { query: queryId, last, skip: skippedOf(skip).join(' ') });
}

/** Two people grade the same live queries independently. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createReviewQueue, type ReviewedQuery } from '../../../src/judging/review-queue.ts';
import { useDatabase } from '../../support/database.ts';
import { documentOf, JudgingWorld, PIPELINE } from '../../support/judging-world.ts';

const database = useDatabase();
let world: JudgingWorld;
beforeEach(async () => {
  world = await JudgingWorld.start(database.pool, { judge: null, humanShare: 1, secondReviewerShare: 0.3 });
  await world.hourOf(world.samples(200));
  await world.round();
});
afterEach(() => world.close());

const queue = () => createReviewQueue(database.pool);
const progress = (person: string) => queue().progress(PIPELINE, person, world.clock.now());
const next = (person: string): Promise<ReviewedQuery[]> =>
  queue().next({ pipeline: PIPELINE, person, now: world.clock.now() }, 1000);
const give = (person: string, query: ReviewedQuery | undefined, grade: number | null, of = 3) =>
  world.deps.db.judging.judged.recordHumanJudgments(
    PIPELINE,
    (query?.documents ?? [])
      .slice(0, of)
      .map(({ id: documentId }) => ({ queryId: query?.id ?? '', documentId, grade })),
    { by: person, person },
    world.clock.now(),
  );
const stored = async (query: ReviewedQuery | undefined): Promise<string[]> => {
  const { rows } = await database.pool.query<{ one: string }>(
    `select distinct concat_ws(' ', judge, graded_by, grade) as one from judgments where query_id = $1 order by 1`,
    [query?.id],
  );
  return rows.map(({ one }) => one);
};

describe('queries for people', () => {
  it('are assigned to one person each, and a share of them also to a second person who does not see the grades', async () => {
    const drawn = await next('ann');
    expect(drawn.length).toBeGreaterThan(50);
    expect(await next('ben')).toHaveLength(drawn.length);
    await world.peopleGrade('ann');
    expect(await next('ann')).toEqual([]);
    expect(await progress('ann')).toEqual({ drawn: drawn.length, graded: drawn.length, lately: drawn.length });

    const forTwo = await world.count('judged_queries where needs_second_human');
    const left = await next('ben');
    expect(left).toHaveLength(forTwo);
    expect(forTwo / drawn.length).toBeGreaterThan(0.1);
    expect(forTwo / drawn.length).toBeLessThan(0.5);
    expect(left.flatMap(({ documents }) => documents.filter(({ grade }) => grade !== null))).toEqual([]);
    expect(await progress('ben')).toMatchObject({ graded: drawn.length - forTwo });

    // No query is left for a third person.
    await world.peopleGrade('ben');
    expect([await next('ben'), await next('carl')]).toEqual([[], []]);
  });

  it('keep the last grade of each of two people, and never two grades of one person', async () => {
    const forTwo = (await next('ann'))[0];
    await database.pool.query('update judged_queries set needs_second_human = (query_id = $1)', [forTwo?.id]);
    await give('ann', forTwo, 3);
    await give('ben', forTwo, 1);
    expect(await stored(forTwo)).toEqual(['person ann 3', 'second ben 1']);
    await give('ben', forTwo, 2);
    await give('ann', forTwo, 0);
    expect(await stored(forTwo)).toEqual(['person ben 2', 'second ann 0']);
    await give('ben', forTwo, null);
    expect(await stored(forTwo)).toEqual(['person ann 0']);

    const forOne = (await next('ben')).find(({ id }) => id !== forTwo?.id);
    await give('ann', forOne, 3);
    await give('ben', forOne, 1);
    expect(await stored(forOne)).toEqual(['person ben 1']);
  });

  it('present to each person the documents that this person has not graded', async () => {
    const forTwo = (await next('ann'))[0];
    await database.pool.query('update judged_queries set needs_second_human = true');
    await give('ann', forTwo, 3, 1);
    const open = (await next('ben')).find(({ id }) => id === forTwo?.id);
    expect(open?.documents.filter(({ isOpen }) => isOpen)).toHaveLength(3);
    await give('ben', open, 2);
    expect(await stored(forTwo)).toEqual(['person ann 3', 'person ben 2', 'second ben 2']);
    const rest = await queue().find({ pipeline: PIPELINE, person: 'ann', now: world.clock.now() }, forTwo?.id ?? '');
    expect(rest?.documents.map(({ grade, isOpen }) => [grade, isOpen])).toEqual([
      [3, false],
      [null, true],
      [null, true],
    ]);
  });
});

it('the agreement between two people is measured on the documents that both graded', async () => {
  await world.peopleGrade('ann');
  await world.round();
  expect((await world.latest('human_agreement'))?.gap?.reason).toBe('too_few_judgments');
  for (const query of await next('ben')) {
    const grades = query.documents.map(({ id: documentId }) => {
      const [question = '', rank] = documentId.split('/');
      const { quality } = documentOf(question, Number(rank));
      // Grades every irrelevant document one grade too high.
      return { queryId: query.id, documentId, grade: quality === 0 ? 1 : quality };
    });
    await world.deps.db.judging.judged.recordHumanJudgments(
      PIPELINE,
      grades,
      { by: 'ben', person: 'ben' },
      world.clock.now(),
    );
  }
  await world.round();
  const agreement = (await world.latest('human_agreement'))?.newest;
  expect(agreement?.value).toBeGreaterThan(0.7);
  expect(agreement?.value).toBeLessThan(0.99);
  expect(agreement?.ciLow).toBeLessThan(agreement?.value ?? 0);
  const forTwo = await world.count('judged_queries where needs_second_human');
  expect((await world.latest('judged_queries'))?.newest?.details).toMatchObject({ second: forTwo });
  // Estimates use one person's judgments.
  expect((await world.latest('live_precision'))?.newest?.details).toMatchObject({ lambda: 0 });
});

/** Compares stored runs of several configurations in one table. */
import { expect, it } from 'vitest';
import { formatMany } from '../../../src/golden/edge/commands/compare.ts';
import { storedComparison } from '../../../src/golden/rules/verdict.ts';
import { compareManyRuns } from '../../../src/golden/runs/stored-runs.ts';
import { aSchedule, goldenQueries, NOON } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { type Answers, aGoldenWorld } from '../../support/golden-world.ts';

const database = useDatabase();

it('three runs are compared over the queries that all of them contain, and an unknown run is refused', async () => {
  const world = aGoldenWorld(database.pool, NOON, aSchedule({ cron: null }));
  const right: Answers = (text) => [`d${text.replaceAll(/\D/g, '')}`];
  const half: Answers = (text) => (Number(text.replaceAll(/\D/g, '')) % 2 === 0 ? right(text) : ['other']);
  const ids: string[] = [];
  const runWith = async (answers: Answers, hours: number): Promise<void> => {
    world.answerWith(answers);
    for (const { id } of await world.full(new Date(NOON.getTime() + hours * 3_600_000))) ids.push(id);
  };
  await world.importSet({ queries: goldenQueries(40) });
  await runWith(right, 0);
  await runWith(half, 1);
  await runWith(right, 2);
  const { runs, compared } = await compareManyRuns(world.deps, ids, storedComparison);
  expect(runs.map(({ id }) => id)).toEqual(ids);
  expect(compared.n).toBe(40);
  expect(compared.primary.means).toEqual([1, 0.5, 1]);
  expect(compared.primary.pairs.map(({ verdict }) => verdict)).toEqual(['regression', 'no_change', 'improvement']);
  const text = formatMany(['one', 'two', 'three'], compared);
  expect(text).toContain('In ndcg@10, no other run is better than A or C (40 queries).');
  expect(text).toMatch(/A to B +regression +−0\.5 /);
  await expect(compareManyRuns(world.deps, [...ids, 'gone'], storedComparison)).rejects.toMatchObject({
    code: 'run_unknown',
  });
});

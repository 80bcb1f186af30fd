import { expect, it } from 'vitest';
import { readRunQueries, readRunTable } from '../../../../src/golden/runs/run-summary.ts';
import { createGoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import { aFailedAnswer, aNewGoldenSet, anAnswer, documents, goldenQueries, NOON } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { putRun } from '../../../support/golden-runs.ts';

const database = useDatabase();
let worlds = 0;

/** A separate set of four queries. */
async function aSet() {
  const deps = { sets: createGoldenSets(database.pool), runs: createGoldenRuns(database.pool) };
  const goldenSet = `set ${(worlds += 1)}`;
  await deps.sets.add(aNewGoldenSet({ name: goldenSet, queries: goldenQueries(4) }), NOON);
  return { deps, goldenSet };
}

const mrr = { measure: 'mrr', k: 10 } as const;

async function aWorld() {
  const { deps, goldenSet } = await aSet();
  const answer = (queryId: string, ...found: string[]) => anAnswer({ queryId, documents: documents(...found) });
  const answers = [answer('q1', 'd1'), answer('q2', 'x', 'd2'), answer('q3', 'x'), answer('q4', 'd4')];
  const run = await putRun(deps, { goldenSet }, { answers });
  const right = ['1', '2', '3', '4'].map((n) => answer(`q${n}`, `d${n}`));
  const good = await putRun(deps, { goldenSet }, { answers: right });
  return { deps, goldenSet, run, good, right };
}

it('the queries of a run are read in pages, compared to another run of the set', async () => {
  const { deps, run, good } = await aWorld();
  const { page, total } = await readRunTable(contextOf({ db: { golden: deps } }), run, good, 'regressed', mrr, 0, 1);
  expect(total).toBe(2);
  expect(page).toMatchObject([{ query: { id: 'q3' }, score: 0, before: 1 }]);
  const second = await readRunTable(contextOf({ db: { golden: deps } }), run, good, 'regressed', mrr, 1, 1);
  expect(second.page).toMatchObject([{ query: { id: 'q2' }, score: 0.5, before: 1 }]);
  expect((await readRunTable(contextOf({ db: { golden: deps } }), run, null, 'regressed', mrr, 0, 100)).total).toBe(0);
});

it('a run of another version is compared over the queries that both contain', async () => {
  const { deps, goldenSet, run, right } = await aWorld();
  const changed = goldenQueries(4).map((query) => (query.id === 'q3' ? { ...query, text: 'New?' } : query));
  await deps.sets.add(aNewGoldenSet({ name: goldenSet, contentHash: 'hash-2', queries: changed }), NOON);
  const other = await putRun(deps, { goldenSet, goldenSetVersion: 2 }, { answers: right });
  const { page } = await readRunTable(contextOf({ db: { golden: deps } }), run, other, 'regressed', mrr, 0, 100);
  expect(page.map(({ query }) => query.id)).toEqual(['q2']);
});

/** A run of four queries: one finds the document at rank 1, one at rank 2, one failed, and one has no answer yet. */
async function aRun() {
  const { deps, goldenSet } = await aSet();
  const answers = [
    anAnswer({ queryId: 'q1', documents: documents('d1') }),
    anAnswer({ queryId: 'q2', documents: documents('x', 'd2') }),
    aFailedAnswer({ queryId: 'q3' }),
  ];
  return { deps, run: await putRun(deps, { goldenSet }, { answers }) };
}

it('every query of a run is listed with its answer and its scores; one without an answer scores 0', async () => {
  const { deps, run } = await aRun();
  const { page, total } = await readRunQueries(contextOf({ db: { golden: deps } }), run, null, null, 0, 100);
  expect(total).toBe(4);
  expect(page.map(({ query, answer }) => [query.id, answer?.outcome ?? null])).toEqual([
    ['q1', 'ok'],
    ['q2', 'ok'],
    ['q3', 'error'],
    ['q4', null],
  ]);
  expect(page.map(({ scores }) => scores['mrr@10'])).toEqual([1, 0.5, 0, 0]);
  expect(page.map(({ scores }) => scores['hit_rate@1'])).toEqual([1, 0, 0, 0]);
});

it('queries are sorted by score, lowest first, then by id, across pages', async () => {
  const { deps, run } = await aRun();
  const ids = async (from: number) => {
    const orderBy = { measure: 'mrr', k: 5 } as const;
    const { page } = await readRunQueries(contextOf({ db: { golden: deps } }), run, null, orderBy, from, 3);
    return page.map(({ query }) => query.id);
  };
  expect(await ids(0)).toEqual(['q3', 'q4', 'q2']);
  expect(await ids(3)).toEqual(['q1']);
  expect(await ids(4)).toEqual([]);
});

it('the outcome filter lists only the queries with that outcome', async () => {
  const { deps, run } = await aRun();
  const { page, total } = await readRunQueries(contextOf({ db: { golden: deps } }), run, 'ok', null, 0, 1);
  expect([page.map(({ query }) => query.id), total]).toEqual([['q1'], 2]);
});

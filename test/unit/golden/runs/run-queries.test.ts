import { expect, it } from 'vitest';
import { readRunQueries, readRunTable } from '../../../../src/golden/runs/run-summary.ts';
import {
  aFailedAnswer,
  aGoldenRun,
  aNewGoldenSet,
  anAnswer,
  documents,
  goldenQueries,
  NOON,
} from '../../../support/builders.ts';
import { MemoryGoldenRuns } from '../../../support/memory-golden-runs.ts';
import { MemoryGoldenSets } from '../../../support/memory-golden-sets.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

const wanted = { view: 'regressed', key: { measure: 'mrr', k: 10 }, from: 0, limit: 100 } as const;

async function aWorld() {
  const sets = new MemoryGoldenSets();
  await sets.add(aNewGoldenSet({ queries: goldenQueries(4) }), NOON);
  const runs = new MemoryGoldenRuns(new SteerableClock(), sets);
  const answer = (queryId: string, ...found: string[]) => anAnswer({ queryId, documents: documents(...found) });
  const run = aGoldenRun({ id: 'now' });
  runs.put(run, [answer('q1', 'd1'), answer('q2', 'x', 'd2'), answer('q3', 'x'), answer('q4', 'd4')]);
  const good = aGoldenRun({ id: 'good' });
  const right = ['1', '2', '3', '4'].map((n) => answer(`q${n}`, `d${n}`));
  runs.put(good, right);
  return { deps: { sets, runs }, run, good, right };
}

it('the queries of a run are read a page at a time, held against another run of the set', async () => {
  const { deps, run, good } = await aWorld();
  const { page, total } = await readRunTable(deps, run, good, { ...wanted, limit: 1 });
  expect(total).toBe(2);
  expect(page).toMatchObject([{ query: { id: 'q3' }, score: 0, before: 1 }]);
  const second = await readRunTable(deps, run, good, { ...wanted, from: 1, limit: 1 });
  expect(second.page).toMatchObject([{ query: { id: 'q2' }, score: 0.5, before: 1 }]);
  expect((await readRunTable(deps, run, null, wanted)).total).toBe(0);
});

it('a run of another version is held against by the questions that both have', async () => {
  const { deps, run, right } = await aWorld();
  const changed = goldenQueries(4).map((query) => (query.id === 'q3' ? { ...query, text: 'New?' } : query));
  await deps.sets.add(aNewGoldenSet({ contentHash: 'hash-2', queries: changed }), NOON);
  const other = aGoldenRun({ id: 'other', goldenSetVersion: 2 });
  deps.runs.put(other, right);
  const { page } = await readRunTable(deps, run, other, wanted);
  expect(page.map(({ query }) => query.id)).toEqual(['q2']);
});

const everything = { outcome: null, orderBy: null, from: 0, limit: 100 };

/** A run of four queries: right, wrong, failed, and not answered yet. */
async function aRun() {
  const sets = new MemoryGoldenSets();
  await sets.add(aNewGoldenSet({ queries: goldenQueries(4) }), NOON);
  const runs = new MemoryGoldenRuns(new SteerableClock(), sets);
  const run = aGoldenRun();
  runs.put(run, [
    anAnswer({ queryId: 'q1', documents: documents('d1') }),
    anAnswer({ queryId: 'q2', documents: documents('x', 'd2') }),
    aFailedAnswer({ queryId: 'q3' }),
  ]);
  return { deps: { sets, runs }, run };
}

it('every query of a run is told with its answer and its scores; one without an answer scores 0', async () => {
  const { deps, run } = await aRun();
  const { page, total } = await readRunQueries(deps, run, everything);
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

it('queries are ordered from the lowest score on, ties by id, page by page', async () => {
  const { deps, run } = await aRun();
  const ids = async (from: number) => {
    const orderBy = { measure: 'mrr', k: 5 } as const;
    const { page } = await readRunQueries(deps, run, { ...everything, orderBy, from, limit: 3 });
    return page.map(({ query }) => query.id);
  };
  expect(await ids(0)).toEqual(['q3', 'q4', 'q2']);
  expect(await ids(3)).toEqual(['q1']);
  expect(await ids(4)).toEqual([]);
});

it('only those that came to an outcome are told when it is asked for', async () => {
  const { deps, run } = await aRun();
  const { page, total } = await readRunQueries(deps, run, { ...everything, outcome: 'ok', limit: 1 });
  expect([page.map(({ query }) => query.id), total]).toEqual([['q1'], 2]);
});

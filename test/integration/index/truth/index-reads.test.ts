/** Index status as the page and the API show it. */
import { expect, it } from 'vitest';
import { createDb } from '../../../../src/app/database.ts';
import type { Context } from '../../../../src/core/context.ts';
import type { Clock } from '../../../../src/core/time.ts';
import { runGoldenSet } from '../../../../src/golden/runs/run-golden-set.ts';
import { tickGoldenSet } from '../../../../src/golden/runs/tick-golden-set.ts';
import { indexStatusJson } from '../../../../src/index/truth/edge/index-routes.ts';
import { readIndexPage } from '../../../../src/index/truth/index-reads.ts';
import { goldenQueries } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { aGoldenWorld } from '../../../support/golden-world.ts';
import { chunkOf, IndexWorld, START } from '../../../support/index-world.ts';

const database = useDatabase();

function contextOfPage(clock: Clock): Context {
  const db = createDb(database.pool);
  return contextOf({ db, reads: db, clock, pipelines: [], indexPlans: [{ pipeline: 'docs', lateAfterMs: 3_600_000 }] });
}

const later = new Date(START.getTime() + 3_600_000);

it('the index page shows forbidden documents of the latest golden or sentinel run until a run returns none', async () => {
  const cron = { expression: '*/5 * * * *', timezone: 'UTC' };
  const world = aGoldenWorld(database.pool, START, { sentinel: { cron, queries: 1 } });
  const probe = { id: 'p1', text: 'probe', tags: {}, judgments: [], forbidden: ['tenant-b/*'] };
  await world.importSet({ queries: [...goldenQueries(2), probe] });
  const context = contextOfPage(world.deps.clock);
  const leaks = async () => (await readIndexPage(context, world.pipeline.name, false, false)).leaks;
  world.answerWith((text) => (text === 'probe' ? ['tenant-a/1', 'tenant-b/7'] : ['d1']));
  const [leaking] = await world.full(START);
  expect(await leaks()).toEqual([
    {
      documentId: 'tenant-b/7',
      queryId: 'p1',
      rank: 2,
      goldenSet: world.golden.set,
      runId: leaking?.id,
      since: leaking?.finishedAt,
    },
  ]);
  world.answerWith((text) => (text === 'probe' ? ['tenant-b/7', 'tenant-b/8'] : ['d1']));
  const [second] = await world.full(later);
  expect(await leaks()).toMatchObject([
    { documentId: 'tenant-b/7', rank: 1, runId: second?.id, since: leaking?.finishedAt },
    { documentId: 'tenant-b/8', rank: 2, runId: second?.id, since: second?.finishedAt },
  ]);
  world.answerWith(() => ['d1']);
  await world.sentinel(new Date(later.getTime() + 300_000));
  expect(await leaks()).toEqual([]);
  world.answerWith((text) => (text === 'probe' ? ['tenant-b/7'] : ['d1']));
  const soon = new Date(later.getTime() + 600_000);
  world.moveTo(soon);
  // No worker executes the full run that the sentinel run requests.
  const [id = ''] = await tickGoldenSet(world.deps, world.pipeline, world.golden, 'sentinel', soon);
  const sentinel = await world.runs.find(id);
  if (sentinel === null) throw new Error('There is no sentinel.');
  await runGoldenSet(world.deps, sentinel, world.pipeline, new AbortController().signal);
  expect(await leaks()).toMatchObject([{ documentId: 'tenant-b/7', rank: 1, runId: id, since: soon }]);
  // An hour without responses from the retriever changes nothing.
  world.answerWith(() => null);
  await world.full(new Date(later.getTime() + 3_600_000));
  expect(await leaks()).toMatchObject([{ documentId: 'tenant-b/7', runId: id }]);
});

it('the index status as JSON contains findings with ids and times, and withholds stale values', async () => {
  const world = new IndexWorld(database.pool);
  world.fill(100);
  world.store.hold(world.store.held.slice(1));
  await world.round();
  const context = contextOfPage(world.clock);
  const statusNow = async () =>
    indexStatusJson('docs', await readIndexPage(context, 'docs', true, false), world.clock.now());
  const fresh = await statusNow();
  expect(fresh).toMatchObject({ pipeline: 'docs', documents: 100, checked_at: world.clock.now().toISOString() });
  expect(fresh.measures[0]).toMatchObject({ measure: 'index_missing_ratio', segment: 'all', value: 0.01, n: 100 });
  expect(fresh.found.find(({ kind }) => kind === 'missing')).toEqual({
    kind: 'missing',
    count: 1,
    documents: [{ id: 'doc-0', segment: 'tenant=0', since: world.clock.now().toISOString() }],
  });
  const changedAt = world.clock.now().toISOString();
  world.lines.push({ id: 'doc-new', segment: 'tenant=0', updated_at: changedAt });
  await world.round();
  const late = async () => (await statusNow()).found.find(({ kind }) => kind === 'late');
  expect(await late()).toMatchObject({ count: 0 });
  await world.round(2 * 3_600_000);
  expect(await late()).toEqual({
    kind: 'late',
    count: 1,
    documents: [{ id: 'doc-new', segment: 'tenant=0', since: changedAt }],
  });
  world.store.hold([...world.store.held, chunkOf('doc-new')]);
  await world.round();
  expect(await late()).toMatchObject({ count: 0 });
  world.clock.set(new Date(world.clock.now().getTime() + 7 * 86_400_000));
  expect((await statusNow()).measures.every(({ value, n }) => value === null && n === 0)).toBe(true);
});

/** A pinned run with its reruns, the generations of the index after it, and what later runs are judged by. */
import { expect, it } from 'vitest';
import { createDeployments } from '../../../src/deployments/deployments.ts';
import { statisticsOfCommands } from '../../../src/golden/golden-statistics.ts';
import type { GoldenRun } from '../../../src/golden/rules/run.ts';
import { pinRun } from '../../../src/golden/runs/pin-baseline.ts';
import { compareRunsById, type GoldenStore, knowledgeOf } from '../../../src/golden/runs/stored-runs.ts';
import { createGoldenBaselines } from '../../../src/golden/sql/golden-baselines.ts';
import { createGoldenRuns } from '../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../src/golden/sql/golden-sets.ts';
import { aNewGoldenSet, anAnswer, aRunSettings, documents, goldenQueries } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { aDifference, anEnd, aRun, minutes, nine } from '../../support/golden-runs.ts';

const database = useDatabase();
const never = new AbortController().signal;
const queries = goldenQueries(40);

/** Everything of one pipeline; `run` stores a completed run that missed some queries. */
async function aWorld(pipeline: string) {
  const store: GoldenStore = {
    runs: createGoldenRuns(database.pool),
    sets: createGoldenSets(database.pool),
    baselines: createGoldenBaselines(database.pool),
    statistics: statisticsOfCommands,
  };
  await store.sets.add(aNewGoldenSet({ name: 'faq', queries }), nine);
  const deployments = createDeployments(database.pool);
  const run = async (
    minute: number,
    missed: readonly number[] = [],
    end: Parameters<typeof anEnd>[0] = {},
  ): Promise<GoldenRun> => {
    const settings = aRunSettings({ cutoffs: [10], segmentKeys: [] });
    const made = aRun({ pipeline, startedAt: minutes(minute), deadlineAt: minutes(minute + 10), settings });
    await store.runs.create(made);
    await store.runs.saveAnswers(
      made.id,
      queries.map(({ id }, n) =>
        anAnswer({ queryId: id, documents: documents(missed.includes(n) ? 'x' : `d${n + 1}`) }),
      ),
    );
    await store.runs.finish(made.id, anEnd({ finishedAt: minutes(minute + 1), ...end }));
    const stored = await store.runs.find(made.id);
    if (stored === null) throw new Error('the run is gone');
    return stored;
  };
  const rebuild = (minute: number, kind: 'index' | 'retriever' = 'index') =>
    deployments.annotate(
      { pipeline, kind, version: `at ${minute}`, note: null, occurredAt: minutes(minute) },
      'ann',
      minutes(minute),
    );
  const against = (
    baseline: GoldenRun,
    difference: number,
    verdict: 'no_change' | 'regression' = 'no_change',
    p = 0.001,
  ) => ({
    comparisons: [
      { kind: 'baseline' as const, against: baseline.id, differences: [aDifference({ difference, verdict, p })] },
    ],
  });
  return { store, run, rebuild, against };
}

const ndcgOf = (compared: Awaited<ReturnType<typeof compareRunsById>>) =>
  compared.differences.find(({ key, segment }) => key.measure === 'ndcg' && segment === 'all');

it('a fall of a retriever that answered the same in every rerun is called by one query that is enough', async () => {
  const { store, run } = await aWorld('still');
  const before = [await run(0), await run(2)];
  const pinned = await run(4);
  const report = await pinRun(store, pinned, null, null, 'somebody', minutes(6), never);
  expect(report).toMatchObject({ runs: 1 + before.length, isDeterministic: true });
  const fallen = await run(8, [7]);
  const found = ndcgOf(await compareRunsById(store, pinned.id, fallen.id, null, 'computed', never));
  expect(found).toMatchObject({ ciMethod: 'reruns', p: 0, difference: -1 / 40, verdict: 'regression' });
});

it('a retriever that moves is compared with the mean of its reruns', async () => {
  const { store, run } = await aWorld('moving');
  for (let n = 0; n < 9; n++) await run(2 * n, n % 3 === 0 ? [n] : []);
  const pinned = await run(20);
  expect(await pinRun(store, pinned, null, null, 'somebody', minutes(22), never)).toMatchObject({
    runs: 10,
    isDeterministic: false,
  });
  const same = await run(24);
  const found = ndcgOf(await compareRunsById(store, pinned.id, same.id, null, 'computed', never));
  // Three of ten runs missed one of 40 queries.
  expect(found?.baseline).toBeCloseTo(1 - 3 / 400, 12);
  expect(found).toMatchObject({ ciMethod: 'reruns', wins: 0, losses: 0, verdict: 'no_change' });
});

it('without reruns, or without a pin, the queries alone have to tell', async () => {
  const { store, run } = await aWorld('alone');
  const pinned = await run(0);
  await pinRun(store, pinned, null, [], 'somebody', minutes(2), never);
  const fallen = await run(4, [7]);
  const found = ndcgOf(await compareRunsById(store, pinned.id, fallen.id, null, 'computed', never));
  expect(found).toMatchObject({ ciMethod: 'bca', verdict: 'inconclusive' });
});

it('days are learned by the last run of each that was no clear regression, up to yesterday', async () => {
  const { store, run, against } = await aWorld('daily');
  await run(0);
  const pinned = await run(2);
  await pinRun(store, pinned, null, null, 'somebody', minutes(4), never);
  const day = 24 * 60;
  await run(10, [], against(pinned, 0.9));
  await run(20, [], against(pinned, 0.01));
  await run(day, [], against(pinned, -0.3, 'regression'));
  // Nobody looked on the third day.
  await run(3 * day, [], against(pinned, -0.02));
  await run(4 * day, [], against(pinned, 0.03));
  const baseline = await store.baselines.pinned('daily', 'faq');
  const known = baseline === null ? null : await knowledgeOf(store, baseline, pinned, minutes(4 * day + 60));
  expect(known?.accepted).toEqual({ unit: 'day', differences: { all: { 'ndcg@10': [0.01, -0.02] } } });
});

it('generations of the index are learned by the last run of each that was no clear regression', async () => {
  const { store, run, rebuild, against } = await aWorld('rebuilt');
  await run(0);
  const pinned = await run(2);
  await pinRun(store, pinned, null, null, 'somebody', minutes(4), never);
  const knownAt = async (minute: number) => {
    const baseline = await store.baselines.pinned('rebuilt', 'faq');
    return baseline === null ? null : knowledgeOf(store, baseline, pinned, minutes(minute));
  };
  await run(6, [], against(pinned, -0.5));
  await rebuild(8, 'retriever');
  // The index is that of the baseline, whatever was released around it.
  expect((await knownAt(9))?.accepted).toEqual({ unit: 'day', differences: {} });

  const levels = [0.01, -0.02, 0.03];
  const doubtful = -0.03;
  for (const [n, level] of levels.entries()) {
    await rebuild(10 * (n + 1));
    await run(10 * (n + 1) + 2, [], against(pinned, 0.9));
    await run(10 * (n + 1) + 5, [], against(pinned, level));
  }
  await rebuild(40);
  await run(42, [], against(pinned, -0.2, 'regression'));
  await rebuild(46);
  await run(47, [], against(pinned, doubtful, 'regression', 0.04));
  // Nobody looked at this one.
  await rebuild(50);
  await rebuild(60);
  await run(62, [], against(pinned, 0.05));
  // The last one is under way: it does not vouch for itself.
  const unit = 'generation';
  expect((await knownAt(70))?.accepted).toEqual({ unit, differences: { all: { 'ndcg@10': [...levels, doubtful] } } });
  await rebuild(80);
  expect((await knownAt(90))?.accepted).toEqual({
    unit,
    differences: { all: { 'ndcg@10': [...levels, doubtful, 0.05] } },
  });
});

/**
 * Tests the noise estimates against which runs are evaluated. They come from the reruns of a pinned run and from later
 * index generations.
 */

import { expect, it } from 'vitest';
import type { Context } from '../../../src/core/context.ts';
import { statisticsOfCommands } from '../../../src/golden/golden-statistics.ts';
import type { GoldenRun } from '../../../src/golden/rules/run.ts';
import { pinRun } from '../../../src/golden/runs/pin-baseline.ts';
import { compareRunsById, readBaselineStatistics } from '../../../src/golden/runs/stored-runs.ts';
import { createGoldenBaselines } from '../../../src/golden/sql/golden-baselines.ts';
import { createGoldenRuns } from '../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../src/golden/sql/golden-sets.ts';
import { createDeployments } from '../../../src/live/deployments/deployments.ts';
import {
  aFailedAnswer,
  aNewGoldenSet,
  anAnswer,
  aRunSettings,
  documents,
  goldenQueries,
} from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { aDifference, anEnd, aRun, floor, minutes, ndcg, nine } from '../../support/golden-runs.ts';

const database = useDatabase();
const never = new AbortController().signal;
const queries = goldenQueries(40);

/** The stored data of one pipeline; `run` stores a completed run that missed some queries. */
async function aWorld(pipeline: string) {
  const store: Context = contextOf({
    db: {
      golden: {
        runs: createGoldenRuns(database.pool),
        sets: createGoldenSets(database.pool),
        baselines: createGoldenBaselines(database.pool),
      },
    },
    statistics: statisticsOfCommands,
  });
  await store.db.golden.sets.add(aNewGoldenSet({ name: 'faq', queries }), nine);
  const deployments = createDeployments(database.pool);
  const run = async (
    minute: number,
    missed: readonly number[] = [],
    end: Parameters<typeof anEnd>[0] = {},
    failed: readonly number[] = [],
  ): Promise<GoldenRun> => {
    const settings = aRunSettings({ cutoffs: [10], segmentKeys: [] });
    const made = aRun({ pipeline, startedAt: minutes(minute), deadlineAt: minutes(minute + 10), settings });
    await store.db.golden.runs.create(made);
    await store.db.golden.runs.saveAnswers(
      made.id,
      queries.map(({ id }, n) =>
        failed.includes(n)
          ? aFailedAnswer({ queryId: id })
          : anAnswer({ queryId: id, documents: documents(missed.includes(n) ? 'x' : `d${n + 1}`) }),
      ),
    );
    await store.db.golden.runs.finish(made.id, anEnd({ finishedAt: minutes(minute + 1), ...end }));
    const stored = await store.db.golden.runs.find(made.id);
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

const aPin = (minute: number) => ({ note: null, reruns: null, by: 'me', now: minutes(minute) });

const ndcgOf = (compared: Awaited<ReturnType<typeof compareRunsById>>) =>
  compared.differences.find(({ key, segment }) => key.measure === 'ndcg' && segment === 'all');

it('for a retriever with identical results in every rerun, one query with a sufficient drop is a regression', async () => {
  const { store, run } = await aWorld('still');
  const before = [await run(0), await run(2)];
  const pinned = await run(4);
  const report = await pinRun(store, pinned, aPin(6), never);
  expect(report).toMatchObject({ runs: 1 + before.length, isDeterministic: true });
  const fallen = await run(8, [7]);
  const found = ndcgOf(await compareRunsById(store, pinned.id, fallen.id, null, 'computed', never));
  expect(found).toMatchObject({ ciMethod: 'reruns', p: 0, difference: -1 / 40, verdict: 'regression' });
});

it('a run of a noisy retriever is compared with the mean of the reruns', async () => {
  const { store, run } = await aWorld('moving');
  for (let n = 0; n < 9; n++) await run(2 * n, n % 3 === 0 ? [n] : []);
  const pinned = await run(20);
  expect(await pinRun(store, pinned, aPin(22), never)).toMatchObject({
    runs: 10,
    isDeterministic: false,
  });
  const same = await run(24);
  const found = ndcgOf(await compareRunsById(store, pinned.id, same.id, null, 'computed', never));
  // Three of ten runs missed one of 40 queries.
  expect(found?.baseline).toBeCloseTo(1 - 3 / 400, 12);
  expect(found).toMatchObject({ ciMethod: 'reruns', wins: 0, losses: 0, verdict: 'no_change' });
});

it('without reruns of the pinned run, the verdict depends on the queries alone', async () => {
  const { store, run } = await aWorld('alone');
  const pinned = await run(0);
  await pinRun(store, pinned, { ...aPin(2), reruns: [] }, never);
  const fallen = await run(4, [7]);
  const found = ndcgOf(await compareRunsById(store, pinned.id, fallen.id, null, 'computed', never));
  expect(found).toMatchObject({ ciMethod: 'bca', verdict: 'inconclusive' });
});

it('the variance between days is estimated from the last run of each day without a clear regression, up to yesterday', async () => {
  const { store, run, against } = await aWorld('daily');
  await run(0);
  await run(1);
  const pinned = await run(2);
  await pinRun(store, pinned, aPin(4), never);
  const day = 24 * 60;
  await run(10, [], against(pinned, 0.9));
  await run(20, [], against(pinned, 0.01));
  await run(day, [], against(pinned, -0.3, 'regression'));
  // The third day has no run.
  await run(3 * day, [], against(pinned, -0.02));
  await run(4 * day, [], against(pinned, 0.03));
  const baseline = await store.db.golden.baselines.pinned('daily', 'faq');
  const known = baseline === null ? null : await readBaselineStatistics(store, baseline, pinned, minutes(4 * day + 60));
  expect(known?.accepted).toEqual({ unit: 'day', differences: { all: { 'ndcg@10': [0.01, -0.02] } } });
});

it('the variance between index generations is estimated from the last run of each without a clear regression', async () => {
  const { store, run, rebuild, against } = await aWorld('rebuilt');
  await run(0);
  await run(1);
  const pinned = await run(2);
  await pinRun(store, pinned, aPin(4), never);
  const knownAt = async (minute: number) => {
    const baseline = await store.db.golden.baselines.pinned('rebuilt', 'faq');
    return baseline === null ? null : readBaselineStatistics(store, baseline, pinned, minutes(minute));
  };
  await run(6, [], against(pinned, -0.5));
  await rebuild(8, 'retriever');
  // A deployment of the retriever does not begin a new index generation, so the generation is still the baseline's.
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
  // This index generation has no run.
  await rebuild(50);
  await rebuild(60);
  await run(62, [], against(pinned, 0.05));
  // The accepted differences exclude those of the current generation.
  const unit = 'generation';
  expect((await knownAt(70))?.accepted).toEqual({ unit, differences: { all: { 'ndcg@10': [...levels, doubtful] } } });
  await rebuild(80);
  expect((await knownAt(90))?.accepted).toEqual({
    unit,
    differences: { all: { 'ndcg@10': [...levels, doubtful, 0.05] } },
  });
});

it('a baseline estimates its noise only from clean runs, and reports which runs it excluded and why', async () => {
  const { store, run, rebuild } = await aWorld('clean');
  const released = await run(0, [1, 2]);
  await rebuild(3, 'retriever');
  const steady = [await run(5), await run(10)];
  const outlier = await run(15, [3], { scores: [{ ...ndcg, mean: ndcg.mean - 0.1 }] });
  const failing = await run(20, [], {}, [4]);
  const checked = await run(25, [5], { checks: [{ ...floor, verdict: 'warning', isBeyond: true }] });
  const incident = await database.pool.query<{ id: string }>(
    `insert into incidents (pipeline, opened_at, closed_at, severity, evaluated_at, timeline)
     values ('clean', $1, $2, 'critical', $2, '[]') returning id`,
    [minutes(29), minutes(33)],
  );
  const troubled = await run(30, [6]);
  steady.push(await run(35));
  const pinned = await run(40);

  const report = await pinRun(store, pinned, aPin(42), never);
  expect(report).toMatchObject({ runs: steady.length + 1, isDeterministic: true, warnings: [] });
  const reasons = Object.fromEntries(report.baseline.excludedRuns.map(({ runId, reason }) => [runId, reason]));
  expect(reasons).toEqual({
    [released.id]: 'a deployment happened between this run and the pinned run',
    [outlier.id]: 'its ndcg@10 of 0.713 is far from the median of all runs (0.813)',
    [failing.id]: '1 query failed or timed out',
    [checked.id]: `it failed the check ${floor.name}`,
    [troubled.id]: `incident ${incident.rows[0]?.id} was open`,
  });
  expect((await store.db.golden.baselines.pinned('clean', 'faq'))?.excludedRuns).toEqual(report.baseline.excludedRuns);

  const fallen = await run(50, [7, 8, 9]);
  const found = ndcgOf(await compareRunsById(store, pinned.id, fallen.id, null, 'computed', never));
  expect(found).toMatchObject({ ciMethod: 'reruns', verdict: 'regression' });
});

it('the noise is unknown with fewer than three clean runs', async () => {
  const { store, run } = await aWorld('few');
  await run(0, [], {}, [1]);
  await run(5);
  const pinned = await run(10);
  expect(await pinRun(store, pinned, aPin(12), never)).toMatchObject({ runs: 1, baseline: { noise: {} } });
  expect(await store.db.golden.baselines.means(pinned.id)).toBeNull();
});

it('a run with failed queries is pinned only on request, and the report states that they count as 0', async () => {
  const { store, run } = await aWorld('failing');
  const failing = await run(0, [], {}, [1, 2]);
  await expect(pinRun(store, failing, aPin(2), never)).rejects.toMatchObject({ code: 'baseline_has_failures' });
  expect(await store.db.golden.baselines.pinned('failing', 'faq')).toBeNull();
  const report = await pinRun(store, failing, { ...aPin(2), withFailures: true }, never);
  expect(report.warnings).toEqual(['2 of 40 queries of this run failed; they count as 0.']);
});

it('requested reruns may fail the checks that the pinned run fails, because the user accepted its level', async () => {
  const { store, run } = await aWorld('accepted');
  const low = { checks: [{ ...floor, verdict: 'warning' as const, isBeyond: true }] };
  const pinned = await run(0, [1], low);
  const reruns = [await run(5, [1], low), await run(10, [1], low)];
  expect(await pinRun(store, pinned, { ...aPin(12), reruns }, never)).toMatchObject({
    runs: 3,
    isDeterministic: true,
    warnings: [`This run failed the check ${floor.name}.`],
    baseline: { excludedRuns: [] },
  });
});

it('days with an incident, failed queries or a failed check are not accepted as the usual level', async () => {
  const { store, run, against } = await aWorld('troubled');
  await run(0);
  await run(1);
  const pinned = await run(2);
  await pinRun(store, pinned, aPin(4), never);
  const day = 24 * 60;
  await run(20, [], against(pinned, 0.01));
  await database.pool.query(
    `insert into incidents (pipeline, opened_at, closed_at, severity, evaluated_at, timeline)
     values ('troubled', $1, $2, 'critical', $2, '[]')`,
    [minutes(day), minutes(day + 60)],
  );
  await run(day + 10, [], against(pinned, -0.1));
  await run(2 * day, [], against(pinned, -0.2), [3]);
  await run(3 * day, [], {
    ...against(pinned, -0.3),
    checks: [{ ...floor, verdict: 'warning', isBeyond: true }],
  });
  await run(4 * day, [], against(pinned, -0.02));
  const baseline = await store.db.golden.baselines.pinned('troubled', 'faq');
  const known = baseline === null ? null : await readBaselineStatistics(store, baseline, pinned, minutes(5 * day + 60));
  expect(known?.accepted).toEqual({ unit: 'day', differences: { all: { 'ndcg@10': [0.01, -0.02] } } });
});

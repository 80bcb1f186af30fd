import { describe, expect, it } from 'vitest';
import { backtestGoldenChecks } from '../../../src/checks/backtest.ts';
import { createGoldenRotations } from '../../../src/golden/sql/golden-rotations.ts';
import { createGoldenRuns } from '../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../src/golden/sql/golden-sets.ts';
import type { RunEnd } from '../../../src/golden/sql/run-results.ts';
import { aNewGoldenSet, aScore, goldenChecks, goldenQueries } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { aDifference, anEnd, importSet, minutes, putRun } from '../../support/golden-runs.ts';
import { waitFor } from '../../support/wait-for.ts';

const checks = goldenChecks({
  floors: [{ measure: 'ndcg@10', below: 0.8, severity: 'critical' }],
  regressions: [{ measure: 'ndcg@10', drop: 0.02, alpha: 0.05, severity: 'critical', runs: 2 }],
  staleLabels: [{ above: 0.02, severity: 'warning' }],
});

const MINUTES_BETWEEN = 60;

const database = useDatabase();
let pipelines = 0;

/** Stores runs of a separate pipeline, one hour apart, with the given outcomes. */
async function stored(ends: readonly Partial<RunEnd>[]) {
  const stores = {
    runs: createGoldenRuns(database.pool),
    sets: createGoldenSets(database.pool),
    rotations: createGoldenRotations(database.pool),
  };
  await importSet(stores, 'faq');
  const pipeline = `docs ${(pipelines += 1)}`;
  const run = async (hour: number, end: Partial<RunEnd>, goldenSetVersion = 1): Promise<string> => {
    const startedAt = minutes(hour * MINUTES_BETWEEN);
    const finishedAt = minutes(hour * MINUTES_BETWEEN + 1);
    return (await putRun(stores, { pipeline, startedAt, goldenSetVersion }, { end: anEnd({ finishedAt, ...end }) })).id;
  };
  const ids: string[] = [];
  for (const [hour, end] of ends.entries()) ids.push(await run(hour, end));
  return { stores, pipeline, run, ids };
}

const good = [aScore({ mean: 0.85, ciLow: 0.8, ciHigh: 0.9 })];
const bad = [aScore({ mean: 0.6, ciLow: 0.5, ciHigh: 0.7 })];
const fell = [
  {
    kind: 'baseline' as const,
    against: 'run-0',
    differences: [aDifference({ difference: -0.25, ciLow: -0.3, ciHigh: -0.2, p: 0.001 })],
  },
];

function backtest(
  { stores, pipeline }: Awaited<ReturnType<typeof stored>>,
  fromHour: number,
  untilHour: number,
  signal: AbortSignal = new AbortController().signal,
) {
  const set = {
    pipeline,
    goldenSet: 'faq',
    checks,
    from: minutes(fromHour * MINUTES_BETWEEN),
    period: { until: minutes(untilHour * MINUTES_BETWEEN), trustedSeconds: 3 * 3600 },
  };
  return backtestGoldenChecks(database.pool, stores.rotations, set, signal);
}

describe('the backtest of golden checks', () => {
  it('counts a score that drops every other night as one regression, which two good runs end', async () => {
    const steady = [
      { ...fell[0], differences: [aDifference({ difference: 0, ciLow: 0, ciHigh: 0, p: 1 })] },
    ] as typeof fell;
    const nights = [fell, fell, steady, fell, steady, fell, steady, steady, steady];
    const runs = await stored(nights.map((comparisons) => ({ scores: good, comparisons })));
    const regression = (await backtest(runs, 0, nights.length)).find(({ name }) => name.includes('regression'));
    expect(regression?.firings).toMatchObject([{ verdict: 'critical', episodes: 1, totalSeconds: 6 * 3600 }]);
  });

  it('evaluates stored scores with the current thresholds', async () => {
    const runs = await stored([{ scores: good }, { scores: bad }, { scores: bad }, { scores: good }]);
    const [floor] = await backtest(runs, 0, 4);
    expect(floor).toMatchObject({
      name: 'ndcg@10 below 0.8 on faq',
      evaluations: 4,
      firings: [
        {
          verdict: 'critical',
          episodes: 1,
          totalSeconds: 7200,
          example: expect.stringMatching(/^nDCG@10 is 0\.6 .*even the upper bound is below 0\.8\.$/) as string,
        },
      ],
    });
  });

  it('confirms a regression with earlier runs, including those before the period', async () => {
    const runs = await stored([{ scores: good }, { comparisons: fell }, { comparisons: fell }, { comparisons: fell }]);
    const regression = (found: Awaited<ReturnType<typeof backtest>>) =>
      found.find(({ name }) => name === 'ndcg@10 regression by 0.02 on faq');
    expect(regression(await backtest(runs, 0, 4))?.firings).toMatchObject([
      { verdict: 'critical', firstAt: minutes(121) },
      { verdict: 'no_data', example: `The run ${runs.ids[0]} was not compared with a baseline.` },
    ]);
    expect(regression(await backtest(runs, 2, 4))).toMatchObject({
      evaluations: 2,
      firings: [{ verdict: 'critical', firstAt: minutes(121) }],
    });
  });

  it('has no data for void and failed runs, as in the daemon', async () => {
    const runs = await stored([
      { scores: good },
      { status: 'void', reason: 'Half of the queries failed.', scores: [] },
      { status: 'failed', reason: 'The deadline passed.', scores: [] },
      { status: 'cancelled', reason: null, scores: [] },
    ]);
    const [floor] = await backtest(runs, 0, 4);
    expect(floor).toMatchObject({
      evaluations: 3,
      transitions: 1,
      firings: [{ verdict: 'no_data', episodes: 1 }],
    });
  });

  it('uses the stored shares of stale labels', async () => {
    const probed = {
      kind: 'probed',
      probed: 100,
      deleted: 0,
      lost: 0,
      labels: [],
      touched: new Set<string>(),
      dead: new Set<string>(),
    } as const;
    const runs = await stored([{ labels: { ...probed, stale: 1 } }, { labels: { ...probed, stale: 5 } }]);
    const found = (await backtest(runs, 0, 2)).find(({ name }) => name.startsWith('stale labels'));
    expect(found).toMatchObject({ evaluations: 2, firings: [{ verdict: 'warning', firstAt: minutes(61) }] });
  });

  it('pages through a long history', async () => {
    const runs = await stored(Array.from({ length: 620 }, (_, at) => ({ scores: at < 10 ? bad : good })));
    const [floor] = await backtest(runs, 0, 620);
    expect(floor).toMatchObject({
      evaluations: 620,
      firings: [{ verdict: 'critical', totalSeconds: 36_000 }],
    });
    const [late] = await backtest(runs, 610, 620);
    expect(late).toMatchObject({ evaluations: 10, firings: [] });
  });

  it('excludes a new version of the golden set while it runs in parallel with the old one', async () => {
    const world = await stored([{ scores: good }, { scores: good }]);
    const { stores, pipeline, run } = world;
    await stores.sets.add(aNewGoldenSet({ contentHash: 'hash-2', queries: goldenQueries(2) }), minutes(30));
    await run(1, { scores: bad }, 2);
    await run(2, { scores: bad }, 2);
    const { id } = await stores.rotations.begin({
      pipeline,
      goldenSet: 'faq',
      fromVersion: 1,
      toVersion: 2,
      runsNeeded: 1,
      startedAt: minutes(30),
    });
    await stores.rotations.complete(id, minutes(90), {}, {}, null);
    const [floor] = await backtest(world, 0, 3);
    expect(floor).toMatchObject({
      evaluations: 3,
      firings: [{ verdict: 'critical', firstAt: minutes(121) }],
    });
  });

  it('stops when it is aborted, and releases its connection', async () => {
    const runs = await stored([{ scores: good }]);
    const stopping = new AbortController();
    const locked = await database.pool.connect();
    await locked.query('begin; lock table golden_runs');
    const replay = backtest(runs, 0, 1, stopping.signal);
    await waitFor(async () => {
      const { rowCount } = await locked.query(
        `select from pg_locks where not granted and relation = 'golden_runs'::regclass`,
      );
      return rowCount === 1;
    });
    stopping.abort(new Error('Stopped by SIGTERM.'));
    await expect(replay).rejects.toThrow('Stopped by SIGTERM.');
    await locked.query('rollback');
    locked.release();
    expect(await backtest(runs, 0, 1)).not.toEqual([]);
  });

  it('is empty if there are no runs', async () => {
    expect(await backtest(await stored([]), 0, 10)).toEqual([]);
  });
});

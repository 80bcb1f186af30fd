import { describe, expect, it } from 'vitest';
import { backtestGoldenChecks } from '../../../src/checks/backtest.ts';
import type { GoldenChecks } from '../../../src/checks/rules/golden-checks.ts';
import type { RunEnd } from '../../../src/golden/sql/run-results.ts';
import { aScore } from '../../support/builders.ts';
import { aDifference, anEnd, aRun, importSet, minutes } from '../../support/golden-runs.ts';
import { MemoryGoldenRotations } from '../../support/memory-golden-rotations.ts';
import { MemoryGoldenRuns } from '../../support/memory-golden-runs.ts';
import { MemoryGoldenSets } from '../../support/memory-golden-sets.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

const checks: GoldenChecks = {
  floors: [{ measure: 'ndcg@10', below: 0.8, severity: 'critical' }],
  regressions: [{ measure: 'ndcg@10', drop: 0.02, alpha: 0.05, severity: 'critical', runs: 2 }],
  staleLabels: [{ above: 0.02, severity: 'warning' }],
  forbidden: [],
};

const MINUTES_BETWEEN = 60;

/** Runs an hour apart, each with its end. */
async function stored(ends: readonly Partial<RunEnd>[]): Promise<MemoryGoldenRuns> {
  const sets = new MemoryGoldenSets();
  const runs = new MemoryGoldenRuns(new SteerableClock(), sets);
  await importSet({ runs, sets }, 'faq');
  for (const [index, end] of ends.entries()) {
    const startedAt = minutes(index * MINUTES_BETWEEN);
    const run = aRun({ id: `run-${index}`, startedAt });
    await runs.create(run);
    await runs.hold(run.id, 'me', 60);
    await runs.finish(run.id, anEnd({ finishedAt: minutes(index * MINUTES_BETWEEN + 1), ...end }));
  }
  return runs;
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
  runs: MemoryGoldenRuns,
  fromHour: number,
  untilHour: number,
  rotations = new MemoryGoldenRotations(),
) {
  return backtestGoldenChecks(
    { runs, rotations },
    {
      pipeline: 'docs',
      goldenSet: 'faq',
      checks,
      from: minutes(fromHour * MINUTES_BETWEEN),
      period: { until: minutes(untilHour * MINUTES_BETWEEN), trustedSeconds: 3 * 3600 },
    },
  );
}

describe('the backtest of golden checks', () => {
  it('replays an index that falls on every other night as one regression, which two good runs end', async () => {
    const stands = [
      { ...fell[0], differences: [aDifference({ difference: 0, ciLow: 0, ciHigh: 0, p: 1 })] },
    ] as typeof fell;
    const nights = [fell, fell, stands, fell, stands, fell, stands, stands, stands];
    const runs = await stored(nights.map((comparisons) => ({ scores: good, comparisons })));
    const regression = (await backtest(runs, 0, nights.length)).find(({ name }) => name.includes('regression'));
    expect(regression?.firings).toMatchObject([{ verdict: 'critical', episodes: 1, totalSeconds: 6 * 3600 }]);
  });

  it('judges stored scores by the floors of today', async () => {
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
          example: expect.stringMatching(/^ndcg@10 is 0\.6000 .*even the upper bound is below 0\.8000\.$/) as string,
        },
      ],
    });
  });

  it('confirms a regression by the runs before, also those before the period', async () => {
    const runs = await stored([{ scores: good }, { comparisons: fell }, { comparisons: fell }, { comparisons: fell }]);
    const regression = (found: Awaited<ReturnType<typeof backtest>>) =>
      found.find(({ name }) => name === 'ndcg@10 regression by 0.02 on faq');
    expect(regression(await backtest(runs, 0, 4))?.firings).toMatchObject([
      { verdict: 'critical', firstAt: minutes(121) },
      { verdict: 'no_data', example: 'The run run-0 was compared with no baseline.' },
    ]);
    expect(regression(await backtest(runs, 2, 4))).toMatchObject({
      evaluations: 2,
      firings: [{ verdict: 'critical', firstAt: minutes(121) }],
    });
  });

  it('says of void and failed runs what the daemon said: that nobody knows', async () => {
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

  it('reads the labels as they were found', async () => {
    const probed = {
      kind: 'probed',
      probed: 100,
      labels: [],
      touched: new Set<string>(),
      dead: new Set<string>(),
    } as const;
    const runs = await stored([{ labels: { ...probed, stale: 1 } }, { labels: { ...probed, stale: 5 } }]);
    const found = (await backtest(runs, 0, 2)).find(({ name }) => name.startsWith('stale labels'));
    expect(found).toMatchObject({ evaluations: 2, firings: [{ verdict: 'warning', firstAt: minutes(61) }] });
  });

  it('pages through a long history', async () => {
    const runs = await stored(Array.from({ length: 450 }, (_, at) => ({ scores: at < 10 ? bad : good })));
    const [floor] = await backtest(runs, 0, 450);
    expect(floor).toMatchObject({
      evaluations: 450,
      firings: [{ verdict: 'critical', totalSeconds: 36_000 }],
    });
    const [late] = await backtest(runs, 440, 450);
    expect(late).toMatchObject({ evaluations: 10, firings: [] });
  });

  it('leaves out a new version of the set while it runs beside the old one', async () => {
    const sets = new MemoryGoldenSets();
    const runs = new MemoryGoldenRuns(new SteerableClock(), sets);
    await importSet({ runs, sets }, 'faq');
    for (const [hour, version, scores] of [
      [0, 1, good],
      [1, 1, good],
      [1, 2, bad],
      [2, 2, bad],
    ] as const) {
      const startedAt = minutes(hour * MINUTES_BETWEEN);
      const run = aRun({ id: `v${version}-${hour}`, startedAt, goldenSetVersion: version });
      await runs.create(run);
      await runs.hold(run.id, 'me', 60);
      await runs.finish(run.id, anEnd({ finishedAt: minutes(hour * MINUTES_BETWEEN + 1), scores }));
    }
    const rotations = new MemoryGoldenRotations();
    const names = { pipeline: 'docs', goldenSet: 'faq' };
    const { id } = await rotations.begin({
      ...names,
      fromVersion: 1,
      toVersion: 2,
      runsNeeded: 1,
      startedAt: minutes(30),
    });
    await rotations.complete(id, { endedAt: minutes(90), levels: {}, shifts: {}, judged: null });
    const [floor] = await backtest(runs, 0, 3, rotations);
    expect(floor).toMatchObject({
      evaluations: 3,
      firings: [{ verdict: 'critical', firstAt: minutes(121) }],
    });
  });

  it('finds nothing where nothing ran', async () => {
    expect(await backtest(await stored([]), 0, 10)).toEqual([]);
  });
});

import { describe, expect, it } from 'vitest';
import type { ThresholdCheck } from '../../../src/core/checks/threshold.ts';
import { evaluateChecks } from '../../../src/pipeline/checks/evaluate-checks.ts';
import { measureRetrievers } from '../../../src/pipeline/probes/measure-retrievers.ts';
import { readCheckGauges } from '../../../src/pipeline/publish/publish-checks.ts';
import { aGoldenRun, aWatchedPipeline, NOON } from '../../support/builders.ts';
import { aGap, aMeasurement } from '../../support/measurements.ts';
import { MemoryCheckHistory } from '../../support/memory-check-history.ts';
import { MemoryGoldenRuns } from '../../support/memory-golden-runs.ts';
import { MemoryMeasurements } from '../../support/memory-measurements.ts';
import { MemoryLogger } from '../../support/memory-telemetry.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

const errors: ThresholdCheck = {
  measure: 'error_ratio',
  threshold: 0.05,
  severity: 'critical',
  segments: 'all',
  leastN: 100,
  confirm: 3,
  noData: 'silent',
};

function aWorld(thresholds: readonly ThresholdCheck[] = [errors]) {
  const clock = new SteerableClock();
  const pipelines = [aWatchedPipeline({ thresholds })];
  const [history, measurements, logger] = [
    new MemoryCheckHistory(),
    new MemoryMeasurements(),
    new MemoryLogger(),
  ];
  const runs = new MemoryGoldenRuns(clock);
  const deps = {
    pipelines,
    densityPlans: [],
    densityStates: { all: async () => new Map() },
    runs,
    measurements,
    history,
    clock,
    logger,
    intervalSeconds: () => 3600,
    liveIntervalSeconds: 300,
  };
  /** The gauges of the check, those that are not 0. */
  const shown = async () =>
    (await readCheckGauges(deps))
      .filter(({ name, value }) => name === 'recalld_check_state' && value === 1)
      .map(({ labels }) => labels['state']);
  const measure = async (value: number) =>
    measurements.record([
      aMeasurement({
        measure: 'error_ratio',
        value,
        ciLow: value * 0.8,
        ciHigh: value * 1.2,
        n: 1000,
        windowStart: new Date(clock.now().getTime() - 86_400_000),
        windowEnd: clock.now(),
        measuredAt: clock.now(),
      }),
    ]);
  return { clock, deps, history, measurements, logger, runs, shown, measure };
}

describe('the checks of live traffic', () => {
  it('confirm a breach over measurements, keep its history, and tell of it once', async () => {
    const { clock, deps, history, logger, shown, measure } = aWorld();
    for (const value of [0.01, 0.2, 0.2, 0.2]) {
      await measure(value);
      // Looked at each minute, measured every five.
      for (let look = 0; look < 5; look++) {
        await evaluateChecks(deps);
        await clock.advance(60_000);
      }
    }
    expect(await shown()).toEqual(['critical']);
    const transitions = await history.transitions({ limit: 10 });
    expect(transitions.map(({ from, to }) => [from, to])).toEqual([
      ['ok', 'critical'],
      [null, 'ok'],
    ]);
    expect(transitions[0]?.explanation).toContain('even the lower bound is above 0.0500');
    expect(logger.lines.filter(({ message }) => message === 'a check has changed')).toHaveLength(2);
  });

  it('are quiet without traffic, and not known when nothing is measured any more', async () => {
    const { clock, deps, measurements, history, shown, measure } = aWorld();
    await measure(0.01);
    await evaluateChecks(deps);
    await clock.advance(3600_000);
    await evaluateChecks(deps);
    expect(await shown()).toEqual(['no_data']);
    expect(await history.standings()).toMatchObject([{ isQuiet: false }]);

    const gap = { measure: 'error_ratio', reason: 'no_queries', measuredAt: clock.now() };
    await measurements.record([aGap({ ...gap, windowStart: NOON, windowEnd: clock.now() })]);
    await evaluateChecks(deps);
    expect(await history.standings()).toMatchObject([{ verdict: 'no_data', isQuiet: true }]);
  });

  it('are not known when nobody judges them any more', async () => {
    const { clock, deps, shown, measure } = aWorld();
    expect(await shown()).toEqual(['no_data']);
    await measure(0.01);
    await evaluateChecks(deps);
    expect(await shown()).toEqual(['ok']);
    await clock.advance(901_000);
    expect(await shown()).toEqual(['no_data']);
  });
});

describe('the checks of a retriever', () => {
  it('are judged on what its golden runs met, each run once', async () => {
    const check: ThresholdCheck = { ...errors, measure: 'retriever_error_ratio', leastN: 2, confirm: 1 };
    const { deps, runs, measurements, history } = aWorld([check]);
    const run = aGoldenRun({ id: 'run-1', status: 'completed', startedAt: NOON, finishedAt: NOON });
    const base = { results: [], latencyMs: 20, error: null, attempts: 1 };
    runs.put(run, [
      { ...base, queryId: 'a', outcome: 'timeout' },
      { ...base, queryId: 'b', outcome: 'error' },
      { ...base, queryId: 'c', outcome: 'ok' },
    ] as never);
    await measureRetrievers(deps);
    await measureRetrievers(deps);
    await evaluateChecks(deps);
    const series = { pipeline: 'docs', measure: 'retriever_error_ratio', segment: 'golden_set=faq' };
    expect(await measurements.series(series, NOON, new Date(NOON.getTime() + 1000))).toMatchObject([
      { value: 2 / 3, n: 3 },
    ]);
    expect(await history.standings()).toMatchObject([{ verdict: 'critical', segment: 'golden_set=faq' }]);
  });
});

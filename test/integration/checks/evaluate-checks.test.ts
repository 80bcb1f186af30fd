import { beforeEach, describe, expect, it } from 'vitest';
import { createCheckStore, readCheckGauges } from '../../../src/checks/check-store.ts';
import { evaluateChecks } from '../../../src/checks/evaluate-checks.ts';
import type { ThresholdCheck } from '../../../src/checks/rules/threshold.ts';
import type { QueryAnswer } from '../../../src/golden/rules/run.ts';
import { createGoldenBaselines } from '../../../src/golden/sql/golden-baselines.ts';
import { createGoldenRuns } from '../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../src/golden/sql/golden-sets.ts';
import { createMeasurements } from '../../../src/measures/measurements.ts';
import { aFailedAnswer, anAnswer, aWatchedPipeline, documents, NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { anEnd, putRun } from '../../support/golden-runs.ts';
import { aGap, aMeasurement } from '../../support/measurements.ts';
import { MemoryLogger } from '../../support/memory-telemetry.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

const errors: ThresholdCheck = {
  measure: 'error_ratio',
  threshold: 0.05,
  severity: 'critical',
  segments: 'all',
  minN: 100,
  confirm: 3,
  noData: 'silent',
};

const database = useDatabase();
beforeEach(async () => {
  await database.pool.query(
    'truncate check_states, check_transitions, measurements, latest_measurements, measurement_gaps, golden_runs cascade',
  );
});

function aWorld(thresholds: readonly ThresholdCheck[] = [errors]) {
  const clock = new SteerableClock();
  const pipelines = [aWatchedPipeline({ thresholds })];
  const checkStore = createCheckStore(database.pool);
  const [measurements, logger] = [createMeasurements(database.pool), new MemoryLogger()];
  const [runs, sets] = [createGoldenRuns(database.pool), createGoldenSets(database.pool)];
  const deps = contextOf({
    pipelines,
    densityPlans: [],
    db: {
      density: { watch: { all: async () => new Map() } },
      golden: { runs, sets, baselines: createGoldenBaselines(database.pool), rotations: { list: async () => [] } },
      measurements,
      checks: checkStore,
    },
    clock,
    logger,
    intervalSeconds: () => 3600,
    liveIntervalSeconds: 300,
  });
  /** Returns the states whose gauge for the check is 1. */
  const shown = async () =>
    (await readCheckGauges(deps))(clock.now())
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
  return { clock, deps, checkStore, measurements, logger, runs, shown, measure };
}

describe('the checks of live traffic', () => {
  it('confirm a breach over several measurements, keep its history, and report it once', async () => {
    const { clock, deps, checkStore, logger, shown, measure } = aWorld();
    for (const value of [0.01, 0.2, 0.2, 0.2]) {
      await measure(value);
      // The check is evaluated every minute, and the measurement is taken every five minutes.
      for (let round = 0; round < 5; round++) {
        await evaluateChecks(deps);
        await clock.advance(60_000);
      }
    }
    expect(await shown()).toEqual(['critical']);
    const transitions = await checkStore.transitions({ limit: 10 });
    expect(transitions.map(({ from, to }) => [from, to])).toEqual([
      ['ok', 'critical'],
      [null, 'ok'],
    ]);
    expect(transitions[0]?.explanation).toContain('even the lower bound is above 5 %');
    expect(logger.lines.filter(({ message }) => message === 'a check changed its verdict')).toHaveLength(2);
  });

  it('have no data when measurements stop, and are marked as quiet only if there is no traffic', async () => {
    const { clock, deps, measurements, checkStore, shown, measure } = aWorld();
    await measure(0.01);
    await evaluateChecks(deps);
    await clock.advance(3600_000);
    await evaluateChecks(deps);
    expect(await shown()).toEqual(['no_data']);
    expect(await checkStore.statuses()).toMatchObject([{ isQuiet: false }]);

    const gap = { measure: 'error_ratio', reason: 'no_queries', measuredAt: clock.now() };
    await measurements.record([aGap({ ...gap, windowStart: NOON, windowEnd: clock.now() })]);
    await evaluateChecks(deps);
    expect(await checkStore.statuses()).toMatchObject([{ verdict: 'no_data', isQuiet: true }]);
  });

  it('keep their name, history and start time through a change of the threshold', async () => {
    const named = { ...errors, name: 'errors', segments: 'each' } as const;
    const { clock, deps, checkStore, measure } = aWorld([named]);
    const evaluate = async (check: ThresholdCheck, value: number) => {
      await measure(value);
      await evaluateChecks(contextOf(deps, { pipelines: [aWatchedPipeline({ thresholds: [check] })] }));
      await clock.advance(300_000);
    };
    await evaluate(named, 0.01);
    const brokeAt = clock.now();
    for (let round = 0; round < 3; round++) await evaluate(named, 0.2);
    const [before] = await checkStore.statuses();
    await evaluate({ ...named, threshold: 0.08 }, 0.2);
    const after = await checkStore.statuses();
    expect(after).toMatchObject([
      {
        name: 'errors',
        verdict: 'critical',
        threshold: 0.08,
        before: 0.01,
        breachedSince: brokeAt,
        since: before?.since,
      },
    ]);
    expect(after).toHaveLength(1);
  });

  it('start over if a name is reused for another measure', async () => {
    const { deps, checkStore, measure } = aWorld([{ ...errors, name: 'service' }]);
    await measure(0.01);
    await evaluateChecks(deps);
    const other: ThresholdCheck = { ...errors, name: 'service', measure: 'zero_results_ratio' };
    await evaluateChecks(contextOf(deps, { pipelines: [aWatchedPipeline({ thresholds: [other] })] }));
    expect(await checkStore.statuses()).toMatchObject([{ measure: 'zero_results_ratio', before: null, value: null }]);
  });

  it('that fail with the retriever belong to its outage, until a measurement window lies entirely after it', async () => {
    const { clock, deps, checkStore, measurements } = aWorld([{ ...errors, confirm: 1 }]);
    const evaluateHour = async (failed: number, value: number) => {
      await clock.advance(3600_000);
      const now = clock.now();
      const answers = Array.from({ length: 100 }, (_, n) =>
        n < failed ? aFailedAnswer({ queryId: `q${n}` }) : anAnswer({ queryId: `q${n}` }),
      );
      await putRun(deps.db.golden, { startedAt: now }, { answers, end: anEnd({ finishedAt: now, checks: [] }) });
      const window = { windowStart: new Date(now.getTime() - 5_400_000), windowEnd: now, measuredAt: now };
      const bounds = { value, ciLow: value * 0.8, ciHigh: value * 1.2, n: 1000 };
      await measurements.record([aMeasurement({ measure: 'error_ratio', ...bounds, ...window })]);
      await evaluateChecks(deps);
      const [status] = await checkStore.statuses();
      return status?.outageUntil !== null;
    };
    const isOfOutage: boolean[] = [];
    for (const [failed, value] of [
      [0, 0.01],
      [90, 0.5],
      [0, 0.3],
      [0, 0.3],
      [90, 0.5],
    ] as const)
      isOfOutage.push(await evaluateHour(failed, value));
    expect(isOfOutage).toEqual([false, true, true, false, false]);
  });

  it('have no data once workers stop evaluating them', async () => {
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
  it('are evaluated on the calls of its golden runs, each run once', async () => {
    const check: ThresholdCheck = { ...errors, measure: 'retriever_error_ratio', minN: 2, confirm: 1 };
    const { deps, measurements, checkStore } = aWorld([check]);
    const answers = [
      aFailedAnswer({ queryId: 'a', outcome: 'timeout' }),
      aFailedAnswer({ queryId: 'b' }),
      anAnswer({ queryId: 'c' }),
    ];
    await putRun(deps.db.golden, { startedAt: NOON }, { answers, end: anEnd({ finishedAt: NOON }) });
    await evaluateChecks(deps);
    await evaluateChecks(deps);
    const series = { pipeline: 'docs', measure: 'retriever_error_ratio', segment: 'golden_set=faq' };
    expect(await measurements.series(series, NOON, new Date(NOON.getTime() + 1000))).toMatchObject([
      { value: 2 / 3, n: 3 },
    ]);
    expect(await checkStore.statuses()).toMatchObject([{ verdict: 'critical', segment: 'golden_set=faq' }]);
  });
});

describe('the stability of results', () => {
  it('is the similarity to the pinned run, counts a failed query as 0, and needs no judgments', async () => {
    const check: ThresholdCheck = { ...errors, measure: 'rbo', threshold: 0.8, minN: 2, confirm: 1 };
    const { clock, deps, measurements, checkStore } = aWorld([check]);
    const ran = (minutes: number, answers: readonly QueryAnswer[]) => {
      const at = new Date(NOON.getTime() + minutes * 60_000);
      return putRun(deps.db.golden, { startedAt: at }, { answers, end: anEnd({ finishedAt: at }) });
    };
    const answer = (queryId: string, ids: string) => anAnswer({ queryId, documents: documents(...ids.split('')) });
    const right = [answer('q1', 'abc'), answer('q2', 'def')];
    const pinned = await ran(0, [...right, aFailedAnswer({ queryId: 'q3', outcome: 'timeout' })]);
    await ran(1, [...right, answer('q3', 'x')]);
    await ran(2, [answer('q1', 'abc'), aFailedAnswer({ queryId: 'q2' })]);
    await deps.db.golden.baselines.pin(
      { pipeline: 'docs', goldenSet: 'faq', runId: pinned.id, note: null, noise: {}, pinnedAt: NOON },
      'somebody',
    );
    await clock.advance(180_000);
    await evaluateChecks(deps);
    const series = { pipeline: 'docs', measure: 'rbo', segment: 'golden_set=faq' };
    expect(await measurements.series(series, NOON, new Date(NOON.getTime() + 200_000))).toMatchObject([
      { value: 1, n: 2, details: { k: 10, against: pinned.id } },
      {
        value: 0.5,
        n: 2,
        details: {
          least: [
            { query: 'q2', overlap: 0 },
            { query: 'q1', overlap: 1 },
          ],
        },
      },
    ]);
    await evaluateChecks(deps);
    expect(await checkStore.statuses()).toMatchObject([
      { segment: 'golden_set=faq', verdict: expect.not.stringMatching('ok') },
    ]);
  });
});

describe('two workers that evaluate the same checks at the same time', () => {
  it('reach the verdict of the latest evidence whichever writes first, and report it once', async () => {
    const { clock, deps, checkStore, measurements, logger, measure } = aWorld([{ ...errors, confirm: 1 }]);
    await measure(0.01);
    await evaluateChecks(deps);
    await clock.advance(300_000);
    let isFirst = true;
    const slow = {
      ...checkStore,
      // This evaluation has already read the measurements. Before it writes, another evaluation processes the next
      // value.
      async advance(steps: Parameters<typeof checkStore.advance>[0]) {
        if (isFirst) {
          isFirst = false;
          await measure(0.2);
          await evaluateChecks(deps);
        }
        return checkStore.advance(steps);
      },
    };
    await evaluateChecks(contextOf(deps, { db: { checks: slow } }));
    expect(await checkStore.statuses()).toMatchObject([{ verdict: 'critical', revision: 3 }]);
    expect(await checkStore.transitions({ limit: 10 })).toHaveLength(2);
    expect(logger.lines.filter(({ message }) => message === 'a check changed its verdict')).toHaveLength(2);
    expect(await measurements.latest(clock.now())).toHaveLength(1);
  });

  it('use a new measurement immediately, even if a worker that has not seen it writes first', async () => {
    const { clock, deps, checkStore, measurements, measure } = aWorld([{ ...errors, confirm: 1 }]);
    await measure(0.01);
    await evaluateChecks(deps);
    await clock.advance(300_000);
    let isFirst = true;
    const overtaken = {
      ...checkStore,
      // Another evaluation with fewer measurements writes before this one.
      async advance(steps: Parameters<typeof checkStore.advance>[0]) {
        if (isFirst) {
          isFirst = false;
          const earlier = contextOf(deps, { db: { measurements: { ...measurements, latest: async () => [] } } });
          await evaluateChecks(earlier);
        }
        return checkStore.advance(steps);
      },
    };
    await measure(0.2);
    await evaluateChecks(contextOf(deps, { db: { checks: overtaken } }));
    expect(await checkStore.statuses()).toMatchObject([{ verdict: 'critical' }]);
  });
});

describe('the checks of one pipeline', () => {
  it('are evaluated alone if only this pipeline has new data', async () => {
    const { deps, checkStore, measure } = aWorld();
    await measure(0.01);
    const pipelines = [...deps.pipelines, aWatchedPipeline({ name: 'wiki', thresholds: [errors] })];
    await evaluateChecks(contextOf(deps, { pipelines }), ['docs']);
    expect((await checkStore.statuses()).map(({ pipeline }) => pipeline)).toEqual(['docs']);
    await evaluateChecks(contextOf(deps, { pipelines }));
    expect((await checkStore.statuses()).map(({ pipeline }) => pipeline)).toEqual(['docs', 'wiki']);
  });
});

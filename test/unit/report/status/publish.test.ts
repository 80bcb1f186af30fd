import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCheckGauges } from '../../../../src/checks/check-store.ts';
import type { CheckResult } from '../../../../src/checks/rules/threshold.ts';
import type { LatestRun } from '../../../../src/golden/sql/latest-runs.ts';
import type { WatchedPipeline } from '../../../../src/golden/watched-pipeline.ts';
import { metricCatalogue } from '../../../../src/platform/metrics/catalogue.ts';
import type { MetricDefinition } from '../../../../src/platform/metrics/definition.ts';
import type { GaugeSample } from '../../../../src/platform/metrics/meter.ts';
import { readStoredGauges } from '../../../../src/report/status/publish.ts';
import {
  aCompletedRun,
  aFloor,
  aLatestRun,
  aSchedule,
  aScore,
  aWatchedPipeline,
  goldenChecks,
  NOON,
} from '../../../support/builders.ts';
import { evaluated } from '../../../support/check-states.ts';
import { type ContextParts, contextOf } from '../../../support/context.ts';
import { MemoryJobQueue } from '../../../support/memory-job-queue.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';
import { samplesOf } from '../../../support/stored-gauges.ts';

const HOUR = 3600;

/**
 * Reads gauges at noon, and returns them as published `secondsAfterNoon` seconds later. By default, the gauges belong
 * to the pipeline `docs` with the hourly set `faq`.
 */
async function gaugesAt(
  secondsAfterNoon: number,
  latest: readonly LatestRun[],
  { pipelines = [aWatchedPipeline({ checks: goldenChecks({ floors: [aFloor()] }) })], ...parts }: ContextParts = {},
  subjects: Parameters<typeof readStoredGauges>[1] = [],
): Promise<GaugeSample[]> {
  const clock = new SteerableClock(NOON);
  // The checks were last evaluated at noon.
  const checkStore = evaluated({ pipelines: pipelines as readonly WatchedPipeline[] }, { latest }, NOON);
  const context = contextOf(
    {
      db: {
        golden: { runs: { latest: async () => latest } },
        measurements: { latest: async () => [] },
        checks: checkStore,
      },
      queue: new MemoryJobQueue(),
      clock,
      densityPlans: [],
      intervalSeconds: () => HOUR,
    },
    parts,
    { pipelines },
  );
  const gauges = await readStoredGauges(context, [readCheckGauges, ...subjects]);
  return samplesOf(gauges(new Date(NOON.getTime() + secondsAfterNoon * 1000)));
}

function valuesOf(
  samples: readonly GaugeSample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number[] {
  return samples
    .filter(
      (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    )
    .map(({ value }) => value);
}

function stateOf(samples: readonly GaugeSample[], check = 'ndcg@10 below 0.8 on faq'): string[] {
  return samples
    .filter(({ name, labels, value }) => name === 'recalld_check_state' && labels['check'] === check && value === 1)
    .map(({ labels }) => labels['state'] ?? '');
}

function aCheck(parts: Partial<CheckResult> = {}): CheckResult {
  return {
    name: 'ndcg@10 below 0.8 on faq',
    severity: 'critical',
    verdict: 'ok',
    value: 0.9,
    ciLow: null,
    ciHigh: null,
    n: null,
    isBeyond: false,
    threshold: 0.8,
    explanation: 'Fine.',
    ...parts,
  };
}

/** A run that ended at noon, and whose check has this verdict. */
function aJudgedRun(verdict: CheckResult['verdict'], parts: Partial<LatestRun> = {}): LatestRun {
  const outcomes = { ok: 40, empty: 0, error: 0, timeout: 0 };
  return aLatestRun({
    ended: {
      durationSeconds: 60,
      failure: null,
      failedBecause: null,
      forbidden: null,
      outcomes,
      checks: [aCheck({ verdict })],
      finishedAt: NOON,
    },
    ...parts,
  });
}

describe('golden scores in /metrics', () => {
  it('have mean, 95 % CI and number of queries by segment and cutoff', async () => {
    const scores = [aScore({ n: 40 }), aScore({ segment: 'lang=en', k: 5, mean: 0.5, n: 7 })];
    const samples = await gaugesAt(60, [aLatestRun({ completed: aCompletedRun({ scores, segmentsOverflow: 3 }) })]);
    const labels = { pipeline: 'docs', golden_set: 'faq', segment: 'all', k: '10' };
    expect(valuesOf(samples, 'recalld_golden_ndcg', labels)).toEqual([0.9]);
    expect(valuesOf(samples, 'recalld_golden_ndcg_ci_low', labels)).toEqual([0.85]);
    expect(valuesOf(samples, 'recalld_golden_ndcg_ci_high', labels)).toEqual([0.95]);
    expect(valuesOf(samples, 'recalld_golden_ndcg', { segment: 'lang=en', k: '5' })).toEqual([0.5]);
    expect(valuesOf(samples, 'recalld_golden_scored_queries', { segment: 'all' })).toEqual([40]);
    expect(valuesOf(samples, 'recalld_golden_scored_queries', { segment: 'lang=en' })).toEqual([7]);
    expect(valuesOf(samples, 'recalld_golden_segments_overflow')).toEqual([3]);
  });

  it('include sums of gains if configured, without an infinite upper limit', async () => {
    const dcg = aScore({ measure: 'dcg', mean: 3.5, ciLow: 2, ciHigh: 5 });
    const alone = { ...dcg, segment: 'lang=en', n: 1, ciLow: 0, ciHigh: Number.POSITIVE_INFINITY };
    const completed = aCompletedRun({ scores: [dcg, alone] });
    const samples = await gaugesAt(60, [aLatestRun({ completed })]);
    expect(valuesOf(samples, 'recalld_golden_dcg')).toEqual([3.5, 3.5]);
    expect(valuesOf(samples, 'recalld_golden_dcg_ci_low')).toEqual([2, 0]);
    expect(valuesOf(samples, 'recalld_golden_dcg_ci_high')).toEqual([5]);
  });

  it('include the share of judged documents in the top k', async () => {
    const scores = [aScore({ measure: 'unjudged', mean: 0.25 })];
    const samples = await gaugesAt(60, [aLatestRun({ completed: aCompletedRun({ scores }) })]);
    expect(valuesOf(samples, 'recalld_golden_judged_ratio')).toEqual([0.75]);
  });

  it('are withheld when older than three intervals, and a gauge reports that they are withheld', async () => {
    const fresh = await gaugesAt(3 * HOUR, [aLatestRun()]);
    expect(valuesOf(fresh, 'recalld_golden_ndcg')).toEqual([0.9]);
    expect(valuesOf(fresh, 'recalld_golden_scores_withheld')).toEqual([0]);

    const stale = await gaugesAt(3 * HOUR + 1, [aLatestRun()]);
    const shown = new Set(stale.map(({ name }) => name));
    expect([...shown].filter((name) => /ndcg|scored_queries|overflow|judged/.test(name))).toEqual([]);
    expect(valuesOf(stale, 'recalld_golden_scores_withheld')).toEqual([1]);
    expect(valuesOf(stale, 'recalld_golden_run_last_success_timestamp_seconds')).toEqual([NOON.getTime() / 1000]);
  });

  it('are withheld after three days for a set that is run manually', async () => {
    const manual = { intervalSeconds: () => null };
    expect(valuesOf(await gaugesAt(72 * HOUR, [aLatestRun()], manual), 'recalld_golden_ndcg')).toEqual([0.9]);
    expect(valuesOf(await gaugesAt(72 * HOUR + 1, [aLatestRun()], manual), 'recalld_golden_ndcg')).toEqual([]);
  });

  it('are those of the last completed run, even after a failed run', async () => {
    const outcomes = { ok: 0, empty: 0, error: 40, timeout: 0 };
    const ended = {
      durationSeconds: 9,
      failure: null,
      failedBecause: null,
      forbidden: null,
      outcomes,
      checks: [],
      finishedAt: new Date(NOON.getTime() + 1000),
    };
    const samples = await gaugesAt(60, [aLatestRun({ ended, lastAttemptAt: NOON })]);
    expect(valuesOf(samples, 'recalld_golden_ndcg')).toEqual([0.9]);
    expect(valuesOf(samples, 'recalld_golden_queries', { outcome: 'error' })).toEqual([40]);
    expect(valuesOf(samples, 'recalld_golden_run_duration_seconds')).toEqual([9]);
    expect(valuesOf(samples, 'recalld_golden_run_last_success_timestamp_seconds')).toEqual([NOON.getTime() / 1000]);
  });

  it('omit pipelines that are no longer in the config', async () => {
    const samples = await gaugesAt(60, [aLatestRun({ pipeline: 'gone' }), aLatestRun()]);
    expect(samples.filter(({ labels }) => labels['pipeline'] === 'gone')).toEqual([]);
    expect(valuesOf(samples, 'recalld_golden_ndcg')).toEqual([0.9]);
  });
});

describe('a set that never ran', () => {
  it('has an interval and thresholds, and its checks have no data', async () => {
    const samples = await gaugesAt(0, []);
    expect(valuesOf(samples, 'recalld_golden_run_interval_seconds', { pipeline: 'docs', golden_set: 'faq' })).toEqual([
      HOUR,
    ]);
    expect(valuesOf(samples, 'recalld_threshold', { check: 'ndcg@10 below 0.8 on faq', severity: 'critical' })).toEqual(
      [0.8],
    );
    expect(stateOf(samples)).toEqual(['no_data']);
    expect(valuesOf(samples, 'recalld_check_last_evaluation_timestamp_seconds')).toEqual([]);
  });

  it('has no interval if it is only run manually', async () => {
    expect(
      valuesOf(await gaugesAt(0, [], { intervalSeconds: () => null }), 'recalld_golden_run_interval_seconds'),
    ).toEqual([]);
  });

  it('shows the time of the first attempt while the first run is in progress', async () => {
    const running = aLatestRun({ ended: null, completed: null, lastAttemptAt: NOON });
    const samples = await gaugesAt(10, [running]);
    expect(valuesOf(samples, 'recalld_golden_run_last_attempt_timestamp_seconds')).toEqual([NOON.getTime() / 1000]);
    expect(valuesOf(samples, 'recalld_golden_run_duration_seconds')).toEqual([]);
    expect(valuesOf(samples, 'recalld_golden_scores_withheld')).toEqual([]);
    expect(stateOf(samples)).toEqual(['no_data']);
  });
});

describe('the state of a check', () => {
  it.each(['ok', 'warning', 'critical', 'no_data'] as const)('is the verdict of the last run: %s', async (verdict) => {
    const samples = await gaugesAt(60, [aJudgedRun(verdict)]);
    expect(stateOf(samples)).toEqual([verdict]);
    expect(valuesOf(samples, 'recalld_check_state')).toHaveLength(4);
    expect(valuesOf(samples, 'recalld_check_last_evaluation_timestamp_seconds')).toEqual([NOON.getTime() / 1000]);
  });

  it('is no_data if the run is older than three intervals', async () => {
    expect(stateOf(await gaugesAt(3 * HOUR, [aJudgedRun('ok')]))).toEqual(['ok']);
    expect(stateOf(await gaugesAt(3 * HOUR + 1, [aJudgedRun('ok')]))).toEqual(['no_data']);
  });

  it('is no_data if the check is newer than the run', async () => {
    const pipelines = [aWatchedPipeline({ checks: goldenChecks({ floors: [aFloor({ measure: 'mrr@10' })] }) })];
    expect(stateOf(await gaugesAt(60, [aJudgedRun('ok')], { pipelines }), 'mrr@10 below 0.8 on faq')).toEqual([
      'no_data',
    ]);
  });

  it('is published for each golden set of the pipeline, and not for a removed check', async () => {
    const golden = [aSchedule(), aSchedule({ set: 'other' })];
    const both = await gaugesAt(60, [aJudgedRun('ok')], {
      pipelines: [aWatchedPipeline({ golden, checks: goldenChecks({ floors: [aFloor()] }) })],
    });
    expect(stateOf(both)).toEqual(['ok']);
    expect(stateOf(both, 'ndcg@10 below 0.8 on other')).toEqual(['no_data']);
    const none = await gaugesAt(60, [aJudgedRun('ok')], {
      pipelines: [aWatchedPipeline({ checks: goldenChecks({ floors: [] }) })],
    });
    expect(none.filter(({ name }) => name.startsWith('recalld_check') || name === 'recalld_threshold')).toEqual([]);
  });
});

describe('gauges of other subjects', () => {
  it('are published beside the golden scores', async () => {
    const labels = { pipeline: 'docs', segment: 'all', basis: 'explicit' };
    const opinions = { name: 'recalld_feedback_opinions' as const, labels, value: 7 };
    const samples = await gaugesAt(60, [aLatestRun()], {}, [() => () => [opinions]]);
    expect(valuesOf(samples, 'recalld_feedback_opinions')).toEqual([7]);
    expect(valuesOf(samples, 'recalld_golden_ndcg')).toEqual([0.9]);
  });
});

describe('the job queue', () => {
  it('is published by state', async () => {
    const queue = new MemoryJobQueue();
    queue.queueCounts = [{ queue: 'run-golden-set', state: 'waiting', count: 2 }];
    const samples = await gaugesAt(0, [], { queue });
    expect(valuesOf(samples, 'recalld_queue_jobs', { queue: 'run-golden-set', state: 'waiting' })).toEqual([2]);
  });
});

describe('every sample', () => {
  it('is finite and unique, has exactly the labels of the catalog, and each check has one state', async () => {
    const catalogue: Readonly<Record<string, MetricDefinition>> = metricCatalogue;
    await fc.assert(
      fc.asyncProperty(someRuns, fc.integer({ min: 0, max: 5 * HOUR }), async (latest, seconds) => {
        const golden = [aSchedule(), aSchedule({ set: 'other' })];
        const floors = [aFloor(), aFloor({ measure: 'mrr@10' })];
        const pipelines = [
          aWatchedPipeline({ golden, checks: goldenChecks({ floors }) }),
          aWatchedPipeline({ name: 'wiki', golden, checks: goldenChecks({ floors }) }),
        ];
        const samples = await gaugesAt(seconds, latest, { pipelines });
        for (const { name, labels, value } of samples) {
          expect(Number.isFinite(value)).toBe(true);
          expect(catalogue[name]).toMatchObject({ type: 'gauge', source: 'stored' });
          expect(Object.keys(labels).toSorted()).toEqual([...(catalogue[name]?.labels ?? [])].toSorted());
        }
        const series = samples.map(({ name, labels }) =>
          [
            name,
            ...Object.entries(labels)
              .map(([key, value]) => `${key}=${value}`)
              .toSorted(),
          ].join(' '),
        );
        expect(new Set(series).size).toBe(series.length);
        const states = samples.filter(({ name }) => name === 'recalld_check_state');
        expect(states).toHaveLength(2 * 2 * 2 * 4);
        expect(states.filter(({ value }) => value === 1)).toHaveLength(2 * 2 * 2);
      }),
      { numRuns: 60 },
    );
  });
});

const aShare = fc.double({ min: 0, max: 1, noNaN: true });

const someScores = fc.uniqueArray(
  fc.record({
    segment: fc.constantFrom('all', 'lang=en', 'other'),
    measure: fc.constantFrom('ndcg' as const, 'mrr' as const, 'unjudged' as const, 'dcg' as const),
    k: fc.constantFrom(1, 10),
    mean: aShare,
    ciLow: aShare,
    ciHigh: aShare,
  }),
  { maxLength: 12, selector: ({ segment, measure, k }) => `${segment} ${measure} ${k}` },
);

const someChecks = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('ndcg@10 below 0.8 on faq', 'mrr@10 below 0.8 on other', 'a check that is no more'),
    verdict: fc.constantFrom('ok' as const, 'warning' as const, 'critical' as const, 'no_data' as const),
  }),
  { selector: ({ name }) => name },
);

const someRuns = fc
  .uniqueArray(
    fc.record({
      pipeline: fc.constantFrom('docs', 'wiki', 'gone'),
      goldenSet: fc.constantFrom('faq', 'other', 'by-hand'),
      scores: fc.option(someScores),
      checks: fc.option(someChecks),
      failed: fc.nat(40),
    }),
    { maxLength: 6, selector: ({ pipeline, goldenSet }) => `${pipeline} ${goldenSet}` },
  )
  .map((list) =>
    list.map(({ pipeline, goldenSet, scores, checks, failed }) =>
      aLatestRun({
        pipeline,
        goldenSet,
        ended:
          checks === null
            ? null
            : {
                durationSeconds: 1,
                failure: null,
                failedBecause: null,
                forbidden: null,
                outcomes: { ok: 40 - failed, empty: 0, error: failed, timeout: 0 },
                checks: checks.map(aCheck),
                finishedAt: NOON,
              },
        completed: scores === null ? null : aCompletedRun({ scores: scores.map(aScore) }),
      }),
    ),
  );

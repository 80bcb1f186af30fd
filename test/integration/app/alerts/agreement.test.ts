/** The daemon's verdict and the Prometheus alert agree in every case. */

import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { defaultRuleSettings, ruleFile } from '../../../../src/app/alerts/rule-file.ts';
import { createCheckStore, readCheckGauges } from '../../../../src/checks/check-store.ts';
import { evaluateChecks } from '../../../../src/checks/evaluate-checks.ts';
import { evaluateGoldenRun, type RunEvidence } from '../../../../src/checks/rules/golden-checks.ts';
import type { ThresholdCheck } from '../../../../src/checks/rules/threshold.ts';
import type { Verdict } from '../../../../src/core/model.ts';
import { createGoldenBaselines } from '../../../../src/golden/sql/golden-baselines.ts';
import { createGoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import type { LatestRun } from '../../../../src/golden/sql/latest-runs.ts';
import { createMeasurements } from '../../../../src/measures/measurements.ts';
import type { GaugeSample } from '../../../../src/platform/metrics/meter.ts';
import { readStoredGauges } from '../../../../src/report/status/publish.ts';
import {
  aCompletedRun,
  aFloor,
  aLatestRun,
  aScore,
  aWatchedPipeline,
  goldenChecks,
  NOON,
} from '../../../support/builders.ts';
import { evaluated } from '../../../support/check-states.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { aGap, aMeasurement, hours } from '../../../support/measurements.ts';
import { MemoryJobQueue } from '../../../support/memory-job-queue.ts';
import { MemoryLogger } from '../../../support/memory-telemetry.ts';
import { missing } from '../../../support/missing.ts';
import { inputSeries, type RuleTest, runPromtool, type Signal } from '../../../support/promtool.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';
import { samplesOf } from '../../../support/stored-gauges.ts';
import { always } from './signals.ts';

const HOUR = 3600;
const PLAYED_MINUTES = 60;

interface Agreement {
  readonly when: string;
  readonly checks?: ReturnType<typeof goldenChecks>;
  readonly evidence?: Partial<RunEvidence>;
  /** Outcomes of runs; by default, one run that completed at noon. */
  readonly latest?: readonly LatestRun[];
  /** Time of the evaluation. */
  readonly secondsAfterNoon?: number;
  /** Error ratios measured every five minutes until noon; a critical check evaluates them. */
  readonly live?: readonly LiveValue[];
  readonly verdict: Verdict;
  readonly alerts: readonly string[];
}

/** An error ratio with its lower bound; the reason why there is no ratio; or null if there is no measurement. */
type LiveValue = readonly [mean: number, low: number] | string | null;

const thrice = (value: LiveValue): LiveValue[] => [value, value, value];

const criticalThreshold = goldenChecks({ floors: [aFloor()] });
const staleLabels = (severity: 'warning' | 'critical') => goldenChecks({ staleLabels: [{ above: 0.02, severity }] });
const staleLabelCounts = {
  kind: 'probed',
  probed: 100,
  stale: 10,
  deleted: 0,
  lost: 0,
  labels: [],
  touched: new Set<string>(),
  dead: new Set<string>(),
} as const;

const agreements: readonly Agreement[] = [
  { when: 'the mean is above the threshold', verdict: 'ok', alerts: [] },
  {
    when: 'the mean equals the threshold',
    evidence: { scores: [aScore({ mean: 0.8, ciLow: 0.7, ciHigh: 0.9 })] },
    verdict: 'ok',
    alerts: [],
  },
  {
    when: 'the mean is below the threshold and its upper bound is above the threshold',
    evidence: { scores: [aScore({ mean: 0.78, ciLow: 0.7, ciHigh: 0.85 })] },
    verdict: 'warning',
    alerts: ['RecalldCheckWarning'],
  },
  {
    when: 'the upper bound equals the threshold',
    evidence: { scores: [aScore({ mean: 0.75, ciLow: 0.7, ciHigh: 0.8 })] },
    verdict: 'warning',
    alerts: ['RecalldCheckWarning'],
  },
  {
    when: 'even the upper bound is below the threshold',
    evidence: { scores: [aScore({ mean: 0.5, ciLow: 0.4, ciHigh: 0.6 })] },
    verdict: 'critical',
    alerts: ['RecalldCheckCritical'],
  },
  {
    when: 'the severity of the check is only a warning',
    checks: goldenChecks({ floors: [aFloor({ severity: 'warning' })] }),
    evidence: { scores: [aScore({ mean: 0.5, ciLow: 0.4, ciHigh: 0.6 })] },
    verdict: 'warning',
    alerts: ['RecalldCheckWarning'],
  },
  {
    when: 'the run has no score of the measure',
    evidence: { scores: [aScore({ measure: 'mrr' })] },
    verdict: 'no_data',
    alerts: ['RecalldCheckNoData'],
  },
  {
    when: 'there is no baseline to compare with',
    checks: goldenChecks({
      regressions: [{ measure: 'ndcg@10', drop: 0.02, alpha: 0.01, severity: 'critical', runs: 1 }],
    }),
    verdict: 'no_data',
    alerts: ['RecalldCheckNoData'],
  },
  {
    when: 'labels are stale',
    checks: staleLabels('warning'),
    evidence: { labels: staleLabelCounts },
    verdict: 'warning',
    alerts: ['RecalldStaleLabels'],
  },
  {
    when: 'labels are stale and the check is critical',
    checks: staleLabels('critical'),
    evidence: { labels: staleLabelCounts },
    verdict: 'critical',
    alerts: ['RecalldCheckCritical'],
  },
  {
    when: 'the store was not probed',
    checks: staleLabels('warning'),
    verdict: 'no_data',
    alerts: ['RecalldCheckNoData'],
  },
  {
    when: 'the set never ran',
    latest: [],
    verdict: 'no_data',
    alerts: ['RecalldCheckNoData', 'RecalldGoldenNeverRan'],
  },
  { when: 'the run is three intervals old', secondsAfterNoon: 3 * HOUR - 120, verdict: 'ok', alerts: [] },
  {
    when: 'the run is older than three intervals',
    secondsAfterNoon: 3 * HOUR + 600,
    verdict: 'no_data',
    // This alert explains why there is no score and no verdict.
    alerts: ['RecalldGoldenNotRunning'],
  },
  {
    when: 'the latest run is void, so no check was evaluated',
    latest: [
      aLatestRun({
        lastAttemptAt: new Date(NOON.getTime() + 1000),
        ended: {
          durationSeconds: 9,
          failure: null,
          failedBecause: null,
          forbidden: null,
          outcomes: { ok: 0, empty: 0, error: 40, timeout: 0 },
          checks: [],
          finishedAt: new Date(NOON.getTime() + 10_000),
        },
      }),
    ],
    verdict: 'no_data',
    alerts: ['RecalldRetrieverNotAnswering'],
  },
  {
    when: 'few live queries fail',
    live: [[0.01, 0.005]],
    verdict: 'ok',
    alerts: [],
  },
  {
    when: 'the share of errors is above its threshold and the lower bound is not',
    live: thrice([0.06, 0.04]),
    verdict: 'warning',
    alerts: ['RecalldCheckWarning'],
  },
  {
    when: 'even the lower bound of the share of errors is above the threshold',
    live: thrice([0.2, 0.15]),
    verdict: 'critical',
    alerts: ['RecalldCheckCritical'],
  },
  {
    when: 'the share of errors was above its threshold only once',
    live: [
      [0.01, 0.005],
      [0.2, 0.15],
    ],
    verdict: 'ok',
    alerts: [],
  },
  {
    when: 'the share of errors is below its threshold again, but within the margin',
    live: [...thrice([0.2, 0.15]), ...thrice([0.049, 0.04])],
    verdict: 'warning',
    alerts: ['RecalldCheckWarning'],
  },
  { when: 'there is no live query', live: ['no_queries'], verdict: 'no_data', alerts: [] },
  {
    when: 'live queries stopped while too many of them failed',
    live: [...thrice([0.2, 0.15]), ...thrice('no_queries')],
    verdict: 'no_data',
    alerts: ['RecalldCheckNoData'],
  },
  {
    when: 'live queries are not measured',
    live: [null],
    verdict: 'no_data',
    alerts: ['RecalldCheckNoData'],
  },
  {
    when: 'the check has not been evaluated for an hour',
    live: [[0.01, 0.005]],
    secondsAfterNoon: 3600,
    verdict: 'no_data',
    alerts: ['RecalldCheckNoData'],
  },
];

const errorCheck: ThresholdCheck = {
  measure: 'error_ratio',
  threshold: 0.05,
  severity: 'critical',
  segments: 'all',
  minN: 100,
  confirm: 3,
  noData: 'silent',
};

const database = useDatabase();

/** The gauges of a check on live traffic after measurements with these values; the last measurement is at noon. */
async function liveGaugesOf(values: readonly LiveValue[], secondsAfterNoon: number): Promise<GaugeSample[]> {
  const clock = new SteerableClock(new Date(NOON.getTime() - (values.length - 1) * 300_000));
  const measurements = createMeasurements(database.pool);
  const checkStore = createCheckStore(database.pool);
  await database.pool.query(
    'truncate check_states, check_transitions, measurements, latest_measurements, measurement_gaps',
  );
  const pipelines = [aWatchedPipeline({ thresholds: [errorCheck] })];
  for (const [index, value] of values.entries()) {
    if (index > 0) await clock.advance(300_000);
    const at = {
      measure: 'error_ratio',
      windowStart: hours(-24),
      windowEnd: clock.now(),
      measuredAt: clock.now(),
    };
    if (typeof value === 'string') await measurements.record([aGap({ ...at, reason: value })]);
    else if (value !== null) {
      const [mean, low] = value;
      await measurements.record([aMeasurement({ ...at, value: mean, ciLow: low, ciHigh: 2 * mean - low, n: 1000 })]);
    }
    await evaluateChecks(
      contextOf({
        pipelines,
        densityPlans: [],
        db: {
          density: { watch: { all: async () => new Map() } },
          golden: { runs: createGoldenRuns(database.pool), baselines: createGoldenBaselines(database.pool) },
          measurements,
          checks: checkStore,
        },
        clock,
        logger: new MemoryLogger(),
        intervalSeconds: () => HOUR,
        liveIntervalSeconds: 300,
      }),
    );
  }
  await clock.advance(secondsAfterNoon * 1000);
  const gaugesAt = await readCheckGauges(contextOf({ db: { checks: checkStore }, pipelines, densityPlans: [] }));
  return [...gaugesAt(clock.now())];
}

/** The gauges that the daemon exports. */
async function gaugesOf(agreement: Agreement): Promise<GaugeSample[]> {
  if (agreement.live !== undefined) return liveGaugesOf(agreement.live, agreement.secondsAfterNoon ?? 600);
  const { checks = criticalThreshold, evidence = {}, secondsAfterNoon = 600 } = agreement;
  const clock = new SteerableClock(new Date(NOON.getTime() + secondsAfterNoon * 1000));
  const scores = evidence.scores ?? [aScore()];
  const judged = evaluateGoldenRun(checks, 'faq', {
    scores,
    compared: 'no baseline is pinned',
    history: [],
    forbidden: null,
    labels: { kind: 'unknown', reason: 'there is no store' },
    ...evidence,
  });
  const outcomes = { ok: 40, empty: 0, error: 0, timeout: 0 };
  const latest = agreement.latest ?? [
    aLatestRun({
      ended: {
        durationSeconds: 60,
        failure: null,
        failedBecause: null,
        forbidden: null,
        outcomes,
        checks: judged,
        finishedAt: NOON,
      },
      completed: aCompletedRun({ scores }),
    }),
  ];
  const pipelines = [aWatchedPipeline({ checks })];
  const checkStore = evaluated({ pipelines }, { latest }, new Date(NOON.getTime() + 60_000));
  const context = contextOf({
    db: {
      golden: { runs: { latest: async () => latest } },
      measurements: createMeasurements(database.pool),
      checks: checkStore,
    },
    queue: new MemoryJobQueue(),
    clock,
    pipelines,
    densityPlans: [],
    intervalSeconds: () => HOUR,
  });
  const gauges = await readStoredGauges(context, [readCheckGauges]);
  return samplesOf(gauges(clock.now()));
}

/** promtool's simulation starts in 1970, so times are shifted: the simulation ends at the time of the evaluation. */
function signalOf({ name, labels, value }: GaugeSample, { secondsAfterNoon = 600 }: Agreement): Signal {
  const shift = NOON.getTime() / 1000 + secondsAfterNoon - PLAYED_MINUTES * 60;
  const played = name.endsWith('_timestamp_seconds') ? value - shift : value;
  return { name, labels: { ...labels }, isCounter: false, at: always(played) };
}

describe.skipIf(missing('promtool'))('the daemon and Prometheus agree when', () => {
  const rules = stringify(ruleFile(defaultRuleSettings), { lineWidth: 0 });

  it.each(agreements)('$when: $verdict', async (agreement) => {
    const samples = await gaugesOf(agreement);
    const states = samples.filter(({ name, value }) => name === 'recalld_check_state' && value === 1);
    expect(states.map(({ labels }) => labels['state'])).toEqual([agreement.verdict]);

    const timeline = { minutes: PLAYED_MINUTES, step: 1 };
    const test: RuleTest = {
      name: agreement.when,
      interval: '1m',
      input_series: samples.flatMap((sample) =>
        ['a:8321', 'b:8321'].map((instance) => inputSeries(signalOf(sample, agreement), instance, timeline)),
      ),
      promql_expr_test: [
        {
          expr: 'count by (alertname) (ALERTS{alertstate="firing", alertname!~"RecalldWatchdog|RecalldAbsent"})',
          eval_time: `${PLAYED_MINUTES}m`,
          exp_samples: agreement.alerts.map((alertname) => ({
            labels: `{alertname="${alertname}"}`,
            value: 1,
          })),
        },
      ],
    };
    expect(runPromtool(rules, [test])).toBe('');
  });
});

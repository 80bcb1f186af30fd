import type { Context } from '../core/context.ts';
import { parseMetricKey } from '../math/ir/metric-key.ts';
import type { MetricSummary } from '../math/stats/descriptive.ts';
import { boundedSamples, currentValue, type LatestMeasurement, type MeasuredRows } from '../measures/measurements.ts';
import { ageSeconds, INTERVALS_TO_TRUST, runTrustSeconds } from '../measures/rules/measurement.ts';
import { type GaugeSample, type GaugesAt, sample } from '../platform/metrics/meter.ts';
import { type GoldenSetVersion, goldenSetOf } from './rules/golden-set.ts';
import { type RunStages, runDeadlineMs } from './rules/run.ts';
import {
  CANDIDATES,
  CONTEXT_CHARACTERS,
  CONTEXT_REPEATED,
  FALSE_ANSWERS,
  STABILITY,
} from './runs/measure-retrievers.ts';
import { overlappingRuns } from './runs/rotate-golden-set.ts';
import { LIVE_MIX_PREFIX, REPRESENTATIVENESS } from './sets/live-mix.ts';
import type { GoldenRotation } from './sql/golden-rotations.ts';
import { type SkipTotal, skipReasons } from './sql/golden-ticks.ts';
import type { LatestRun, LatestSentinel } from './sql/latest-runs.ts';
import type { GoldenSchedule, WatchedPipeline } from './watched-pipeline.ts';

export async function readScheduleGauges(
  context: Context,
  { runs: latest, measurements }: MeasuredRows & { readonly runs: readonly LatestRun[] },
): Promise<GaugesAt> {
  const versions = await context.db.golden.sets.list();
  const sentinels = await context.db.golden.runs.latestSentinels();
  const skips = await context.db.golden.ticks.skipTotals();
  const open = (await context.db.golden.rotations.list({})).filter(({ endedAt }) => endedAt === null);
  const fixed: GaugeSample[] = [];
  const changing: GaugesAt[] = [];
  for (const pipeline of context.pipelines) {
    for (const golden of pipeline.golden) {
      const isOwn = (one: { readonly pipeline: string; readonly goldenSet: string }): boolean =>
        one.pipeline === pipeline.name && one.goldenSet === golden.set;
      const full = latest.find(isOwn) ?? null;
      fixed.push(
        ...dueSamples(context, pipeline, golden, full, versions),
        ...skipSamples(pipeline, golden, skips.filter(isOwn)),
        ...(await rotationSamples(context, pipeline, golden, open.find(isOwn) ?? null)),
      );
      changing.push(
        sentinelSamples(context, pipeline, golden, full, sentinels.find(isOwn) ?? null),
        ...Object.entries(samplesOfRun).map(([measure, samplesOf]) =>
          ofEndedRun(context, pipeline, golden, measurements, measure, samplesOf),
        ),
      );
    }
  }
  return (now) => [...fixed, ...changing.flatMap((samplesAt) => samplesAt(now))];
}

/**
 * Returns the gauge samples of a measurement from the latest finished run, or no samples if the measurement is too old
 * to trust.
 */
function ofEndedRun(
  { timetable }: Context,
  { name: pipeline }: WatchedPipeline,
  golden: GoldenSchedule,
  measurements: readonly LatestMeasurement[],
  measure: string,
  samplesOf: (set: SetLabels, newest: Newest) => GaugeSample[],
): GaugesAt {
  const isOwn = (one: LatestMeasurement): boolean =>
    one.pipeline === pipeline && one.measure === measure && goldenSetOf(one.segment) === golden.set;
  const newest = measurements.find(isOwn)?.newest ?? null;
  if (newest === null) return () => [];
  const samples = samplesOf({ pipeline, golden_set: golden.set }, newest);
  const trusted = runTrustSeconds(timetable.intervalSeconds(golden));
  return (now) => (ageSeconds(newest.measuredAt, now) <= trusted ? samples : []);
}

const bounded = ({ mean: value, ciLow, ciHigh }: MetricSummary) => ({ value, ciLow, ciHigh });

/** Returns samples by stage. Parallel stages count as one; the stage `failed` contains the losses of failed queries. */
function stageSamples(set: SetLabels, { details }: Newest): GaugeSample[] {
  const { steps, lostToFailures, n } = details['stages'] as RunStages;
  return [
    sample('recalld_golden_stage_queries', set, n),
    ...boundedSamples('recalld_golden_stage_lost_ratio', { ...set, stage: 'failed' }, bounded(lostToFailures)),
    ...steps.flatMap(({ name: stage, recall, lost, moved, latencyP95Ms }) => [
      ...boundedSamples('recalld_golden_stage_recall', { ...set, stage }, bounded(recall)),
      ...boundedSamples('recalld_golden_stage_lost_ratio', { ...set, stage }, bounded(lost)),
      ...(moved === null
        ? []
        : (['in', 'out'] as const).map((direction) =>
            sample('recalld_golden_stage_moved_queries', { ...set, stage, direction }, moved[direction]),
          )),
      ...(latencyP95Ms === null
        ? []
        : [sample('recalld_golden_stage_latency_p95_seconds', { ...set, stage }, latencyP95Ms / 1000)]),
    ]),
  ];
}

const samplesOfRun: Readonly<Record<string, (set: SetLabels, newest: Newest) => GaugeSample[]>> = {
  [STABILITY]: (set, newest) => {
    const labels = { ...set, k: String(newest.details['k']) };
    const n = sample('recalld_golden_rbo_queries', labels, newest.n);
    return [...boundedSamples('recalld_golden_rbo', labels, newest), n];
  },
  [FALSE_ANSWERS]: (set, newest) => [
    ...boundedSamples('recalld_golden_false_answer_ratio', set, newest),
    sample('recalld_golden_no_answer_queries', set, newest.n),
  ],
  [CANDIDATES]: stageSamples,
  [CONTEXT_CHARACTERS]: (set, newest) => boundedSamples('recalld_golden_context_characters', set, newest),
  [CONTEXT_REPEATED]: (set, newest) => [
    ...boundedSamples('recalld_golden_context_repeated_ratio', set, newest),
    sample('recalld_golden_context_queries', set, newest.n),
  ],
};

function skipSamples(
  { name: pipeline }: WatchedPipeline,
  golden: GoldenSchedule,
  skips: readonly SkipTotal[],
): GaugeSample[] {
  return (['full', 'sentinel'] as const)
    .filter((purpose) => (purpose === 'full' ? golden.cron : golden.sentinel) !== null)
    .flatMap((purpose) =>
      skipReasons.map((reason) => {
        const found = skips.find((skip) => skip.purpose === purpose && skip.reason === reason);
        const labels = { pipeline, golden_set: golden.set, purpose, reason };
        return sample('recalld_golden_ticks_skipped_total', labels, found?.total ?? 0);
      }),
    );
}

/**
 * Returns the gauge samples for the completion deadline of the next run. A run is overdue if it does not complete
 * within its maximum duration after its planned start.
 */
function dueSamples(
  { timetable }: Context,
  pipeline: WatchedPipeline,
  golden: GoldenSchedule,
  full: LatestRun | null,
  versions: readonly GoldenSetVersion[],
): GaugeSample[] {
  const own = versions.filter(({ name }) => name === golden.set);
  const since = full?.completed?.startedAt ?? own.at(-1)?.importedAt ?? timetable.startedAt;
  const planned = timetable.nextRun(golden, since);
  if (planned === null) return [];
  const allowance = runDeadlineMs(own[0]?.queries ?? 0, golden.settings, pipeline.timeoutMs);
  const due = new Date(planned.getTime() + allowance);
  const labels = { pipeline: pipeline.name, golden_set: golden.set };
  return [sample('recalld_golden_run_expected_by_timestamp_seconds', labels, seconds(due))];
}

function sentinelSamples(
  { timetable }: Context,
  pipeline: WatchedPipeline,
  golden: GoldenSchedule,
  full: LatestRun | null,
  latest: LatestSentinel | null,
): GaugesAt {
  const interval = timetable.sentinelIntervalSeconds(golden);
  if (golden.sentinel === null || interval === null) return () => [];
  const labels = { pipeline: pipeline.name, golden_set: golden.set };
  const ended = latest?.ended ?? null;
  const since = latest?.completed?.startedAt ?? full?.completed?.finishedAt ?? null;
  const planned = since === null ? null : timetable.nextSentinel(golden, since);
  const allowance = runDeadlineMs(golden.sentinel.queries, golden.settings, pipeline.timeoutMs);
  const fixed = [
    sample('recalld_golden_sentinel_interval_seconds', labels, interval),
    ...timestamp('recalld_golden_sentinel_last_attempt_timestamp_seconds', labels, latest?.lastAttemptAt),
    ...timestamp('recalld_golden_sentinel_last_success_timestamp_seconds', labels, latest?.completed?.finishedAt),
    ...timestamp(
      'recalld_golden_sentinel_expected_by_timestamp_seconds',
      labels,
      planned === null ? null : new Date(planned.getTime() + allowance),
    ),
  ];
  return (now) => {
    const isTrusted = ended !== null && ageSeconds(ended.finishedAt, now) <= INTERVALS_TO_TRUST * interval;
    const current = !isTrusted ? 'no_data' : ended.hasFailed ? 'failed' : 'ok';
    return [
      ...fixed,
      ...(['ok', 'failed', 'no_data'] as const).map((state) =>
        sample('recalld_golden_sentinel_state', { ...labels, state }, state === current ? 1 : 0),
      ),
    ];
  };
}

async function rotationSamples(
  { db }: Context,
  pipeline: WatchedPipeline,
  { set }: GoldenSchedule,
  open: GoldenRotation | null,
): Promise<GaugeSample[]> {
  const labels = { pipeline: pipeline.name, golden_set: set };
  const done = open === null ? 0 : (await overlappingRuns(db.golden.runs, open, pipeline.checks)).length;
  const remaining = open === null ? 0 : Math.max(0, open.runsNeeded - done);
  return [sample('recalld_golden_rotation_runs_remaining', labels, remaining)];
}

function timestamp(
  name: `recalld_golden_sentinel_${'last_attempt' | 'last_success' | 'expected_by'}_timestamp_seconds`,
  labels: SetLabels,
  at: Date | null | undefined,
): GaugeSample[] {
  return at == null ? [] : [sample(name, labels, seconds(at))];
}

function seconds(date: Date): number {
  return date.getTime() / 1000;
}

/** @param pipelines configured pipelines; stored measurements of other pipelines and sets are ignored */
export function liveMixGauges(pipelines: readonly WatchedPipeline[], { measurements }: MeasuredRows): GaugesAt {
  const sets = pipelines.flatMap(({ name: pipeline, golden }) =>
    golden.map(({ set }) => ({
      labels: { pipeline, golden_set: set },
      measured: measurements.filter((one) => one.pipeline === pipeline && goldenSetOf(one.segment) === set),
    })),
  );
  return (now) =>
    sets.flatMap(({ labels, measured }) =>
      setSamples(
        labels,
        measured.filter((one) => currentValue(one, now) !== null),
      ),
    );
}

type SetLabels = Readonly<Record<'pipeline' | 'golden_set', string>>;

function setSamples(set: SetLabels, measured: readonly LatestMeasurement[]): GaugeSample[] {
  const covered = measured.find(({ measure }) => measure === REPRESENTATIVENESS)?.newest ?? null;
  const scores = measured.filter(({ measure }) => measure.startsWith(LIVE_MIX_PREFIX));
  const effective = numberOf(scores[0]?.newest?.details['effective_sample_size']);
  const represented = numberOf((covered ?? scores[0]?.newest)?.details['represented']);
  return [
    ...(covered === null ? [] : boundedSamples('recalld_golden_live_covered_ratio', set, covered)),
    ...(represented === null ? [] : [sample('recalld_golden_live_represented_ratio', set, represented)]),
    ...scores.flatMap(({ newest }) => {
      if (newest === null) return [];
      const { measure, k } = parseMetricKey(String(newest.details['metric']));
      return boundedSamples('recalld_golden_live_mix_score', { ...set, measure, k: String(k) }, newest);
    }),
    ...(effective === null ? [] : [sample('recalld_golden_live_mix_effective_queries', set, effective)]),
  ];
}

type Newest = NonNullable<LatestMeasurement['newest']>;

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

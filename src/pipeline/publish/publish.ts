/** Stored rows -> metric samples. What is too old to trust is withheld, and the withholding is a metric. */
import { listGoldenChecks } from '../../core/checks/golden-checks.ts';
import type { RunDifference } from '../../core/golden/compare-golden-runs.ts';
import { type GoldenMeasure, goldenMeasures } from '../../core/golden/query-scores.ts';
import type { CheckShifts } from '../../core/golden/rotation/shift.ts';
import type { SegmentScore } from '../../core/golden/run.ts';
import { queryOutcomes, type RunStatus } from '../../core/model.ts';
import type { Clock } from '../../ports/clock.ts';
import type { GoldenRuns, LatestRun, RunLabels } from '../../ports/golden-runs.ts';
import type { JobQueue } from '../../ports/job-queue.ts';
import { type GaugeSample, type KeptGauges, type StoredGauges, sample } from '../../ports/metrics.ts';
import { checkStates, type IntervalOf } from '../checks/check-states.ts';
import { isRunTooOld } from '../checks/trust.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';
import { verdictSamples } from './publish-checks.ts';

const statuses: readonly RunStatus[] = ['running', 'completed', 'void', 'failed', 'cancelled'];

export interface PublishDeps {
  readonly runs: GoldenRuns;
  readonly queue: JobQueue;
  readonly clock: Clock;
  readonly pipelines: readonly WatchedPipeline[];
  /** What was measured beside golden runs: feedback, live traffic, probes. */
  readonly readMeasured: readonly (() => Promise<readonly GaugeSample[]>)[];
  readonly intervalSeconds: IntervalOf;
  /** When runs are due and where sentinels stand. */
  scheduleGauges(latest: readonly LatestRun[]): Promise<readonly GaugeSample[]>;
  /** By how much the thresholds of each set have moved through rotations. */
  checkShifts(): Promise<(pipeline: string, goldenSet: string) => CheckShifts>;
}

/** Every stored gauge as it is now. Pipelines that the config no longer has are left out. */
export async function readStoredGauges(deps: PublishDeps): Promise<StoredGauges> {
  const latest = await deps.runs.latest();
  const [queues, schedules, shiftsOf, ...measured] = await Promise.all([
    deps.queue.counts(),
    deps.scheduleGauges(latest),
    deps.checkShifts(),
    ...deps.readMeasured.map((read) => read()),
  ]);
  const watched = new Set(deps.pipelines.map((pipeline) => pipeline.name));
  const now = deps.clock.now();
  const runs = latest
    .filter((run) => watched.has(run.pipeline))
    .map((run) => gaugesOfRun(run, deps.intervalSeconds(run.pipeline, run.goldenSet), now));
  return {
    current: [
      ...runs.flatMap(({ current }) => current),
      ...deps.pipelines.flatMap((pipeline) => configSamples(pipeline, deps, shiftsOf)),
      ...checkSamples(deps, latest, now),
      ...schedules,
      ...measured.flat(),
      ...queues.map(({ queue, state, count }) => sample('recalld_queue_jobs', { queue, state }, count)),
    ],
    kept: runs.flatMap(({ kept }) => kept),
  };
}

interface SetLabels {
  readonly pipeline: string;
  readonly golden_set: string;
}

/** What a run that ended came to never changes; only whether it is shown does. */
function gaugesOfRun(run: LatestRun, interval: number | null, now: Date): StoredGauges {
  const set = { pipeline: run.pipeline, golden_set: run.goldenSet };
  const current: GaugeSample[] = [
    sample('recalld_golden_run_last_attempt_timestamp_seconds', set, seconds(run.lastAttemptAt)),
    ...statuses.map((status) => sample('recalld_golden_runs', { ...set, status }, run.runsByStatus[status])),
  ];
  if (run.ended !== null) {
    const { outcomes, durationSeconds } = run.ended;
    current.push(
      sample('recalld_golden_run_duration_seconds', set, durationSeconds),
      ...queryOutcomes.map((outcome) =>
        sample('recalld_golden_queries', { ...set, outcome }, outcomes[outcome]),
      ),
    );
  }
  if (run.completed === null) return { current, kept: [] };
  const { finishedAt, scores, segmentsOverflow, labels, baseline } = run.completed;
  const withheld = isRunTooOld(finishedAt, interval, now);
  current.push(
    sample('recalld_golden_run_last_success_timestamp_seconds', set, seconds(finishedAt)),
    sample('recalld_golden_scores_withheld', set, withheld ? 1 : 0),
  );
  if (withheld) return { current, kept: [] };
  current.push(
    sample('recalld_golden_segments_overflow', set, segmentsOverflow),
    ...labelSamples(set, labels),
  );
  const kept: KeptGauges[] = [{ of: scores, samples: () => samplesOfScores(set, scores) }];
  if (baseline !== null) {
    const { differences } = baseline;
    const samples = () => differences.flatMap((found) => differenceSamples(set, found));
    kept.push({ of: differences, samples });
  }
  return { current, kept };
}

function samplesOfScores(set: SetLabels, scores: readonly SegmentScore[]): GaugeSample[] {
  return [
    ...segmentSizes(scores).map(([segment, n]) =>
      sample('recalld_golden_scored_queries', { ...set, segment }, n),
    ),
    ...scores.flatMap((score) => scoreSamples(set, score)),
  ];
}

function scoreSamples(set: SetLabels, score: SegmentScore): GaugeSample[] {
  const labels = { ...set, segment: score.segment, k: String(score.k) };
  if (score.measure === 'unjudged') return [sample('recalld_golden_judged_ratio', labels, 1 - score.mean)];
  if (!isExported(score.measure)) return [];
  return [
    sample(`recalld_golden_${score.measure}`, labels, score.mean),
    sample(`recalld_golden_${score.measure}_ci_low`, labels, score.ciLow),
    sample(`recalld_golden_${score.measure}_ci_high`, labels, score.ciHigh),
  ];
}

function labelSamples(set: SetLabels, { probed, stale }: RunLabels): GaugeSample[] {
  if (probed === null || stale === null || probed === 0) return [];
  return [sample('recalld_golden_stale_labels_ratio', set, stale / probed)];
}

function differenceSamples(set: SetLabels, found: RunDifference): GaugeSample[] {
  const { measure, k } = found.key;
  if (!isExported(measure)) return [];
  const labels = { ...set, segment: found.segment, measure, k: String(k) };
  return [
    sample('recalld_golden_baseline_difference', labels, found.difference),
    sample('recalld_golden_baseline_difference_ci_low', labels, found.ciLow),
    sample('recalld_golden_baseline_difference_ci_high', labels, found.ciHigh),
    sample('recalld_golden_baseline_p_value', labels, found.p),
    sample('recalld_golden_baseline_queries', labels, found.n),
  ];
}

function isExported(measure: string): measure is GoldenMeasure {
  return (goldenMeasures as readonly string[]).includes(measure);
}

function segmentSizes(scores: readonly SegmentScore[]): (readonly [string, number])[] {
  return [...new Map(scores.map((score) => [score.segment, score.n]))];
}

/** What is known without any run, so that a set that never ran is seen to be missing. */
function configSamples(
  pipeline: WatchedPipeline,
  deps: PublishDeps,
  shiftsOf: (pipeline: string, goldenSet: string) => CheckShifts,
): GaugeSample[] {
  const intervals = pipeline.golden.flatMap(({ set }) => {
    const interval = deps.intervalSeconds(pipeline.name, set);
    const labels = { pipeline: pipeline.name, golden_set: set };
    return interval === null ? [] : [sample('recalld_golden_run_interval_seconds', labels, interval)];
  });
  const thresholds = pipeline.golden.flatMap(({ set }) =>
    listGoldenChecks(pipeline.checks, set, shiftsOf(pipeline.name, set)).map(
      ({ name: check, severity, threshold }) =>
        sample('recalld_threshold', { pipeline: pipeline.name, check, severity }, threshold),
    ),
  );
  return [...intervals, ...thresholds];
}

/** Every configured check has a state; without a run that is fresh enough to trust it is `no_data`. */
function checkSamples(deps: PublishDeps, latest: readonly LatestRun[], now: Date): GaugeSample[] {
  return checkStates(deps.pipelines, latest, deps.intervalSeconds, now).flatMap(verdictSamples);
}

function seconds(date: Date): number {
  return date.getTime() / 1000;
}

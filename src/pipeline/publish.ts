/** Stored rows -> metric samples. What is too old to trust is withheld, and the withholding is a metric. */
import { floorCheckName } from '../core/checks/floor.ts';
import type { SegmentScore } from '../core/golden/run.ts';
import { queryOutcomes, type RunStatus, type Verdict } from '../core/model.ts';
import { type GoldenMeasure, goldenMeasures } from '../metrics/catalogue.ts';
import type { Clock } from '../ports/clock.ts';
import type { GoldenRuns, LatestRun } from '../ports/golden-runs.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import { type GaugeSample, sample } from '../ports/metrics.ts';
import type { WatchedPipeline } from './watched-pipeline.ts';

/** Scores older than this many intervals are withheld. */
const INTERVALS_TO_TRUST = 3;
/** Sets that run only by hand are expected to be run daily. */
const INTERVAL_BY_HAND_SECONDS = 86_400;

const verdicts: readonly Verdict[] = ['ok', 'warning', 'critical', 'no_data'];
const statuses: readonly RunStatus[] = ['running', 'completed', 'void', 'failed', 'cancelled'];

export interface PublishDeps {
  readonly runs: GoldenRuns;
  readonly queue: JobQueue;
  readonly clock: Clock;
  readonly pipelines: readonly WatchedPipeline[];
  /** What stored feedback says. */
  feedbackGauges(): Promise<readonly GaugeSample[]>;
  /** Longest gap between two ticks of a set, null for a set that runs by hand. */
  intervalSeconds(pipeline: string, goldenSet: string): number | null;
}

/** Every stored gauge as it is now. Pipelines that the config no longer has are left out. */
export async function readStoredGauges(deps: PublishDeps): Promise<GaugeSample[]> {
  const [latest, queues, feedback] = await Promise.all([
    deps.runs.latest(),
    deps.queue.counts(),
    deps.feedbackGauges(),
  ]);
  const watched = new Set(deps.pipelines.map((pipeline) => pipeline.name));
  const now = deps.clock.now();
  return [
    ...latest
      .filter((run) => watched.has(run.pipeline))
      .flatMap((run) => runSamples(run, deps.intervalSeconds(run.pipeline, run.goldenSet), now)),
    ...deps.pipelines.flatMap((pipeline) => configSamples(pipeline, deps)),
    ...checkSamples(deps, latest, now),
    ...feedback,
    ...queues.map(({ queue, state, count }) => sample('recalld_queue_jobs', { queue, state }, count)),
  ];
}

function runSamples(run: LatestRun, interval: number | null, now: Date): GaugeSample[] {
  const set = { pipeline: run.pipeline, golden_set: run.goldenSet };
  const samples: GaugeSample[] = [
    sample('recalld_golden_run_last_attempt_timestamp_seconds', set, seconds(run.lastAttemptAt)),
    ...statuses.map((status) => sample('recalld_golden_runs', { ...set, status }, run.runsByStatus[status])),
  ];
  if (run.ended !== null) {
    const { outcomes, durationSeconds } = run.ended;
    samples.push(
      sample('recalld_golden_run_duration_seconds', set, durationSeconds),
      ...queryOutcomes.map((outcome) =>
        sample('recalld_golden_queries', { ...set, outcome }, outcomes[outcome]),
      ),
    );
  }
  if (run.completed !== null) {
    const withheld = isTooOld(run.completed.finishedAt, interval, now);
    samples.push(
      sample('recalld_golden_run_last_success_timestamp_seconds', set, seconds(run.completed.finishedAt)),
      sample('recalld_golden_scores_withheld', set, withheld ? 1 : 0),
    );
    if (!withheld) {
      samples.push(
        sample('recalld_golden_segments_overflow', set, run.completed.segmentsOverflow),
        ...segmentSizes(run.completed.scores).map(([segment, n]) =>
          sample('recalld_golden_scored_queries', { ...set, segment }, n),
        ),
        ...run.completed.scores.flatMap((score) => scoreSamples(set, score)),
      );
    }
  }
  return samples;
}

function scoreSamples(set: { pipeline: string; golden_set: string }, score: SegmentScore): GaugeSample[] {
  const labels = { ...set, segment: score.segment, k: String(score.k) };
  if (score.measure === 'unjudged') return [sample('recalld_golden_judged_ratio', labels, 1 - score.mean)];
  if (!isExported(score.measure)) return [];
  return [
    sample(`recalld_golden_${score.measure}`, labels, score.mean),
    sample(`recalld_golden_${score.measure}_ci_low`, labels, score.ciLow),
    sample(`recalld_golden_${score.measure}_ci_high`, labels, score.ciHigh),
  ];
}

function isExported(measure: string): measure is GoldenMeasure {
  return (goldenMeasures as readonly string[]).includes(measure);
}

function segmentSizes(scores: readonly SegmentScore[]): (readonly [string, number])[] {
  return [...new Map(scores.map((score) => [score.segment, score.n]))];
}

/** What is known without any run, so that a set that never ran is seen to be missing. */
function configSamples(pipeline: WatchedPipeline, deps: PublishDeps): GaugeSample[] {
  const intervals = pipeline.golden.flatMap(({ set }) => {
    const interval = deps.intervalSeconds(pipeline.name, set);
    const labels = { pipeline: pipeline.name, golden_set: set };
    return interval === null ? [] : [sample('recalld_golden_run_interval_seconds', labels, interval)];
  });
  const thresholds = pipeline.golden.flatMap(({ set }) =>
    pipeline.floors.map((floor) => {
      const labels = { pipeline: pipeline.name, check: floorCheckName(floor, set), severity: floor.severity };
      return sample('recalld_threshold', labels, floor.below);
    }),
  );
  return [...intervals, ...thresholds];
}

/** Every configured check has a state; without a run that is fresh enough to trust it is `no_data`. */
function checkSamples(deps: PublishDeps, latest: readonly LatestRun[], now: Date): GaugeSample[] {
  return deps.pipelines.flatMap((pipeline) =>
    pipeline.golden.flatMap(({ set }) => {
      const ended =
        latest.find((run) => run.pipeline === pipeline.name && run.goldenSet === set)?.ended ?? null;
      const stale =
        ended === null || isTooOld(ended.finishedAt, deps.intervalSeconds(pipeline.name, set), now);
      return pipeline.floors.flatMap((floor) => {
        const labels = { pipeline: pipeline.name, check: floorCheckName(floor, set) };
        const judged = stale ? undefined : ended.checks.find((check) => check.name === labels.check);
        const verdict = judged?.verdict ?? 'no_data';
        return [
          ...verdicts.map((state) =>
            sample('recalld_check_state', { ...labels, state }, state === verdict ? 1 : 0),
          ),
          ...(ended === null
            ? []
            : [sample('recalld_check_last_evaluation_timestamp_seconds', labels, seconds(ended.finishedAt))]),
        ];
      });
    }),
  );
}

function isTooOld(finishedAt: Date, interval: number | null, now: Date): boolean {
  return seconds(now) - seconds(finishedAt) > INTERVALS_TO_TRUST * (interval ?? INTERVAL_BY_HAND_SECONDS);
}

function seconds(date: Date): number {
  return date.getTime() / 1000;
}

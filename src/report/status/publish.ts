/** Converts stored rows into gauges for /metrics. Omits scores that are too old to trust. */
import { readCheckGauges } from '../../checks/check-store.ts';
import type { Context } from '../../core/context.ts';
import { queryOutcomes, type RunStatus } from '../../core/model.ts';
import { readDensityGauges, readTopicGauges } from '../../density/gauges.ts';
import { readExperimentGauges } from '../../experiments/gauges.ts';
import { liveMixGauges, readScheduleGauges } from '../../golden/gauges.ts';
import type { RunDifference } from '../../golden/rules/compare-golden-runs.ts';
import { type GainMeasure, gainMeasures, type RunLabels, type SegmentScore } from '../../golden/rules/run.ts';
import { type GoldenMeasure, goldenMeasures } from '../../golden/rules/score-run.ts';
import type { LatestRun } from '../../golden/sql/latest-runs.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { readDiagnosisGauges } from '../../incidents/diagnosis/incidents.ts';
import { readSilenceGauges } from '../../incidents/notifications/silences.ts';
import { readProbeGauges } from '../../index/probes/probes.ts';
import { readIndexGauges } from '../../index/truth/measure-index.ts';
import { judgingGauges } from '../../judging/gauges.ts';
import { liveGauges, readIsolationGauges } from '../../live/publish-live.ts';
import { finiteOrNull } from '../../math/stats/descriptive.ts';
import { boundedSamples, type MeasuredRows } from '../../measures/measurements.ts';
import { isRunTooOld } from '../../measures/rules/measurement.ts';
import { changeGauges } from '../../measures/watch-changes.ts';
import {
  type GaugeSample,
  type GaugesAt,
  type KeptGauges,
  type StoredGauges,
  type StoredGaugesAt,
  sample,
} from '../../platform/metrics/meter.ts';

/**
 * Rows from which the gauges of several subjects are built, and which are therefore read only once. `runs` contains
 * full runs, but no sentinel runs.
 */
interface SharedRows extends MeasuredRows {
  readonly runs: readonly LatestRun[];
}

const statuses: readonly RunStatus[] = ['running', 'completed', 'void', 'failed', 'cancelled'];

/** Reads the gauges of one subject; the gauges of golden runs are built in this file. */
type GaugesOfSubject = (context: Context, rows: SharedRows) => GaugesAt | Promise<GaugesAt>;

const gaugesOfSubjects: readonly GaugesOfSubject[] = [
  readScheduleGauges,
  (context, rows) => liveGauges(liveOf(context), rows),
  (context, rows) => changeGauges({ pipelines: namesOf(context), intervalSeconds: context.intervalSeconds }, rows),
  readIsolationGauges,
  readProbeGauges,
  readDensityGauges,
  ({ judgingPlans }, rows) => judgingGauges(judgingPlans, rows),
  readIndexGauges,
  readTopicGauges,
  readDiagnosisGauges,
  readSilenceGauges,
  readExperimentGauges,
  ({ pipelines }, rows) => liveMixGauges(pipelines, rows),
  readCheckGauges,
];

const namesOf = ({ pipelines }: Context): string[] => pipelines.map(({ name }) => name);

/** Returns the input for gauges of live traffic; a value is trusted for a time that depends on `intervalSeconds`. */
const liveOf = (context: Context) => ({ pipelines: namesOf(context), intervalSeconds: context.liveIntervalSeconds });

/** Reads one table at a time, because requests use the same connections and are more urgent. */
export async function readStoredGauges(
  context: Context,
  subjects: readonly GaugesOfSubject[] = gaugesOfSubjects,
): Promise<StoredGaugesAt> {
  const latest = await context.db.golden.runs.latest();
  const rows = { runs: latest, measurements: await context.db.measurements.latest(context.clock.now()) };
  const queues = await context.queue.counts();
  const parts: GaugesAt[] = [];
  for (const read of subjects) parts.push(await read(context, rows));
  const watched = new Set(namesOf(context));
  const fixed = [
    ...context.pipelines.flatMap((pipeline) => configSamples(pipeline, context)),
    ...queues.map(({ queue, state, count }) => sample('recalld_queue_jobs', { queue, state }, count)),
  ];
  return (now) => {
    const runs = latest
      .filter((run) => watched.has(run.pipeline))
      .map((run) => gaugesOfRun(run, context.intervalSeconds(run.pipeline, run.goldenSet), now));
    return {
      current: [...runs.flatMap(({ current }) => current), ...fixed, ...parts.flatMap((part) => part(now))],
      kept: runs.flatMap(({ kept }) => kept),
    };
  };
}

interface SetLabels {
  readonly pipeline: string;
  readonly golden_set: string;
}

/**
 * The score gauges of a run never change after the run has ended, so they are computed once. If the run is too old, its
 * gauges are withheld.
 */
function gaugesOfRun(run: LatestRun, interval: number | null, now: Date): StoredGauges {
  const set = { pipeline: run.pipeline, golden_set: run.goldenSet };
  const current: GaugeSample[] = [
    sample('recalld_golden_run_last_attempt_timestamp_seconds', set, seconds(run.lastAttemptAt)),
    ...statuses.map((status) => sample('recalld_golden_runs', { ...set, status }, run.runsByStatus[status])),
  ];
  if (run.ended !== null) {
    const { outcomes, durationSeconds, forbidden, finishedAt } = run.ended;
    current.push(
      sample('recalld_golden_run_duration_seconds', set, durationSeconds),
      ...queryOutcomes.map((outcome) => sample('recalld_golden_queries', { ...set, outcome }, outcomes[outcome])),
      ...(forbidden === null || isRunTooOld(finishedAt, interval, now)
        ? []
        : [sample('recalld_golden_forbidden_results', set, forbidden)]),
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
  current.push(sample('recalld_golden_segments_overflow', set, segmentsOverflow), ...labelSamples(set, labels));
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
    ...segmentSizes(scores).map(([segment, n]) => sample('recalld_golden_scored_queries', { ...set, segment }, n)),
    ...scores.flatMap((score) => scoreSamples(set, score)),
  ];
}

function scoreSamples(set: SetLabels, score: SegmentScore): GaugeSample[] {
  const labels = { ...set, segment: score.segment, k: String(score.k) };
  if (score.measure === 'unjudged') return [sample('recalld_golden_judged_ratio', labels, 1 - score.mean)];
  if (!isExported(score.measure)) return [];
  const { mean: value, ciLow, ciHigh } = score;
  return boundedSamples(`recalld_golden_${score.measure}`, labels, { value, ciLow, ciHigh: finiteOrNull(ciHigh) });
}

function labelSamples(set: SetLabels, { probed, stale, lost }: RunLabels): GaugeSample[] {
  if (probed === null || stale === null || lost === null || probed === 0) return [];
  return [
    sample('recalld_golden_stale_labels_ratio', set, stale / probed),
    sample('recalld_golden_lost_documents_ratio', set, lost / probed),
  ];
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

function isExported(measure: string): measure is GoldenMeasure | GainMeasure {
  return ([...goldenMeasures, ...gainMeasures] as readonly string[]).includes(measure);
}

function segmentSizes(scores: readonly SegmentScore[]): (readonly [string, number])[] {
  return [...new Map(scores.map((score) => [score.segment, score.n]))];
}

/** Returns the gauges that are exported even before the first run, so that a set that never runs is noticed. */
function configSamples({ name, golden }: WatchedPipeline, { intervalSeconds }: Context): GaugeSample[] {
  return golden.flatMap(({ set }) => {
    const interval = intervalSeconds(name, set);
    const labels = { pipeline: name, golden_set: set };
    return interval === null ? [] : [sample('recalld_golden_run_interval_seconds', labels, interval)];
  });
}

function seconds(date: Date): number {
  return date.getTime() / 1000;
}

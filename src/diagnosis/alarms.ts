/** What is in alarm on a pipeline: the checks that page or make tickets, and what the alert rules see beside them. */
import { isBreach } from '../checks/rules/check-result.ts';
import type { CheckState } from '../checks/rules/check-state.ts';
import { failedShare } from '../golden/rules/run.ts';
import type { LatestRun } from '../golden/sql/latest-runs.ts';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import type { LatestMeasurement } from '../measures/measurements.ts';
import { ageSeconds, INTERVALS_TO_TRUST, type IntervalOf, probeTrustSeconds } from '../measures/rules/measurement.ts';
import { ALL_SEGMENT, type Severity } from '../model.ts';

export interface Alarm {
  readonly name: string;
  readonly severity: Severity;
  /** Whose runs it is about; null for one that is not about a golden set. */
  readonly goldenSet: string | null;
}

export interface AlarmFacts {
  readonly latest: readonly LatestRun[];
  /** Of all pipelines. */
  readonly checks: readonly CheckState[];
  readonly measurements: readonly LatestMeasurement[];
  readonly intervalSeconds: IntervalOf;
}

/** As the alert rules on the answers of golden runs have it. */
const FAILURES_TO_ALARM = 0.05;
const MIN_ANN_RECALL = 0.9;

/** Critical ones first, by name. */
export function alarmsOf(pipeline: WatchedPipeline, facts: AlarmFacts, now: Date): Alarm[] {
  const alarms = [
    ...checkAlarms(pipeline, facts),
    ...facts.latest.filter((run) => run.pipeline === pipeline.name).flatMap((run) => runAlarms(run, facts, now)),
    ...partAlarms(facts.measurements),
  ];
  const rank = ({ severity, name }: Alarm): string => `${severity === 'critical' ? 0 : 1}${name}`;
  return alarms.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

function checkAlarms({ name: pipeline }: WatchedPipeline, { checks }: AlarmFacts): Alarm[] {
  return checks.flatMap((check) =>
    check.pipeline === pipeline && isBreach(check.verdict)
      ? [{ name: check.name, severity: check.verdict, goldenSet: check.goldenSet }]
      : [],
  );
}

function runAlarms(run: LatestRun, { intervalSeconds }: AlarmFacts, now: Date): Alarm[] {
  const { goldenSet, ended, completed, lastAttemptAt } = run;
  const interval = intervalSeconds(run.pipeline, goldenSet);
  const severity = 'critical';
  // Nobody asks of a set that runs by hand when it was run.
  if (interval !== null && ageSeconds(lastAttemptAt, now) > INTERVALS_TO_TRUST * interval)
    return [{ name: `runs of ${goldenSet} are overdue`, severity, goldenSet }];
  if (ended === null) return [];
  if (completed === null || ended.finishedAt > completed.finishedAt)
    return [{ name: `the latest run of ${goldenSet} did not complete`, severity, goldenSet }];
  return failedShare(ended.outcomes) >= FAILURES_TO_ALARM
    ? [{ name: `golden queries of ${goldenSet} fail`, severity, goldenSet }]
    : [];
}

/** Of what probes measure, as the alert rules on parts have it. */
function partAlarms(measurements: readonly LatestMeasurement[]): Alarm[] {
  const severity = 'warning';
  const median = trusted(measurements, 'embedding_canary_median');
  const recall = trusted(measurements, 'ann_recall');
  return [
    ...(median?.details['verdict'] === 'changed'
      ? [{ name: 'the embedding canary moved', severity, goldenSet: null } as const]
      : []),
    ...(recall !== null && (recall.ciHigh ?? recall.value) < MIN_ANN_RECALL
      ? [{ name: 'the index misses near neighbours', severity, goldenSet: null } as const]
      : []),
  ];
}

/** The newest value of a probe over all traffic, while it is fresh enough to trust; null otherwise. */
export function trusted(
  measurements: readonly LatestMeasurement[],
  measure: string,
): NonNullable<LatestMeasurement['newest']> | null {
  const found = measurements.find((one) => one.measure === measure && one.segment === ALL_SEGMENT);
  const newest = found?.newest ?? null;
  if (newest === null || newest.ageSeconds > (probeTrustSeconds(measure) ?? 0)) return null;
  return newest;
}

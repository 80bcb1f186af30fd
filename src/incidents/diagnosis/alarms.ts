/** What is in alarm on a pipeline: the checks that page or make tickets, and what the alert rules see beside them. */
import { alarmHeadline, alarmText, recoveryText } from '../../checks/rules/alarm-text.ts';
import type { CheckState } from '../../checks/rules/check-state.ts';
import { isBreach } from '../../checks/rules/threshold.ts';
import { ALL_SEGMENT, type Severity } from '../../core/model.ts';
import { durationText, percent } from '../../core/text/spelling.ts';
import { ERRORS_SHARE, failedShare, OUTAGE_SHARE } from '../../golden/rules/run.ts';
import { describeFailure, type RunFailure } from '../../golden/rules/run-failure.ts';
import type { LatestRun } from '../../golden/sql/latest-runs.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { MIN_ANN_RECALL } from '../../index/probes/alerts.ts';
import { arrivalLag, wrongShares } from '../../index/truth/measure-index.ts';
import {
  type FindingKind,
  findingWords,
  isLate,
  isWrong,
  lagSentence,
  wrongSentence,
} from '../../index/truth/rules/findings.ts';
import type { KnownPart } from '../../live/deployments/configured-parts.ts';
import type { LatestMeasurement } from '../../measures/measurements.ts';
import {
  ageSeconds,
  INTERVALS_TO_TRUST,
  type IntervalOf,
  probeTrustSeconds,
} from '../../measures/rules/measurement.ts';
import { liveAlarms } from './live-alarms.ts';
import type { Alarm, AlarmCourse, ClosingReason, Recoveries } from './rules/incident.ts';

export interface AlarmFacts {
  /** Runs and checks of other pipelines are passed over. */
  readonly latest: readonly LatestRun[];
  readonly checks: readonly CheckState[];
  /** Of the pipeline alone. */
  readonly measurements: readonly LatestMeasurement[];
  readonly intervalSeconds: IntervalOf;
}

/** Critical ones first, by name. */
export function alarmsOf(pipeline: WatchedPipeline, facts: AlarmFacts, now: Date): Alarm[] {
  const alarms = [
    ...checkAlarms(pipeline, facts),
    ...facts.latest.filter((run) => run.pipeline === pipeline.name).flatMap((run) => runAlarms(run, facts, now)),
    ...partAlarms(facts.measurements),
    ...indexAlarms(facts.measurements, now),
    ...liveAlarms(facts, now),
  ];
  return alarms.toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1));
}

function rankOf({ severity, name }: Alarm): string {
  return `${severity === 'critical' ? 0 : 1}${name}`;
}

function checkAlarms({ name: pipeline }: WatchedPipeline, { checks }: AlarmFacts): Alarm[] {
  return checks.flatMap((check) =>
    check.pipeline === pipeline && isBreach(check.verdict)
      ? [
          {
            name: check.name,
            alert: alertOf(check.kind, check.verdict),
            severity: check.verdict,
            goldenSet: check.goldenSet,
            headline: alarmHeadline(check),
            text: `${alarmText(check)}.`,
            value: check.value,
            threshold: check.threshold,
            ...(check.comparedWith === null ? {} : { comparedWith: check.comparedWith }),
          },
        ]
      : [],
  );
}

/** As the rules on checks have it. */
function alertOf(kind: CheckState['kind'], severity: Severity): string {
  if (kind === 'density_drift') return severity === 'critical' ? 'RecalldDensityDrift' : 'RecalldDensityDriftTicket';
  if (severity === 'critical') return 'RecalldCheckCritical';
  return kind === 'stale_labels' ? 'RecalldStaleLabels' : 'RecalldCheckWarning';
}

function runAlarms(run: LatestRun, { intervalSeconds }: AlarmFacts, now: Date): Alarm[] {
  const { goldenSet, ended, completed, lastAttemptAt } = run;
  const interval = intervalSeconds(run.pipeline, goldenSet);
  const base = { goldenSet, value: null, threshold: null } as const;
  // Nobody asks of a set that runs by hand when it was run.
  const age = ageSeconds(lastAttemptAt, now);
  if (interval !== null && age > INTERVALS_TO_TRUST * interval) {
    const text = `No run of ${goldenSet} was started for ${(age / interval).toFixed(1)} intervals of its schedule.`;
    return [
      {
        ...base,
        name: `runs of ${goldenSet} are overdue`,
        alert: 'RecalldGoldenNotRunning',
        severity: 'critical',
        headline: `golden set ${goldenSet} not run for ${(age / interval).toFixed(1)} intervals`,
        text,
      },
    ];
  }
  if (ended === null) return [];
  const alarms: Alarm[] = [];
  if (completed === null || ended.finishedAt > completed.finishedAt) {
    const name = `the latest run of ${goldenSet} did not complete`;
    const text = `The run of ${goldenSet} that ended at ${ended.finishedAt.toISOString()} did not complete.`;
    const headline = `golden run of ${goldenSet} did not complete`;
    alarms.push({ ...base, name, alert: 'RecalldGoldenRunFailed', severity: 'warning', headline, text });
  }
  const failed = failedShare(ended.outcomes);
  if (failed >= ERRORS_SHARE) {
    const isOutage = failed >= OUTAGE_SHARE;
    alarms.push({
      name: `golden queries of ${goldenSet} fail`,
      alert: isOutage ? 'RecalldRetrieverNotAnswering' : 'RecalldRetrieverErrors',
      severity: isOutage ? 'critical' : 'warning',
      goldenSet,
      headline: `${isOutage ? 'retriever down' : `${percent(failed, 0)} of golden queries failed`}${errorIn(ended.failure)}`,
      text: `${percent(failed)} of the queries of the latest run of ${goldenSet} failed or timed out.${
        ended.failure === null ? '' : ` ${describeFailure(ended.failure)}`
      }`,
      value: failed,
      threshold: ERRORS_SHARE,
    });
  }
  return alarms;
}

/** ` (connection refused)`: what most of the calls failed with. */
function errorIn(failure: RunFailure | null): string {
  return failure === null ? '' : ` (${failure.code.replace(/^http_/, 'HTTP ').replaceAll('_', ' ')})`;
}

/** Of what probes measure, as the alert rules on parts have it. */
function partAlarms(measurements: readonly LatestMeasurement[]): Alarm[] {
  const base = { severity: 'warning', goldenSet: null } as const;
  const median = trusted(measurements, 'embedding_canary_median');
  const recall = trusted(measurements, 'ann_recall');
  const alarms: Alarm[] = [];
  if (median?.details['verdict'] === 'changed') {
    const text = `Fixed texts have other vectors than at first: cosine ${median.value.toFixed(3)} in the middle.`;
    alarms.push({
      ...base,
      name: 'the embedding canary moved',
      alert: 'RecalldEmbedderChanged',
      headline: `embedding canary changed (median cosine ${median.value.toFixed(2)})`,
      text,
      value: null,
      threshold: null,
    });
  }
  const upper = recall === null ? null : (recall.ciHigh ?? recall.value);
  if (recall !== null && upper !== null && upper < MIN_ANN_RECALL) {
    const text = `The index returns ${percent(recall.value)} of the exact nearest neighbours (at most ${percent(upper)}).`;
    const name = 'the index misses near neighbours';
    alarms.push({
      ...base,
      name,
      alert: 'RecalldIndexRecallLow',
      headline: `recall of the index ${percent(recall.value, 0)}, below ${percent(MIN_ANN_RECALL, 0)}`,
      text,
      value: recall.value,
      threshold: MIN_ANN_RECALL,
    });
  }
  return alarms;
}

/**
 * What rang and cannot be judged now: an alarm is not over because nobody measures any more. One whose check is gone
 * from the config is.
 */
export function unjudged(course: readonly AlarmCourse[], checks: readonly CheckState[], pipeline: string): Alarm[] {
  return course.flatMap(({ name, alert, goldenSet, stands, worst }) => {
    const check = checks.find((one) => one.pipeline === pipeline && one.name === name);
    if (stands === null || check?.verdict !== 'no_data') return [];
    const text = `${worst.text} Nothing has judged it since.`;
    const { headline } = worst;
    return [{ name, alert, severity: stands, goldenSet, headline, text, value: null, threshold: null }];
  });
}

/**
 * What was measured of the alarms that are over now, for the message that says so.
 *
 * @param course those of the open incident
 */
export function recoveriesOf(course: readonly AlarmCourse[], { checks, latest }: AlarmFacts): Recoveries {
  return new Map(
    course.flatMap(({ name, alert, goldenSet, stands, worst }): [string, string][] => {
      if (stands === null) return [];
      const check = checks.find((one) => one.name === name);
      const measured =
        check === undefined ? answersAgain(alert, goldenSet, latest) : recoveryText(check, worst.comparedWith ?? null);
      return measured === null ? [] : [[name, measured]];
    }),
  );
}

function answersAgain(alert: string, goldenSet: string | null, latest: readonly LatestRun[]): string | null {
  if (alert !== 'RecalldRetrieverNotAnswering' && alert !== 'RecalldRetrieverErrors') return null;
  const ended = latest.find((run) => run.goldenSet === goldenSet)?.ended ?? null;
  const failed = ended === null ? 1 : failedShare(ended.outcomes);
  if (failed >= ERRORS_SHARE) return null;
  return `retriever answers again (${percent(1 - failed, 0)} of golden queries)`;
}

/** The part of the config that an alarm is of; null where it is of none, or of one that no config ever had. */
function partOf({ name, goldenSet }: Pick<Alarm, 'name' | 'goldenSet'>, parts: readonly KnownPart[]): KnownPart | null {
  return (
    parts.find((part) => part.kind === 'check' && part.name === name) ??
    parts.find((part) => part.kind === 'golden_set' && part.name === goldenSet) ??
    null
  );
}

/** Whether it is of a check or a golden set that left the config. */
export function hasLeft(alarm: Pick<Alarm, 'name' | 'goldenSet'>, parts: readonly KnownPart[]): boolean {
  return partOf(alarm, parts)?.endedAt != null;
}

/** `left_config` when all that still stood is gone from the config. */
export function closingReasonOf(course: readonly AlarmCourse[], parts: readonly KnownPart[]): ClosingReason {
  const standing = course.filter(({ stands }) => stands !== null);
  return standing.length > 0 && standing.every((one) => hasLeft(one, parts)) ? 'left_config' : 'resolved';
}

/**
 * What rang and is of a part that this process does not know and another config that is in force has, as in a rolling
 * deployment: it goes on as it was, until the part has ended everywhere.
 */
export function carriedOver(
  course: readonly AlarmCourse[],
  { golden }: Pick<WatchedPipeline, 'golden'>,
  checks: readonly CheckState[],
  parts: readonly KnownPart[],
): Alarm[] {
  return course.flatMap(({ name, alert, goldenSet, stands, worst }) => {
    const part = partOf({ name, goldenSet }, parts);
    if (stands === null || part === null || part.endedAt !== null) return [];
    const isOurs =
      part.kind === 'check'
        ? checks.some((check) => check.pipeline === part.pipeline && check.name === name)
        : golden.some(({ set }) => set === goldenSet);
    const { headline, text } = worst;
    return isOurs ? [] : [{ name, alert, severity: stands, goldenSet, headline, text, value: null, threshold: null }];
  });
}

/** As the alert rules on index truth have it. */
const indexAlerts: Readonly<Partial<Record<FindingKind, string>>> = {
  missing: 'RecalldIndexMissing',
  orphaned: 'RecalldIndexOrphaned',
  superseded: 'RecalldIndexSuperseded',
  other_model: 'RecalldIndexModelsMixed',
};

function indexAlarms(measurements: readonly LatestMeasurement[], now: Date): Alarm[] {
  const lag = arrivalLag(measurements, now);
  const late: Alarm[] =
    lag === null || !isLate(lag)
      ? []
      : [
          {
            name: 'changes reach the index late',
            alert: 'RecalldIndexLate',
            severity: 'warning',
            goldenSet: null,
            headline: `changes reach the index after ${durationText(lag.seconds)}, limit ${durationText(lag.allowed)}`,
            text: lagSentence(lag),
            value: lag.seconds,
            threshold: lag.allowed,
          },
        ];
  const wrong = wrongShares(measurements, now)
    .filter(isWrong)
    .flatMap((wrong): Alarm[] => {
      const alert = indexAlerts[wrong.kind];
      if (alert === undefined) return [];
      const name = `documents of the index are ${findingWords[wrong.kind]}`;
      const text = wrongSentence(wrong);
      const headline = `${percent(wrong.value)} of the documents of the index are ${findingWords[wrong.kind]}`;
      return [
        { name, alert, severity: 'warning', goldenSet: null, headline, text, value: wrong.value, threshold: null },
      ];
    });
  return [...wrong, ...late];
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

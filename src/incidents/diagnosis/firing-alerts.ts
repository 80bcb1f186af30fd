/** What is in alarm on a pipeline: the checks that page or make tickets, and what the alert rules see beside them. */
import { alertHeadline, alertText, recoveryText } from '../../checks/rules/alert-text.ts';
import type { CheckState } from '../../checks/rules/check-state.ts';
import { isBreach } from '../../checks/rules/threshold.ts';
import { duration, percentage } from '../../core/format.ts';
import { ALL_SEGMENT, type Severity } from '../../core/model.ts';
import { ERRORS_SHARE, failedShare, OUTAGE_SHARE } from '../../golden/rules/run.ts';
import { describeFailure, type RunFailure } from '../../golden/rules/run-failure.ts';
import type { LatestRun } from '../../golden/sql/latest-runs.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { MIN_ANN_RECALL } from '../../index/probes/alerts.ts';
import { arrivalLag, wrongShares } from '../../index/truth/measure-index.ts';
import {
  describeFinding,
  describeLag,
  type FindingKind,
  findingLabels,
  isLate,
  isWrong,
} from '../../index/truth/rules/findings.ts';
import type { KnownItem } from '../../live/deployments/configured-items.ts';
import type { LatestMeasurement } from '../../measures/measurements.ts';
import {
  ageSeconds,
  INTERVALS_TO_TRUST,
  type IntervalOf,
  probeTrustSeconds,
} from '../../measures/rules/measurement.ts';
import { liveAlerts } from './live-alerts.ts';
import type { Alert, AlertTimeline, ClosingReason, Recoveries } from './rules/incident.ts';

export interface AlertFacts {
  /** Runs and checks of other pipelines are passed over. */
  readonly latest: readonly LatestRun[];
  readonly checks: readonly CheckState[];
  /** Of the pipeline alone. */
  readonly measurements: readonly LatestMeasurement[];
  readonly intervalSeconds: IntervalOf;
}

/** Critical ones first, by name. */
export function alertsOf(pipeline: WatchedPipeline, facts: AlertFacts, now: Date): Alert[] {
  const alerts = [
    ...checkAlerts(pipeline, facts),
    ...facts.latest.filter((run) => run.pipeline === pipeline.name).flatMap((run) => runAlerts(run, facts, now)),
    ...partAlerts(facts.measurements),
    ...indexAlerts(facts.measurements, now),
    ...liveAlerts(facts, now),
  ];
  return alerts.toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1));
}

function rankOf({ severity, name }: Alert): string {
  return `${severity === 'critical' ? 0 : 1}${name}`;
}

function checkAlerts({ name: pipeline }: WatchedPipeline, { checks }: AlertFacts): Alert[] {
  return checks.flatMap((check) =>
    check.pipeline === pipeline && isBreach(check.verdict)
      ? [
          {
            name: check.name,
            rule: alertOf(check.kind, check.verdict),
            severity: check.verdict,
            goldenSet: check.goldenSet,
            headline: alertHeadline(check),
            text: `${alertText(check)}.`,
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

function runAlerts(run: LatestRun, { intervalSeconds }: AlertFacts, now: Date): Alert[] {
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
        rule: 'RecalldGoldenNotRunning',
        severity: 'critical',
        headline: `golden set ${goldenSet} not run for ${(age / interval).toFixed(1)} intervals`,
        text,
      },
    ];
  }
  if (ended === null) return [];
  const alerts: Alert[] = [];
  if (completed === null || ended.finishedAt > completed.finishedAt) {
    const name = `the latest run of ${goldenSet} did not complete`;
    const text = `The run of ${goldenSet} that ended at ${ended.finishedAt.toISOString()} did not complete.`;
    const headline = `golden run of ${goldenSet} did not complete`;
    alerts.push({ ...base, name, rule: 'RecalldGoldenRunFailed', severity: 'warning', headline, text });
  }
  const failed = failedShare(ended.outcomes);
  if (failed >= ERRORS_SHARE) {
    const isOutage = failed >= OUTAGE_SHARE;
    alerts.push({
      name: `golden queries of ${goldenSet} fail`,
      rule: isOutage ? 'RecalldRetrieverNotAnswering' : 'RecalldRetrieverErrors',
      severity: isOutage ? 'critical' : 'warning',
      goldenSet,
      headline: `${isOutage ? 'retriever down' : `${percentage(failed)} of golden queries failed`}${errorIn(ended.failure)}`,
      text: `${percentage(failed)} of the queries of the latest run of ${goldenSet} failed or timed out.${
        ended.failure === null ? '' : ` ${describeFailure(ended.failure)}`
      }`,
      value: failed,
      threshold: ERRORS_SHARE,
    });
  }
  return alerts;
}

/** ` (connection refused)`: what most of the calls failed with. */
function errorIn(failure: RunFailure | null): string {
  return failure === null ? '' : ` (${failure.code.replace(/^http_/, 'HTTP ').replaceAll('_', ' ')})`;
}

/** Of what probes measure, as the alert rules on parts have it. */
function partAlerts(measurements: readonly LatestMeasurement[]): Alert[] {
  const base = { severity: 'warning', goldenSet: null } as const;
  const median = trusted(measurements, 'embedding_canary_median');
  const recall = trusted(measurements, 'ann_recall');
  const alerts: Alert[] = [];
  if (median?.details['verdict'] === 'changed') {
    const text = `Fixed texts have other vectors than at first: cosine ${median.value.toFixed(3)} in the middle.`;
    alerts.push({
      ...base,
      name: 'the embedding canary moved',
      rule: 'RecalldEmbedderChanged',
      headline: `embedding canary changed (median cosine ${median.value.toFixed(2)})`,
      text,
      value: null,
      threshold: null,
    });
  }
  const upper = recall === null ? null : (recall.ciHigh ?? recall.value);
  if (recall !== null && upper !== null && upper < MIN_ANN_RECALL) {
    const text = `The index returns ${percentage(recall.value)} of the exact nearest neighbours (at most ${percentage(upper)}).`;
    const name = 'the index misses near neighbours';
    alerts.push({
      ...base,
      name,
      rule: 'RecalldIndexRecallLow',
      headline: `recall of the index ${percentage(recall.value)}, below ${percentage(MIN_ANN_RECALL)}`,
      text,
      value: recall.value,
      threshold: MIN_ANN_RECALL,
    });
  }
  return alerts;
}

/**
 * What rang and cannot be judged now: an alarm is not over because nobody measures any more. One whose check is gone
 * from the config is.
 */
export function unjudged(timeline: readonly AlertTimeline[], checks: readonly CheckState[], pipeline: string): Alert[] {
  return timeline.flatMap(({ name, rule, goldenSet, currentSeverity, worst }) => {
    const check = checks.find((one) => one.pipeline === pipeline && one.name === name);
    if (currentSeverity === null || check?.verdict !== 'no_data') return [];
    const text = `${worst.text} Nothing has judged it since.`;
    const { headline } = worst;
    return [{ name, rule, severity: currentSeverity, goldenSet, headline, text, value: null, threshold: null }];
  });
}

/**
 * What was measured of the alarms that are over now, for the message that says so.
 *
 * @param course those of the open incident
 */
export function recoveriesOf(timeline: readonly AlertTimeline[], { checks, latest }: AlertFacts): Recoveries {
  return new Map(
    timeline.flatMap(({ name, rule, goldenSet, currentSeverity, worst }): [string, string][] => {
      if (currentSeverity === null) return [];
      const check = checks.find((one) => one.name === name);
      const measured =
        check === undefined ? answersAgain(rule, goldenSet, latest) : recoveryText(check, worst.comparedWith ?? null);
      return measured === null ? [] : [[name, measured]];
    }),
  );
}

function answersAgain(rule: string, goldenSet: string | null, latest: readonly LatestRun[]): string | null {
  if (rule !== 'RecalldRetrieverNotAnswering' && rule !== 'RecalldRetrieverErrors') return null;
  const ended = latest.find((run) => run.goldenSet === goldenSet)?.ended ?? null;
  const failed = ended === null ? 1 : failedShare(ended.outcomes);
  if (failed >= ERRORS_SHARE) return null;
  return `retriever answers again (${percentage(1 - failed)} of golden queries)`;
}

/** The part of the config that an alarm is of; null where it is of none, or of one that no config ever had. */
function partOf({ name, goldenSet }: Pick<Alert, 'name' | 'goldenSet'>, parts: readonly KnownItem[]): KnownItem | null {
  return (
    parts.find((part) => part.kind === 'check' && part.name === name) ??
    parts.find((part) => part.kind === 'golden_set' && part.name === goldenSet) ??
    null
  );
}

/** Whether it is of a check or a golden set that left the config. */
export function hasLeft(alert: Pick<Alert, 'name' | 'goldenSet'>, parts: readonly KnownItem[]): boolean {
  return partOf(alert, parts)?.endedAt != null;
}

/** `left_config` when all that still stood is gone from the config. */
export function closingReasonOf(timeline: readonly AlertTimeline[], parts: readonly KnownItem[]): ClosingReason {
  const status = timeline.filter(({ currentSeverity }) => currentSeverity !== null);
  return status.length > 0 && status.every((one) => hasLeft(one, parts)) ? 'left_config' : 'resolved';
}

/**
 * What rang and is of a part that this process does not know and another config that is in force has, as in a rolling
 * deployment: it goes on as it was, until the part has ended everywhere.
 */
export function carriedOver(
  timeline: readonly AlertTimeline[],
  { golden }: Pick<WatchedPipeline, 'golden'>,
  checks: readonly CheckState[],
  parts: readonly KnownItem[],
): Alert[] {
  return timeline.flatMap(({ name, rule, goldenSet, currentSeverity, worst }) => {
    const part = partOf({ name, goldenSet }, parts);
    if (currentSeverity === null || part === null || part.endedAt !== null) return [];
    const isOurs =
      part.kind === 'check'
        ? checks.some((check) => check.pipeline === part.pipeline && check.name === name)
        : golden.some(({ set }) => set === goldenSet);
    const { headline, text } = worst;
    return isOurs
      ? []
      : [{ name, rule, severity: currentSeverity, goldenSet, headline, text, value: null, threshold: null }];
  });
}

/** As the alert rules on index truth have it. */
const indexRules: Readonly<Partial<Record<FindingKind, string>>> = {
  missing: 'RecalldIndexMissing',
  orphaned: 'RecalldIndexOrphaned',
  superseded: 'RecalldIndexSuperseded',
  other_model: 'RecalldIndexModelsMixed',
};

function indexAlerts(measurements: readonly LatestMeasurement[], now: Date): Alert[] {
  const lag = arrivalLag(measurements, now);
  const late: Alert[] =
    lag === null || !isLate(lag)
      ? []
      : [
          {
            name: 'changes reach the index late',
            rule: 'RecalldIndexLate',
            severity: 'warning',
            goldenSet: null,
            headline: `changes reach the index after ${duration(lag.seconds)}, limit ${duration(lag.allowed)}`,
            text: describeLag(lag),
            value: lag.seconds,
            threshold: lag.allowed,
          },
        ];
  const wrong = wrongShares(measurements, now)
    .filter(isWrong)
    .flatMap((wrong): Alert[] => {
      const rule = indexRules[wrong.kind];
      if (rule === undefined) return [];
      const name = `documents of the index are ${findingLabels[wrong.kind]}`;
      const text = describeFinding(wrong);
      const headline = `${percentage(wrong.value)} of the documents of the index are ${findingLabels[wrong.kind]}`;
      return [
        { name, rule, severity: 'warning', goldenSet: null, headline, text, value: wrong.value, threshold: null },
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

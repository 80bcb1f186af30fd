/** Firing alerts of a pipeline: failing checks, and other alert rules whose condition is met. */
import { alertHeadline, alertText, recoveryText } from '../../checks/rules/alert-text.ts';
import type { CheckState } from '../../checks/rules/check-state.ts';
import { isBreach } from '../../checks/rules/threshold.ts';
import { decimal, duration, minute, percentage } from '../../core/format.ts';
import { ALL_SEGMENT, type Severity } from '../../core/model.ts';
import { coverageTitle, UNCOVERED_PERCENTILE } from '../../density/rules/query-density.ts';
import { goldenSegment } from '../../golden/rules/golden-set.ts';
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
  findingNames,
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
import type { LagHistory } from '../../platform/threads/lag-history.ts';
import { liveAlerts, unmeasuredChanges } from './live-alerts.ts';
import { starvedAlerts } from './own-machine.ts';
import {
  type Alert,
  type AlertTimeline,
  alertOf,
  type ClosingReason,
  type NamedAlert,
  type Recoveries,
} from './rules/incident.ts';

/** The facts that determine which alerts of a pipeline fire. Runs and checks of other pipelines are ignored. */
export interface AlertFacts {
  /** Latest runs of the golden sets. */
  readonly latest: readonly LatestRun[];
  readonly checks: readonly CheckState[];
  readonly measurements: readonly LatestMeasurement[];
  readonly intervalSeconds: IntervalOf;
  /** Delays that distort the latencies measured by this process; null if the process does not record them. */
  readonly ownLag: LagHistory | null;
}

/** Returns the firing alerts: critical alerts first, then by name. */
export function alertsOf(pipeline: WatchedPipeline, facts: AlertFacts, now: Date): Alert[] {
  const alerts = [
    ...checkAlerts(pipeline, facts),
    ...facts.latest.filter((run) => run.pipeline === pipeline.name).flatMap((run) => runAlerts(run, facts, now)),
    ...partAlerts(facts.measurements),
    ...indexAlerts(facts.measurements, now),
    ...liveAlerts(facts, now),
  ];
  return alerts
    .map((alert) => ({ ...alert, ...dataOf(alert, facts.measurements) }))
    .toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1));
}

/**
 * Returns where the window behind the latest value of an alert's measure starts (`from`); an empty object for a golden
 * score.
 */
function dataOf({ measured }: Alert, measurements: AlertFacts['measurements']) {
  const found = measurements.find(
    ({ measure, segment }) => measure === measured?.measure && segment === measured.segment,
  );
  return found?.newest == null ? {} : { from: found.newest.windowStart };
}

function rankOf({ severity, name }: Alert): string {
  return `${severity === 'critical' ? 0 : 1}${name}`;
}

function checkAlerts({ name: pipeline }: WatchedPipeline, { checks, measurements }: AlertFacts): Alert[] {
  return checks.flatMap((check): Alert[] => {
    const { name, kind, verdict: severity, goldenSet, value, threshold } = check;
    if (check.pipeline !== pipeline || !isBreach(severity)) return [];
    const comparedWith = check.comparedWith ?? undefined;
    const parts = { severity, goldenSet, value, threshold, comparedWith, ...measuredBy(check) };
    const coverage = kind === 'density_drift' ? coverageTexts(check, measurements) : {};
    const alert = alertOf(name, ruleOf(kind, severity), alertHeadline(check), `${alertText(check)}.`, parts);
    return [{ ...alert, ...coverage }];
  });
}

/**
 * Returns a headline and a text for a density alert. Both state the share of poorly covered traffic, because the
 * check's own statistic does not show it. Returns an empty object if the share is no higher than in the baseline. In
 * that case, either the alert still fires after a recovery, or coverage dropped in only one region of the embedding
 * space.
 */
function coverageTexts(check: CheckState, measurements: AlertFacts['measurements']): Partial<Alert> {
  const share = measurements.find((one) => one.measure === 'query_uncovered_ratio' && one.segment === ALL_SEGMENT)
    ?.newest?.value;
  if (share === undefined || share <= UNCOVERED_PERCENTILE) return {};
  const headline = coverageTitle(share);
  return { headline, text: `${headline}. ${alertText(check)}.` };
}

function measuredBy({ kind, measure, goldenSet, segment }: CheckState) {
  switch (kind) {
    case 'floor':
    case 'regression':
      return goldenSet === null ? {} : measured(measure, goldenSegment(goldenSet));
    case 'threshold':
      return measured(measure, segment ?? (goldenSet === null ? ALL_SEGMENT : goldenSegment(goldenSet)));
    case 'density_drift':
      return measured('query_uncovered_ratio');
    case 'stale_labels':
    case 'forbidden_results':
    case 'isolation':
      return {};
  }
}

function measured(measure: string, segment = ALL_SEGMENT) {
  return { measured: { measure, segment } };
}

/** Alert rule for an isolation violation; checks/edge/alerts.ts uses the same name. */
export const ISOLATION_ALERT = 'RecalldIsolationViolated';
export const OUTAGE_ALERT = 'RecalldRetrieverNotAnswering';

/** Returns the alert rule of a failing check; same mapping as checks/edge/alerts.ts. */
function ruleOf(kind: CheckState['kind'], severity: Severity): string {
  if (kind === 'isolation') return ISOLATION_ALERT;
  if (kind === 'density_drift') return severity === 'critical' ? 'RecalldDensityDrift' : 'RecalldDensityDriftTicket';
  if (severity === 'critical') return 'RecalldCheckCritical';
  return kind === 'stale_labels' ? 'RecalldStaleLabels' : 'RecalldCheckWarning';
}

function runAlerts(run: LatestRun, { intervalSeconds, ownLag }: AlertFacts, now: Date): Alert[] {
  const { goldenSet, ended, completed, lastAttemptAt } = run;
  const interval = intervalSeconds(run.pipeline, goldenSet);
  // A golden set without a schedule cannot be overdue.
  const age = ageSeconds(lastAttemptAt, now);
  if (interval !== null && age > INTERVALS_TO_TRUST * interval) {
    const name = `runs of ${goldenSet} are overdue`;
    const headline = `golden set ${goldenSet} not run for ${duration(age)}`;
    const text = `No run of the golden set ${goldenSet} has started for ${duration(age)} (${decimal(age / interval)} scheduled intervals).`;
    return [alertOf(name, 'RecalldGoldenNotRunning', headline, text, { severity: 'critical', goldenSet })];
  }
  if (ended === null) return [];
  const alerts = starvedAlerts(run, ownLag);
  if (completed === null || ended.finishedAt > completed.finishedAt) {
    const name = `the latest run of ${goldenSet} did not complete`;
    const text = `The run of the golden set ${goldenSet} that ended at ${minute(ended.finishedAt)} UTC did not complete.`;
    const headline = `golden run of ${goldenSet} did not complete`;
    alerts.push(alertOf(name, 'RecalldGoldenRunFailed', headline, text, { goldenSet }));
  }
  const failed = failedShare(ended.outcomes);
  if (failed >= ERRORS_SHARE) {
    const isOutage = failed >= OUTAGE_SHARE;
    const [rule, severity, what] = isOutage
      ? ([OUTAGE_ALERT, 'critical', 'retriever down'] as const)
      : (['RecalldRetrieverErrors', 'warning', `${percentage(failed)} of golden queries failed`] as const);
    const because = ended.failure === null ? '' : ` ${describeFailure(ended.failure)}`;
    const text = `${percentage(failed)} of the queries in the latest run of ${goldenSet} failed or timed out.${because}`;
    const numbers = { value: failed, threshold: ERRORS_SHARE };
    const parts = { severity, goldenSet, ...numbers, ...measured('retriever_error_ratio', goldenSegment(goldenSet)) };
    alerts.push(alertOf(`golden queries of ${goldenSet} fail`, rule, `${what}${errorIn(ended.failure)}`, text, parts));
  }
  return alerts;
}

/** Formats the code of the first error, such as ` (connection refused)`. */
function errorIn(failure: RunFailure | null): string {
  return failure === null ? '' : ` (${failure.code.replace(/^http_/, 'HTTP ').replaceAll('_', ' ')})`;
}

/** Returns the alerts on probes, under the same conditions as the alert rules in index/probes/alerts.ts. */
function partAlerts(measurements: readonly LatestMeasurement[]): Alert[] {
  const median = trusted(measurements, 'embedding_canary_median');
  const recall = trusted(measurements, 'ann_recall');
  const alerts: Alert[] = [];
  if (median?.details['verdict'] === 'changed') {
    const name = 'embedding canary changed';
    const headline = `${name} (median cosine ${decimal(median.value)})`;
    const text = `Embedding canary changed: median cosine ${decimal(median.value)} (1 for an unchanged model).`;
    alerts.push(alertOf(name, 'RecalldEmbedderChanged', headline, text, measured('embedding_canary_median')));
  }
  const upper = recall === null ? null : (recall.ciHigh ?? recall.value);
  if (recall !== null && upper !== null && upper < MIN_ANN_RECALL) {
    const text = `The index returns ${percentage(recall.value)} of the exact nearest neighbors (upper 95 % bound ${percentage(upper)}, minimum ${percentage(MIN_ANN_RECALL)}).`;
    const headline = `index recall ${percentage(recall.value)}, below ${percentage(MIN_ANN_RECALL)}`;
    const numbers = { value: recall.value, threshold: MIN_ANN_RECALL, ...measured('ann_recall') };
    alerts.push(alertOf('low index recall', 'RecalldIndexRecallLow', headline, text, numbers));
  }
  return alerts;
}

/**
 * Returns an incident's alerts whose checks or measures currently have no data. Missing data does not resolve an alert:
 * an alert resolves only if the value is good again, or if its check is removed from the config.
 */
export function withoutData(
  timeline: readonly AlertTimeline[],
  facts: AlertFacts,
  pipeline: string,
  now: Date,
): Alert[] {
  const unmeasured = unmeasuredChanges(timeline, facts, now);
  return timeline.flatMap((known) => {
    const { name, rule, goldenSet, currentSeverity, worst } = known;
    const check = facts.checks.find((one) => one.pipeline === pipeline && one.name === name);
    const hasNoData = check?.verdict === 'no_data' || unmeasured.includes(known);
    if (currentSeverity === null || !hasNoData) return [];
    const text = `${worst.text} No data since then.`;
    return [alertOf(name, rule, worst.headline, text, { severity: currentSeverity, goldenSet })];
  });
}

/** Returns the recovered values of resolved alerts, for the last notification of an incident. */
export function recoveriesOf(timeline: readonly AlertTimeline[], { checks, latest }: AlertFacts): Recoveries {
  return new Map(
    timeline.flatMap(({ name, rule, goldenSet, currentSeverity, worst }): [string, string][] => {
      if (currentSeverity === null) return [];
      const check = checks.find((one) => one.name === name);
      const measured =
        check === undefined
          ? retrieverRecovery(rule, goldenSet, latest)
          : recoveryText(check, worst.comparedWith ?? null);
      return measured === null ? [] : [[name, measured]];
    }),
  );
}

function retrieverRecovery(rule: string, goldenSet: string | null, latest: readonly LatestRun[]): string | null {
  if (rule !== OUTAGE_ALERT && rule !== 'RecalldRetrieverErrors') return null;
  const ended = latest.find((run) => run.goldenSet === goldenSet)?.ended ?? null;
  const failed = ended === null ? 1 : failedShare(ended.outcomes);
  if (failed >= ERRORS_SHARE) return null;
  return `retriever responds again (${percentage(1 - failed)} of golden queries succeed)`;
}

/**
 * Returns the check or golden set of an alert. Null if the alert has neither, or if no config has ever contained it.
 */
function partOf({ name, goldenSet }: NamedAlert, parts: readonly KnownItem[]): KnownItem | null {
  return (
    parts.find((part) => part.kind === 'check' && part.name === name) ??
    parts.find((part) => part.kind === 'golden_set' && part.name === goldenSet) ??
    null
  );
}

/** Returns true if the check or golden set of an alert was removed from the config. */
export function hasLeftConfig(alert: NamedAlert, parts: readonly KnownItem[]): boolean {
  return partOf(alert, parts)?.endedAt != null;
}

/** Returns `left_config` if the config no longer contains any of the alerts that were still firing. */
export function closingReasonOf(timeline: readonly AlertTimeline[], parts: readonly KnownItem[]): ClosingReason {
  const firing = timeline.filter(({ currentSeverity }) => currentSeverity !== null);
  return firing.length > 0 && firing.every((one) => hasLeftConfig(one, parts)) ? 'left_config' : 'resolved';
}

/**
 * Returns an incident's alerts whose check or golden set is missing from the config of this process, but still present
 * in another active config, as during a rolling deployment. An alert keeps firing until no config contains its check or
 * golden set.
 */
export function carriedOver(
  timeline: readonly AlertTimeline[],
  golden: WatchedPipeline['golden'],
  checks: readonly CheckState[],
  parts: readonly KnownItem[],
): Alert[] {
  return timeline.flatMap((known) => {
    const { name, rule, goldenSet, currentSeverity, worst } = known;
    const part = partOf(known, parts);
    if (currentSeverity === null || part === null || part.endedAt !== null) return [];
    const isOurs =
      part.kind === 'check'
        ? checks.some((check) => check.pipeline === part.pipeline && check.name === name)
        : golden.some(({ set }) => set === goldenSet);
    return isOurs ? [] : [alertOf(name, rule, worst.headline, worst.text, { severity: currentSeverity, goldenSet })];
  });
}

/** Alert rule of each kind of index finding, as in index/truth/edge/alerts.ts. */
const indexRules: Readonly<Partial<Record<FindingKind, string>>> = {
  missing: 'RecalldIndexMissing',
  orphaned: 'RecalldIndexOrphaned',
  superseded: 'RecalldIndexSuperseded',
  other_model: 'RecalldIndexModelsMixed',
};

function indexAlerts(measurements: readonly LatestMeasurement[], now: Date): Alert[] {
  const alerts = wrongShares(measurements, now)
    .filter(isWrong)
    .flatMap((wrong): Alert[] => {
      const rule = indexRules[wrong.kind];
      if (rule === undefined) return [];
      const name = findingNames[wrong.kind];
      const headline = `${percentage(wrong.value)} of the ${name}`;
      const numbers = { value: wrong.value, ...measured(`index_${wrong.kind}_ratio`) };
      return [alertOf(name, rule, headline, describeFinding(wrong), numbers)];
    });
  const lag = arrivalLag(measurements, now);
  if (lag !== null && isLate(lag)) {
    const headline = `document changes reach the index after ${duration(lag.seconds)}, limit ${duration(lag.allowed)}`;
    const numbers = { value: lag.seconds, threshold: lag.allowed, ...measured('index_lag_seconds') };
    alerts.push(alertOf('changes reach the index late', 'RecalldIndexLate', headline, describeLag(lag), numbers));
  }
  return alerts;
}

/** Returns the newest probe value over all traffic; null if this value is too old to trust. */
export function trusted(
  measurements: readonly LatestMeasurement[],
  measure: string,
): NonNullable<LatestMeasurement['newest']> | null {
  const found = measurements.find((one) => one.measure === measure && one.segment === ALL_SEGMENT);
  const newest = found?.newest ?? null;
  if (newest === null || newest.ageSeconds > (probeTrustSeconds(measure) ?? 0)) return null;
  return newest;
}

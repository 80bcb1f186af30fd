/**
 * Derives a pipeline's status from stored data. A pipeline is never `ok` while required data is missing or too old
 * (`no_data`) or while an alert is firing. Both conditions are evaluated from the same facts.
 */

import type { CheckState } from '../../checks/rules/check-state.ts';
import { isBlind } from '../../checks/rules/regression.ts';
import { worstVerdict } from '../../checks/rules/threshold.ts';
import { capitalized, duration, percentage } from '../../core/format.ts';
import { ALL_SEGMENT, type Verdict } from '../../core/model.ts';
import { ERRORS_SHARE, failedShare, OUTAGE_SHARE } from '../../golden/rules/run.ts';
import { describeFailure } from '../../golden/rules/run-failure.ts';
import type { LatestRun } from '../../golden/sql/latest-runs.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { alertsOf } from '../../incidents/diagnosis/firing-alerts.ts';
import type { Alert } from '../../incidents/diagnosis/rules/incident.ts';
import { DROP_EVIDENCE, FEEDBACK_BASELINE } from '../../live/measure-feedback.ts';
import { SAMPLES_READ } from '../../live/measure-live-traffic.ts';
import { BASELINE_CTR } from '../../live/read-live-window.ts';
import { isTooOld, type LatestMeasurement } from '../../measures/measurements.ts';
import type { NormalRange } from '../../measures/rules/measure-change.ts';
import { gapWords, measureRow } from '../../measures/rules/measure-table.ts';
import { ageSeconds, type IntervalOf, isRunTooOld } from '../../measures/rules/measurement.ts';
import { NORMAL_RANGES } from '../../measures/watch-changes.ts';
import type { LagHistory } from '../../platform/threads/lag-history.ts';

export type GoldenSetStatus = ReturnType<typeof goldenStatuses>[number];

export type MeasurementStatus = ReturnType<typeof measurementStatuses>[number];

export type PipelineStatus = ReturnType<typeof pipelineStatus>;

/** Stored data for all pipelines, and the schedules on which this data is refreshed. */
export interface StatusFacts {
  readonly latest: readonly LatestRun[];
  readonly measurements: readonly LatestMeasurement[];
  readonly intervalSeconds: IntervalOf;
  readonly checks: readonly CheckState[];
  /** Longest interval between two live traffic measurements. */
  readonly liveIntervalSeconds: number;
  /** Delays of this process; null if it does not record them. */
  readonly ownLag: LagHistory | null;
}

export interface Reason {
  /** Status that the pipeline would have for this reason alone. */
  readonly verdict: Verdict;
  readonly sentence: string;
  /** Shorter text for a title. */
  readonly headline?: string;
}

/** Intermediate results that are stored like measures but are not shown. */
const internalMeasures: ReadonlySet<string> = new Set([BASELINE_CTR, NORMAL_RANGES, FEEDBACK_BASELINE, DROP_EVIDENCE]);

export function pipelineStatus(pipeline: WatchedPipeline, facts: StatusFacts, now: Date) {
  const { name } = pipeline;
  const checks = facts.checks.filter((one) => one.pipeline === name);
  const golden = goldenStatuses(pipeline, facts, now);
  const own = facts.measurements.filter((one) => one.pipeline === name);
  const measurements = measurementStatuses(own, facts, now);
  const alerts = alertsOf(pipeline, { ...facts, measurements: own }, now);
  const withData = checks.filter(({ isQuiet }) => !isQuiet);
  const findings = [
    ...withData.map(checkFinding),
    ...(withData.length === 0 ? [checks.length === 0 ? noChecks : noChecksWithData] : []),
    ...golden.flatMap((set) => goldenFindings(set, facts.latest, name)),
    ...alerts.filter((alert) => isNotCovered(alert, checks)).map(alertFinding),
    ...requiredMeasures(pipeline).flatMap((required) => measureFindings(required, measurements)),
  ];
  return {
    pipeline: name,
    /** Worst verdict of the checks and the required data. */
    state: worstVerdict(findings.map(({ verdict }) => verdict)),
    /** Reasons why the pipeline is not ok, worst first. */
    reasons: worstFirst(findings.filter(({ verdict }) => verdict !== 'ok')),
    /**
     * Missing data that does not change the status, such as missing data for checks with little traffic; one sentence
     * each.
     */
    unknowns: unknownsOf(checks, measurements),
    alerts,
    checks,
    golden,
    measurements,
  };
}

function measurementStatuses(own: readonly LatestMeasurement[], { liveIntervalSeconds }: StatusFacts, now: Date) {
  return own
    .filter((one) => !internalMeasures.has(one.measure))
    .map((one) => ({ ...one, isTooOld: isTooOld(one, now, liveIntervalSeconds), normal: normalRangeOf(one, own) }));
}

/** Returns null if the measure is not watched for changes, or while its range is being learned. */
function normalRangeOf(
  { measure, segment }: LatestMeasurement,
  measurements: readonly LatestMeasurement[],
): NormalRange | null {
  const learned = measurements.find((one) => one.measure === NORMAL_RANGES && one.segment === segment)?.newest;
  return ((learned?.details ?? {}) as Readonly<Record<string, NormalRange>>)[measure] ?? null;
}

/**
 * Returns the open incident of a pipeline. Returns null if the pipeline is healthy, because its open incident, if any,
 * is about to be closed.
 */
export function openIncidentOf<Stored extends { readonly pipeline: string }>(
  { pipeline, state }: PipelineStatus,
  open: readonly Stored[],
): Stored | null {
  return state === 'ok' ? null : (open.find((one) => one.pipeline === pipeline) ?? null);
}

/**
 * Describes a pipeline whose status lists no reasons; if data is missing, quotes the first sentence about missing data.
 */
export function healthySentence([first, ...others]: readonly string[]): string {
  if (first === undefined) return 'All checks pass; all data is fresh.';
  const rest = others.length === 0 ? '' : ` And ${others.length} more.`;
  return `No alert is firing, but some data is missing. ${first}${rest}`;
}

const noChecks: Reason = {
  verdict: 'no_data',
  sentence: 'No check is configured, so the quality of this pipeline is unknown.',
};

const noChecksWithData: Reason = {
  verdict: 'no_data',
  sentence: 'No check has enough data yet, so the quality of this pipeline is unknown.',
};

/**
 * Returns true for alerts that no other reason covers. The reasons from checks and golden runs cover the alerts about
 * these checks and runs.
 */
function isNotCovered({ name, goldenSet }: Alert, checks: readonly CheckState[]): boolean {
  return goldenSet === null && !checks.some((check) => check.name === name);
}

function alertFinding({ name, severity }: Alert): Reason {
  return { verdict: severity, sentence: `${capitalized(name)}.` };
}

function unknownsOf(checks: readonly CheckState[], measurements: readonly MeasurementStatus[]): string[] {
  const old = measurements.filter(({ segment, isTooOld }) => segment === ALL_SEGMENT && isTooOld);
  return [
    ...checks.filter((check) => check.isQuiet || isBlind(check)).map((check) => checkFinding(check).sentence),
    ...old.map((measurement) => tooOld(measureRow(measurement.measure).title, measurement)),
  ];
}

function worstFirst(findings: readonly Reason[]): readonly Reason[] {
  return verdictsWorstFirst.flatMap((verdict) => findings.filter((finding) => finding.verdict === verdict));
}

/** Verdicts, the worst first. Missing data may hide a worse verdict, so `no_data` is listed before `warning`. */
export const verdictsWorstFirst: readonly Verdict[] = ['critical', 'no_data', 'warning', 'ok'];

function checkFinding({ name, verdict, explanation, isTooOld }: CheckState): Reason {
  if (explanation === null) return { verdict, sentence: `${name}: not evaluated yet.` };
  const sentence = `${name}: ${isTooOld ? 'the last evaluation is too old to trust.' : explanation}`;
  return verdict === 'no_data' ? { verdict, sentence, headline: `no data for ${name}` } : { verdict, sentence };
}

/**
 * Returns the status of each golden set in the config, followed by the status of each set that was run but is not in
 * the config.
 */
function goldenStatuses({ name, golden }: WatchedPipeline, facts: StatusFacts, now: Date) {
  const own = facts.latest.filter(({ pipeline }) => pipeline === name);
  const configured = golden.map(({ set }) => set);
  const manual = own.map(({ goldenSet }) => goldenSet).filter((set) => !configured.includes(set));
  return [...configured, ...manual].map((goldenSet) => {
    const run = own.find((one) => one.goldenSet === goldenSet);
    const completed = run?.completed ?? null;
    return {
      goldenSet,
      isConfigured: configured.includes(goldenSet),
      /** Schedule; null if the set is only run manually. */
      cron: golden.find(({ set }) => set === goldenSet)?.cron?.expression ?? null,
      lastAttemptAt: run?.lastAttemptAt ?? null,
      completed: completed && {
        ...completed,
        ageSeconds: ageSeconds(completed.finishedAt, now),
        isTooOld: isRunTooOld(completed.finishedAt, facts.intervalSeconds(name, goldenSet), now),
      },
    };
  });
}

function goldenFindings(
  { goldenSet: set, isConfigured, completed }: GoldenSetStatus,
  latest: readonly LatestRun[],
  pipeline: string,
): Reason[] {
  const verdict = 'no_data';
  const ended = latest.find((run) => run.pipeline === pipeline && run.goldenSet === set)?.ended ?? null;
  const failure = ended?.failure ?? null;
  if (ended !== null && (completed === null || ended.finishedAt > completed.finishedAt)) {
    const why = failure === null ? '.' : `: ${describeFailure(failure)}`;
    return [{ verdict, sentence: `The last run of the golden set ${set} produced no scores${why}` }];
  }
  // A golden set that is not in the config was run manually, so no further run is expected.
  if (isConfigured && completed === null)
    return [{ verdict, sentence: `No run of the golden set ${set} has completed yet.` }];
  if (isConfigured && completed?.isTooOld === true)
    return [{ verdict, sentence: `The last completed run of the golden set ${set} is too old to trust.` }];
  if (ended === null || failure === null) return [];
  const share = failedShare(ended.outcomes);
  const sentence = `${percentage(share)} of the queries in the last run of the golden set ${set} failed: ${describeFailure(failure)}`;
  return share < ERRORS_SHARE ? [] : [{ verdict: share < OUTAGE_SHARE ? 'warning' : 'critical', sentence }];
}

/** Returns the measures that a pipeline has even without traffic, each with the name that sentences use for it. */
function requiredMeasures({ store, embedder }: WatchedPipeline): { readonly measure: string; readonly part: string }[] {
  return [
    { measure: SAMPLES_READ, part: 'Live traffic' },
    ...(store === null ? [] : [{ measure: 'store_vectors', part: 'The vector store' }]),
    ...(embedder === null ? [] : [{ measure: 'embedding_canary_median', part: 'The embedder' }]),
  ];
}

function measureFindings(
  { measure, part }: ReturnType<typeof requiredMeasures>[number],
  measurements: readonly MeasurementStatus[],
): Reason[] {
  const verdict = 'no_data';
  const found = measurements.find((one) => one.measure === measure && one.segment === ALL_SEGMENT);
  if (found === undefined) return [{ verdict, sentence: `${part} has not been measured yet.` }];
  if (found.isTooOld) return [{ verdict, sentence: tooOld(part, found) }];
  // Some stores cannot count their vectors, which is not a failure.
  if (found.gap !== null && found.gap.reason !== 'unsupported')
    return [{ verdict, sentence: `${part} could not be measured: ${gapWords(found.gap.reason)}.` }];
  return [];
}

function tooOld(part: string, { gap, newest }: LatestMeasurement): string {
  const last = gap ?? newest;
  return last === null
    ? `${part} has no measurement.`
    : `${part}: last measured ${duration(last.ageSeconds)} ago, too long ago to trust.`;
}

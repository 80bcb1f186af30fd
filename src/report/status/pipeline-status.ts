/**
 * How a pipeline stands, from what is stored of it. What must be fresh and is not makes it `no_data`, never `ok`; what is
 * in alarm is never `ok` either, since both are read from the same facts at the same time.
 */

import type { CheckState } from '../../checks/rules/check-state.ts';
import { isBlind } from '../../checks/rules/regression.ts';
import { worstVerdict } from '../../checks/rules/threshold.ts';
import { ALL_SEGMENT, type Verdict } from '../../core/model.ts';
import { ERRORS_SHARE, failedShare, OUTAGE_SHARE } from '../../golden/rules/run.ts';
import { describeFailure } from '../../golden/rules/run-failure.ts';
import type { LatestRun } from '../../golden/sql/latest-runs.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { alarmsOf } from '../../incidents/diagnosis/alarms.ts';
import type { Alarm, Incident } from '../../incidents/diagnosis/rules/incident.ts';
import { DROP_EVIDENCE, FEEDBACK_BASELINE } from '../../live/measure-feedback.ts';
import { SAMPLES_READ } from '../../live/measure-live-traffic.ts';
import { REFERENCE } from '../../live/read-live-window.ts';
import type { LatestMeasurement } from '../../measures/measurements.ts';
import { gapWords, measureRow } from '../../measures/rules/measure-table.ts';
import { ageSeconds, type IntervalOf, isRunTooOld, measurementTrustSeconds } from '../../measures/rules/measurement.ts';
import { NORMAL_RANGES } from '../../measures/watch-changes.ts';

export interface GoldenSetStatus {
  readonly goldenSet: string;
  /** Whether the config names it; others ran by hand. */
  readonly isConfigured: boolean;
  /** Null: it runs by hand. */
  readonly cron: string | null;
  readonly lastAttemptAt: Date | null;
  readonly completed: (NonNullable<LatestRun['completed']> & AgedValue) | null;
}

export interface MeasurementStatus extends LatestMeasurement, Pick<AgedValue, 'isTooOld'> {}

interface AgedValue {
  readonly ageSeconds: number;
  readonly isTooOld: boolean;
}

export interface PipelineStatus {
  readonly pipeline: string;
  /** The worst of its checks, and of what must be fresh. */
  readonly state: Verdict;
  /** Why it is not ok, worst first. */
  readonly reasons: readonly Reason[];
  /** What is not known although nothing is wrong: checks without data, values that are too old. One sentence each. */
  readonly unknowns: readonly string[];
  /** What is in alarm. */
  readonly alarms: readonly Alarm[];
  readonly checks: readonly CheckState[];
  /** Those of the config, then others that ran by hand. */
  readonly golden: readonly GoldenSetStatus[];
  readonly measurements: readonly MeasurementStatus[];
}

/** What is stored of all pipelines, and by which schedules it is made. */
export interface StatusFacts {
  readonly latest: readonly LatestRun[];
  readonly measurements: readonly LatestMeasurement[];
  readonly intervalSeconds: IntervalOf;
  readonly checks: readonly CheckState[];
  /** Longest gap between two measurements of live traffic. */
  readonly liveIntervalSeconds: number;
}

interface Reason {
  /** That it makes of the pipeline by itself. */
  readonly verdict: Verdict;
  readonly sentence: string;
}

/** Upkeep of a measure, which is no measure itself. */
const internalMeasures: ReadonlySet<string> = new Set([REFERENCE, NORMAL_RANGES, FEEDBACK_BASELINE, DROP_EVIDENCE]);

/** @param now that ages are reckoned from */
export function pipelineStatus(pipeline: WatchedPipeline, facts: StatusFacts, now: Date): PipelineStatus {
  const { name } = pipeline;
  const checks = facts.checks.filter((one) => one.pipeline === name);
  const golden = goldenStatuses(pipeline, facts, now);
  const own = facts.measurements.filter((one) => one.pipeline === name);
  const measurements = own
    .filter((one) => !internalMeasures.has(one.measure))
    .map((one) => ({ ...one, isTooOld: isMeasurementTooOld(one, facts) }));
  const alarms = alarmsOf(pipeline, { ...facts, measurements: own }, now);
  const judging = checks.filter(({ isQuiet }) => !isQuiet);
  const findings = [
    ...judging.map(checkFinding),
    ...(judging.length === 0 ? [checks.length === 0 ? nothingChecked : nothingJudged] : []),
    ...golden.flatMap((set) => goldenFindings(set, facts.latest, name)),
    ...alarms.filter((alarm) => isToldByItself(alarm, checks)).map(alarmFinding),
    ...requiredMeasures(pipeline).flatMap((required) => measureFindings(required, measurements)),
  ];
  const state = worstVerdict(findings.map(({ verdict }) => verdict));
  const unknowns = unknownsOf(checks, measurements);
  return { pipeline: name, state, reasons: worstFirst(findings), unknowns, alarms, checks, golden, measurements };
}

/** The incident of a pipeline; one that nobody has closed yet says nothing of a pipeline that is well. */
export function openIncidentOf<Stored extends Pick<Incident, 'pipeline'>>(
  { pipeline, state }: Pick<PipelineStatus, 'pipeline' | 'state'>,
  open: readonly Stored[],
): Stored | null {
  return state === 'ok' ? null : (open.find((one) => one.pipeline === pipeline) ?? null);
}

/** What there is to say of a pipeline of which nothing is in alarm and nothing is missing. */
export function healthySentence({ unknowns }: Pick<PipelineStatus, 'unknowns'>): string {
  return unknowns.length === 0
    ? 'Every check holds, and everything that must be fresh is.'
    : 'Nothing is in alarm. Not everything is known:';
}

const nothingChecked: Reason = {
  verdict: 'no_data',
  sentence: 'It has no check, so that nothing says whether it is well.',
};

const nothingJudged: Reason = {
  verdict: 'no_data',
  sentence: 'No check has enough data to judge by, so that nothing says whether it is well.',
};

/** Checks speak for themselves, and golden runs by what became of the last one. */
function isToldByItself({ name, goldenSet }: Alarm, checks: readonly CheckState[]): boolean {
  return goldenSet === null && !checks.some((check) => check.name === name);
}

function alarmFinding({ name, severity }: Alarm): Reason {
  return { verdict: severity, sentence: `${name.charAt(0).toUpperCase()}${name.slice(1)}.` };
}

function unknownsOf(checks: readonly CheckState[], measurements: readonly MeasurementStatus[]): string[] {
  const old = measurements.filter(({ segment, isTooOld }) => segment === ALL_SEGMENT && isTooOld);
  return [
    ...checks.filter((check) => check.isQuiet || isBlind(check)).map((check) => checkFinding(check).sentence),
    ...old.map(({ measure }) => `${measureRow(measure).title} was measured too long ago to trust.`),
  ];
}

function worstFirst(findings: readonly Reason[]): Reason[] {
  const order: readonly Verdict[] = ['critical', 'no_data', 'warning'];
  return order.flatMap((verdict) => findings.filter((finding) => finding.verdict === verdict));
}

function checkFinding({ name, goldenSet, verdict, explanation, isTooOld }: CheckState): Reason {
  const judge = goldenSet === null ? 'nothing' : 'no run';
  if (explanation === null) return { verdict, sentence: `${name}: ${judge} has judged it yet.` };
  if (isTooOld) {
    const last = goldenSet === null ? 'what' : 'the run that';
    return { verdict, sentence: `${name}: ${last} judged it last is too old to trust.` };
  }
  return { verdict, sentence: `${name}: ${explanation}` };
}

function goldenStatuses({ name, golden }: WatchedPipeline, facts: StatusFacts, now: Date): GoldenSetStatus[] {
  const own = facts.latest.filter(({ pipeline }) => pipeline === name);
  const configured = golden.map(({ set }) => set);
  const byHand = own.map(({ goldenSet }) => goldenSet).filter((set) => !configured.includes(set));
  return [...configured, ...byHand].map((goldenSet) => {
    const run = own.find((one) => one.goldenSet === goldenSet);
    const completed = run?.completed ?? null;
    return {
      goldenSet,
      isConfigured: configured.includes(goldenSet),
      cron: golden.find(({ set }) => set === goldenSet)?.cron?.expression ?? null,
      lastAttemptAt: run?.lastAttemptAt ?? null,
      completed:
        completed === null
          ? null
          : {
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
    return [{ verdict, sentence: `The last run of ${set} is void or failed${why}` }];
  }
  // Nobody asks of a set that runs by hand when it was run.
  if (isConfigured && completed === null) return [{ verdict, sentence: `No run of ${set} has completed yet.` }];
  if (isConfigured && completed?.isTooOld === true)
    return [{ verdict, sentence: `The last run of ${set} that completed is too old to trust.` }];
  if (ended === null || failure === null) return [];
  const share = failedShare(ended.outcomes);
  const sentence = `The retriever failed queries of the last run of ${set}: ${describeFailure(failure)}`;
  return share < ERRORS_SHARE ? [] : [{ verdict: share < OUTAGE_SHARE ? 'warning' : 'critical', sentence }];
}

interface RequiredMeasure {
  readonly measure: string;
  /** What of a pipeline nobody looks at when it is missing: the subject of a sentence. */
  readonly part: string;
}

/** What is measured of every pipeline like this one, whatever its traffic. */
function requiredMeasures({ store, embedder }: WatchedPipeline): RequiredMeasure[] {
  return [
    { measure: SAMPLES_READ, part: 'Live traffic' },
    ...(store === null ? [] : [{ measure: 'store_vectors', part: 'The vector store' }]),
    ...(embedder === null ? [] : [{ measure: 'embedding_canary_median', part: 'The embedder' }]),
  ];
}

function measureFindings({ measure, part }: RequiredMeasure, measurements: readonly MeasurementStatus[]): Reason[] {
  const verdict = 'no_data';
  const found = measurements.find((one) => one.measure === measure && one.segment === ALL_SEGMENT);
  if (found === undefined) return [{ verdict, sentence: `${part} has not been measured yet.` }];
  if (found.isTooOld) return [{ verdict, sentence: `${part} was measured too long ago to trust.` }];
  // A store may be one that cannot count, which is no failure.
  if (found.gap !== null && found.gap.reason !== 'unsupported')
    return [{ verdict, sentence: `${part} could not be measured: ${gapWords(found.gap.reason)}.` }];
  return [];
}

/** By what the series last came to, a value or a gap. */
function isMeasurementTooOld({ measure, newest, gap }: LatestMeasurement, facts: StatusFacts): boolean {
  const last = gap ?? newest;
  if (last === null) return true;
  const { windowStart, windowEnd } = last;
  return last.ageSeconds > measurementTrustSeconds({ measure, windowStart, windowEnd }, facts.liveIntervalSeconds);
}

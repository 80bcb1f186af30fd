/** How a pipeline stands, from what is stored of it. What must be fresh and is not makes it `no_data`, never `ok`. */
import { worstVerdict } from '../checks/rules/check-result.ts';
import type { CheckState } from '../checks/rules/check-state.ts';
import type { LatestRun } from '../golden/sql/latest-runs.ts';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import { SAMPLES_READ } from '../live/measure-live-traffic.ts';
import { REFERENCE } from '../live/read-live-window.ts';
import type { LatestMeasurement } from '../measures/measurements.ts';
import { gapWords } from '../measures/rules/measure-table.ts';
import { ageSeconds, type IntervalOf, isRunTooOld, measurementTrustSeconds } from '../measures/rules/measurement.ts';
import { ALL_SEGMENT, type Verdict } from '../model.ts';

export interface GoldenSetStatus {
  readonly goldenSet: string;
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
  /** Why it is not ok, one sentence each, worst first. */
  readonly reasons: readonly string[];
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

interface Finding {
  readonly verdict: Verdict;
  readonly reason: string;
}

/** Upkeep of a measure, which is no measure itself. */
const internalMeasures: ReadonlySet<string> = new Set([REFERENCE]);

/** @param now that ages are reckoned from */
export function pipelineStatus(pipeline: WatchedPipeline, facts: StatusFacts, now: Date): PipelineStatus {
  const { name } = pipeline;
  const checks = facts.checks.filter((one) => one.pipeline === name);
  const golden = goldenStatuses(pipeline, facts, now);
  const measurements = facts.measurements
    .filter((one) => one.pipeline === name && !internalMeasures.has(one.measure))
    .map((one) => ({ ...one, isTooOld: isMeasurementTooOld(one, facts) }));
  const findings = [
    ...checks.filter(({ isQuiet }) => !isQuiet).map(checkFinding),
    ...(checks.length === 0 ? [nothingChecked] : []),
    ...pipeline.golden.flatMap(({ set }) => goldenFindings(set, golden, facts.latest, name)),
    ...requiredMeasures(pipeline).flatMap((required) => measureFindings(required, measurements)),
  ];
  const state = worstVerdict(findings.map(({ verdict }) => verdict));
  return { pipeline: name, state, reasons: worstFirst(findings), checks, golden, measurements };
}

const nothingChecked: Finding = {
  verdict: 'no_data',
  reason: 'It has no check, so that nothing says whether it is well.',
};

function worstFirst(findings: readonly Finding[]): string[] {
  const order: readonly Verdict[] = ['critical', 'no_data', 'warning'];
  return order.flatMap((verdict) =>
    findings.filter((finding) => finding.verdict === verdict).map(({ reason }) => reason),
  );
}

function checkFinding({ name, goldenSet, verdict, explanation, isTooOld }: CheckState): Finding {
  const judge = goldenSet === null ? 'nothing' : 'no run';
  if (explanation === null) return { verdict, reason: `${name}: ${judge} has judged it yet.` };
  if (isTooOld) {
    const last = goldenSet === null ? 'what' : 'the run that';
    return { verdict, reason: `${name}: ${last} judged it last is too old to trust.` };
  }
  return { verdict, reason: `${name}: ${explanation}` };
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
  set: string,
  golden: readonly GoldenSetStatus[],
  latest: readonly LatestRun[],
  pipeline: string,
): Finding[] {
  const verdict = 'no_data';
  const completed = golden.find(({ goldenSet }) => goldenSet === set)?.completed ?? null;
  if (completed === null) return [{ verdict, reason: `No run of ${set} has completed yet.` }];
  if (completed.isTooOld) return [{ verdict, reason: `The last run of ${set} that completed is too old to trust.` }];
  const ended = latest.find((run) => run.pipeline === pipeline && run.goldenSet === set)?.ended ?? null;
  if (ended !== null && ended.finishedAt > completed.finishedAt)
    return [{ verdict, reason: `The last run of ${set} is void or failed.` }];
  return [];
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

function measureFindings({ measure, part }: RequiredMeasure, measurements: readonly MeasurementStatus[]): Finding[] {
  const verdict = 'no_data';
  const found = measurements.find((one) => one.measure === measure && one.segment === ALL_SEGMENT);
  if (found === undefined) return [{ verdict, reason: `${part} has not been measured yet.` }];
  if (found.isTooOld) return [{ verdict, reason: `${part} was measured too long ago to trust.` }];
  // A store may be one that cannot count, which is no failure.
  if (found.gap !== null && found.gap.reason !== 'unsupported')
    return [{ verdict, reason: `${part} could not be measured: ${gapWords(found.gap.reason)}.` }];
  return [];
}

/** By what the series last came to, a value or a gap. */
function isMeasurementTooOld({ measure, newest, gap }: LatestMeasurement, facts: StatusFacts): boolean {
  const last = gap ?? newest;
  if (last === null) return true;
  const { windowStart, windowEnd } = last;
  return last.ageSeconds > measurementTrustSeconds({ measure, windowStart, windowEnd }, facts.liveIntervalSeconds);
}

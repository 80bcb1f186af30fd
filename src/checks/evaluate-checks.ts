/** The one place where states of checks are made: judges every check on what is stored, and writes down how it stands. */

import type { Logger } from '../core/logger.ts';
import { ALL_SEGMENT } from '../core/model.ts';
import type { DensityPlan } from '../density/plan.ts';
import { densityVerdict, trustedUntil } from '../density/rules/density-check.ts';
import type { StoredDensityState, WatchTable } from '../density/watch-table.ts';
import { goldenSegment, goldenSetOf } from '../golden/rules/golden-set.ts';
import { failedShare, OUTAGE_SHARE } from '../golden/rules/run.ts';
import { type MeasureRetrieversDeps, measureRetrievers, STABILITY } from '../golden/runs/measure-retrievers.ts';
import { readCheckShifts } from '../golden/runs/rotate-golden-set.ts';
import type { GoldenRotations } from '../golden/sql/golden-rotations.ts';
import type { GoldenRuns } from '../golden/sql/golden-runs.ts';
import type { LatestRun } from '../golden/sql/latest-runs.ts';
import type { LatestMeasurement } from '../measures/measurements.ts';
import type { JudgedMeasure } from '../measures/rules/measure-row.ts';
import { gapWords, judgedMeasure } from '../measures/rules/measure-table.ts';
import {
  ageSeconds,
  type IntervalOf,
  measurementTrustSeconds,
  runTrustSeconds,
} from '../measures/rules/measurement.ts';
import { attemptEach } from '../platform/queue/for-each-pipeline.ts';
import { defineCronJob } from '../platform/queue/job-queue.ts';
import {
  type CheckStep,
  type CheckStore,
  explain,
  goldenChecksOf,
  keyOf,
  type StoredStanding,
  type WatchedChecks,
} from './check-store.ts';
import { type CheckStanding, comparableBefore, type Look, nextStanding, rememberBreach } from './rules/check-state.ts';
import {
  type CheckShifts,
  judgeThreshold,
  type MeasuredValue,
  NO_VALUE,
  type Reading,
  type ThresholdCheck,
} from './rules/threshold.ts';

export interface CheckJobDeps {
  /** Judges every check. */
  readonly evaluateChecks: () => Promise<void>;
}

export const evaluateChecksJob = defineCronJob({
  name: 'evaluate-checks',
  does: 'Judges every check on what was measured, with hysteresis and confirmation, and notes each change of a verdict.',
  cron: '25 * * * * *',
  timeoutMs: 55_000,
  handle: (deps: CheckJobDeps) => deps.evaluateChecks(),
});

/** What is stored of all pipelines, and how often it comes. */
export interface CheckFacts {
  readonly latest: readonly LatestRun[];
  readonly density: ReadonlyMap<string, StoredDensityState>;
  readonly measurements: readonly LatestMeasurement[];
  /** By how much the thresholds of each set have moved through rotations. */
  readonly shiftsOf: (pipeline: string, goldenSet: string) => CheckShifts;
  readonly intervalSeconds: IntervalOf;
  readonly liveIntervalSeconds: number;
}

interface Readings {
  readonly readings: readonly Reading[];
  /** From the start of the first of their windows until the newest was measured; null for none. */
  readonly evidence: Look['evidence'];
}

/** Reasons of gaps that say that there was too little, not that something is broken. */
const quietReasons: ReadonlySet<string> = new Set([
  'no_queries',
  'none_sampled',
  'no_clicks',
  'no_texts',
  'no_feedback',
  'no_vectors',
  'too_few_sessions',
  'too_few_clicks',
  'too_few_opinions',
  'too_few_queries',
  'too_few_labels',
  'no_reference',
]);

function readingsOf(check: ThresholdCheck, pipeline: ChecksOfPipeline, facts: CheckFacts, now: Date): Readings {
  if (check.measure === 'golden_run_age_seconds') {
    return { readings: runAges(pipeline, facts.latest, now), evidence: { from: now, until: now } };
  }
  if (check.measure === 'store_sample_age_seconds') {
    return { readings: sampleAge(pipeline, facts.measurements), evidence: { from: now, until: now } };
  }
  const own = facts.measurements.filter(
    (one) => one.pipeline === pipeline.name && one.measure === check.measure && isJudged(check, pipeline, one.segment),
  );
  const readings = own.map((one) => readingOf(one, facts));
  const looks = own.flatMap(({ newest, gap }) => gap ?? newest ?? []);
  if (looks.length === 0) return { readings, evidence: null };
  const from = Math.min(...looks.map(({ windowStart }) => windowStart.getTime()));
  const until = Math.max(...looks.map(({ measuredAt }) => measuredAt.getTime()));
  return { readings, evidence: { from: new Date(from), until: new Date(until) } };
}

function isJudged(check: ThresholdCheck, { golden }: ChecksOfPipeline, segment: string): boolean {
  const { of }: JudgedMeasure = judgedMeasure(check.measure);
  if (of === 'golden_sets') return golden.some(({ set }) => segment === goldenSegment(set));
  return segment === ALL_SEGMENT || check.segments === 'each';
}

function readingOf(one: LatestMeasurement, facts: CheckFacts): Reading {
  const { segment, newest, gap } = one;
  const last = gap ?? newest;
  if (last === null || last.ageSeconds > trustSeconds(one, last, facts)) {
    return { kind: 'unknown', segment, reason: 'its latest measurement is too old to trust' };
  }
  if (gap !== null) {
    const kind = quietReasons.has(gap.reason) ? 'quiet' : 'unknown';
    return { kind, segment, reason: gapWords(gap.reason) };
  }
  if (newest === null) return { kind: 'unknown', segment, reason: 'it has not been measured' };
  const { value, ciLow, ciHigh, n } = newest;
  return { kind: 'value', segment, value, ciLow, ciHigh, n };
}

function trustSeconds(
  { pipeline, measure, segment }: LatestMeasurement,
  { windowStart, windowEnd }: { readonly windowStart: Date; readonly windowEnd: Date },
  { intervalSeconds, liveIntervalSeconds }: CheckFacts,
): number {
  if (measure.startsWith('retriever_') || measure === STABILITY) {
    return runTrustSeconds(intervalSeconds(pipeline, goldenSetOf(segment) ?? ''));
  }
  return measurementTrustSeconds({ measure, windowStart, windowEnd }, liveIntervalSeconds);
}

function runAges({ name, golden }: ChecksOfPipeline, latest: readonly LatestRun[], now: Date): Reading[] {
  return golden.map(({ set }): Reading => {
    const run = latest.find(({ pipeline, goldenSet }) => pipeline === name && goldenSet === set);
    const segment = goldenSegment(set);
    const completed = run?.completed ?? null;
    if (completed === null) return { kind: 'unknown', segment, reason: `no run of ${set} has completed` };
    return exact(segment, ageSeconds(completed.finishedAt, now));
  });
}

function sampleAge({ name }: ChecksOfPipeline, measurements: readonly LatestMeasurement[]): Reading[] {
  const sample = measurements.find(({ pipeline, measure }) => pipeline === name && measure === 'store_sample_vectors');
  const newest = sample?.newest ?? null;
  return newest === null ? [] : [exact(ALL_SEGMENT, newest.ageSeconds)];
}

function exact(segment: string, value: number): Reading {
  return { kind: 'value', segment, value, ciLow: null, ciHigh: null, n: 0 };
}

export interface EvaluateChecksDeps extends WatchedChecks, Omit<MeasureRetrieversDeps, 'pipelines'> {
  readonly densityPlans: readonly DensityPlan[];
  readonly densityStates: Pick<WatchTable, 'all'>;
  readonly runs: MeasureRetrieversDeps['runs'] & Pick<GoldenRuns, 'latest'>;
  readonly rotations: Pick<GoldenRotations, 'list'>;
  readonly checkStore: Pick<CheckStore, 'standings' | 'advance'>;
  readonly intervalSeconds: IntervalOf;
  readonly liveIntervalSeconds: number;
  readonly logger: Logger;
}

/** Rounds against other workers that evaluate the same checks at the same time. */
const MAX_ROUNDS = 5;

/**
 * Measures how retrievers answered the golden runs that have ended, and takes one step of every check: once a minute of
 * all of them, and of those of a pipeline at once when a golden run or a window of density has ended. Doing it again, or
 * on several replicas, changes nothing more; whoever is killed in between leaves it to the next. A step that another
 * worker was faster with starts anew from what that one wrote, since this one may have seen what that one could not.
 *
 * @param only the pipelines to look at; left out, all of them
 */
export async function evaluateChecks(deps: EvaluateChecksDeps, only?: readonly string[]): Promise<void> {
  const isAsked = (name: string): boolean => only === undefined || only.includes(name);
  const pipelines = deps.pipelines.filter(({ name }) => isAsked(name));
  await attemptEach(
    [() => measureRetrievers({ ...deps, pipelines }), () => takeSteps(deps, pipelines)],
    new AbortController().signal,
  );
}

async function takeSteps(deps: EvaluateChecksDeps, asked: EvaluateChecksDeps['pipelines']): Promise<void> {
  let pipelines = asked;
  for (let round = 0; round < MAX_ROUNDS && pipelines.length > 0; round++) {
    const now = deps.clock.now();
    // What it starts from is read first: what is written in between is then newer, and refuses the step.
    const previous = await deps.checkStore.standings();
    const steps = judgeChecks({ ...deps, pipelines }, await readFacts(deps, now), previous, now);
    const taken = await deps.checkStore.advance(steps);
    for (const { standing, from, because } of taken) {
      if (standing.verdict === from) continue;
      const { pipeline, name: check, verdict } = standing;
      deps.logger.info('a check has changed', { pipeline, check, from, to: verdict, explanation: because });
    }
    const left = new Set(steps.filter((step) => !taken.includes(step)).map(({ standing }) => standing.pipeline));
    pipelines = pipelines.filter(({ name }) => left.has(name));
  }
}

async function readFacts(deps: EvaluateChecksDeps, now: Date): Promise<CheckFacts> {
  const [latest, density, measurements, shiftsOf] = await Promise.all([
    deps.runs.latest(),
    deps.densityStates.all(),
    deps.measurements.latest(now),
    readCheckShifts(deps.rotations),
  ]);
  const { intervalSeconds, liveIntervalSeconds } = deps;
  return { latest, density, measurements, shiftsOf, intervalSeconds, liveIntervalSeconds };
}

type ChecksOfPipeline = WatchedChecks['pipelines'][number];

/** One step of every check. Nothing but its arguments is looked at. */
export function judgeChecks(
  { pipelines, densityPlans }: Pick<EvaluateChecksDeps, 'pipelines' | 'densityPlans'>,
  facts: CheckFacts,
  previous: readonly StoredStanding[],
  now: Date,
): CheckStep[] {
  const known = new Map(previous.map((one) => [keyOf(one), one]));
  const previousOf = (pipeline: string, name: string): StoredStanding | null =>
    known.get(keyOf({ pipeline, name })) ?? null;
  return pipelines.flatMap((pipeline) => {
    const { name } = pipeline;
    const plan = densityPlans.find((one) => one.pipeline === name);
    const outageAt = isOut(pipeline, facts) ? now : null;
    return [
      ...pipeline.thresholds.map((check) => {
        const { readings, evidence } = readingsOf(check, pipeline, facts, now);
        const { isClear, isBeyond, ...found } = judgeThreshold(check, readings);
        const stored = previousOf(name, found.name);
        const before = sameMeasure(stored, check.measure);
        const settled = nextStanding(check, before, { ...found, isClear, isBeyond }, evidence?.until ?? null, now);
        const { verdict } = settled;
        const standing = {
          ...found,
          ...settled,
          ...rememberBreach(before, { verdict, isBeyond, value: found.value, evidence, outageAt }),
          pipeline: name,
          measure: check.measure,
          smallestDetectableDrop: null,
          comparedWith: null,
          judgedAt: now,
          trustedUntil: new Date(now.getTime() + THRESHOLD_TRUST_MS),
          evaluatedAt: now,
        };
        return stepOf(standing, stored, standing.explanation);
      }),
      ...[...judgedByRuns(pipeline, facts), ...judgedByDensity(plan, facts, now)].map((judged) =>
        follow(judged, previousOf(name, judged.name), outageAt, now),
      ),
    ];
  });
}

/** Thresholds are judged each minute; one that was not for so long is known no more. */
const THRESHOLD_TRUST_MS = 900_000;

function stepOf(standing: CheckStanding, previous: StoredStanding | null, because: string): CheckStep {
  return { standing, revision: previous?.revision ?? 0, from: previous?.verdict ?? null, because };
}

/** A check that keeps its name may come to watch something else; nothing of what was remembered is then of it. */
function sameMeasure(stored: StoredStanding | null, measure: string): StoredStanding | null {
  return stored === null || stored.measure === measure ? stored : null;
}

/** Whether the latest run of one of its sets found that the retriever does not answer. */
function isOut({ name }: ChecksOfPipeline, { latest }: CheckFacts): boolean {
  return latest.some(
    ({ pipeline, ended }) => pipeline === name && ended !== null && failedShare(ended.outcomes) >= OUTAGE_SHARE,
  );
}

/** What a golden run or the watch over density found, each of which comes to verdicts of its own. */
type Judged = Pick<
  CheckStanding,
  | 'pipeline'
  | 'name'
  | 'severity'
  | 'threshold'
  | 'verdict'
  | 'measure'
  | 'explanation'
  | 'judgedAt'
  | 'trustedUntil'
  | 'isQuiet'
  | 'smallestDetectableDrop'
  | 'comparedWith'
> &
  MeasuredValue &
  Pick<Look, 'isBeyond' | 'evidence'>;

function judgedByRuns(pipeline: ChecksOfPipeline, { latest, shiftsOf, intervalSeconds }: CheckFacts): Judged[] {
  const { name } = pipeline;
  return pipeline.golden.flatMap(({ set }) => {
    const found = latest.find((run) => run.pipeline === name && run.goldenSet === set);
    const ended = found?.ended ?? null;
    const baseline = found?.completed?.baseline?.against ?? null;
    const trustedMs = runTrustSeconds(intervalSeconds(name, set)) * 1000;
    const evidence = ended === null ? null : evidenceOf(ended);
    return goldenChecksOf(pipeline, set, shiftsOf(name, set)).map((check) => {
      const judged = ended?.checks.find((result) => result.name === check.name) ?? null;
      const { value, ciLow, ciHigh, n } = judged ?? NO_VALUE;
      return {
        pipeline: name,
        name: check.name,
        measure: check.measure,
        severity: check.severity,
        // Thresholds move with the level of the set when a new version takes over.
        threshold: judged?.threshold ?? check.threshold,
        verdict: judged?.verdict ?? 'no_data',
        value,
        ciLow,
        ciHigh,
        n,
        smallestDetectableDrop: judged?.smallestDetectableDrop ?? null,
        comparedWith: check.kind === 'regression' && value !== null ? baseline : null,
        isBeyond: judged?.isBeyond ?? false,
        evidence,
        explanation: judged?.explanation ?? null,
        judgedAt: ended?.finishedAt ?? null,
        trustedUntil: ended === null ? null : new Date(ended.finishedAt.getTime() + trustedMs),
        isQuiet: false,
      };
    });
  });
}

/** A run that no query failed is of its end alone; one that some failed may have met the last of an outage. */
function evidenceOf({ finishedAt, durationSeconds, outcomes }: EndedRun): Look['evidence'] {
  const from = failedShare(outcomes) > 0 ? new Date(finishedAt.getTime() - durationSeconds * 1000) : finishedAt;
  return { from, until: finishedAt };
}

type EndedRun = NonNullable<LatestRun['ended']>;

function judgedByDensity(plan: DensityPlan | undefined, facts: CheckFacts, now: Date): Judged[] {
  if (plan === undefined || plan.severity === null) return [];
  const { pipeline, severity, checkName: name } = plan;
  const stored = facts.density.get(pipeline) ?? null;
  const page = facts.measurements.find(
    (one) => one.pipeline === pipeline && one.measure === 'density_page_evidence_ratio',
  );
  const evidence = page?.newest?.value ?? null;
  const found = densityVerdict({ name, severity }, plan, stored?.state ?? null, evidence, now);
  const phase = stored?.state.phase.kind;
  return [
    {
      ...found,
      pipeline,
      measure: 'density_drift',
      smallestDetectableDrop: null,
      comparedWith: null,
      evidence: stored === null ? null : { from: stored.updatedAt, until: stored.updatedAt },
      judgedAt: stored?.updatedAt ?? null,
      trustedUntil: stored === null || found.verdict === 'no_data' ? null : trustedUntil(plan, stored.state.closedMs),
      // A baseline takes days to be learnt, and nothing is broken meanwhile.
      isQuiet: found.verdict === 'no_data' && phase !== 'watching',
    },
  ];
}

function follow(
  { evidence, isBeyond, ...judged }: Judged,
  stored: StoredStanding | null,
  outageAt: Date | null,
  now: Date,
): CheckStep {
  const { trustedUntil: until, explanation, value } = judged;
  const previous = sameMeasure(stored, judged.measure);
  const remembered = previous === null ? null : { ...previous, before: comparableBefore(previous, judged) };
  const isTooOld = until !== null && now > until;
  const verdict = isTooOld ? 'no_data' : judged.verdict;
  const standing: CheckStanding = {
    ...judged,
    ...rememberBreach(remembered, { verdict, isBeyond: isBeyond && !isTooOld, value, evidence, outageAt }),
    verdict,
    comparedWith: judged.comparedWith ?? previous?.comparedWith ?? null,
    since: previous?.verdict === verdict ? previous.since : now,
    lastKnown: verdict === 'no_data' ? (previous?.lastKnown ?? null) : verdict,
    candidate: null,
    seen: 0,
    segment: null,
    evidenceAt: judged.judgedAt,
    evaluatedAt: now,
  };
  return stepOf(standing, stored, explain({ explanation, isTooOld }));
}

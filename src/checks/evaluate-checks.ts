/** Evaluates every check on stored facts and stores its status. No other code writes check statuses. */

import type { Context } from '../core/context.ts';
import { ALL_SEGMENT } from '../core/model.ts';
import type { DensityPlan } from '../density/plan.ts';
import { evaluateDensityDrift, isStale, staleSentence, trustedUntil } from '../density/rules/density-check.ts';
import type { StoredDensityState } from '../density/watch-table.ts';
import { goldenSegment, goldenSetOf } from '../golden/rules/golden-set.ts';
import { failedShare, OUTAGE_SHARE } from '../golden/rules/run.ts';
import { measureRetrievers, STABILITY } from '../golden/runs/measure-retrievers.ts';
import type { LatestRun } from '../golden/sql/latest-runs.ts';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import type { IsolationSummary, ListedViolation } from '../live/sql/isolation-rows.ts';
import type { LatestMeasurement } from '../measures/measurements.ts';
import type { ThresholdPolicy } from '../measures/rules/measure-row.ts';
import { gapWords, thresholdPolicy } from '../measures/rules/measure-table.ts';
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
  densityChecksOf,
  goldenChecksOf,
  keyOf,
  reasonOf,
  type StoredCheckStatus,
  thresholdOf,
} from './check-store.ts';
import type { ConfiguredCheck } from './rules/check-state.ts';
import { type CheckFacts, type EvaluatedRun, evaluate, factsOfReadings, factsOfRun } from './rules/evaluate.ts';
import {
  factsOfIsolation,
  ISOLATION_WINDOW_MS,
  isolationCheckOf,
  MAX_NAMED_VIOLATIONS,
} from './rules/isolation-check.ts';
import type { Reading, ThresholdCheck } from './rules/threshold.ts';

export const evaluateChecksJob = defineCronJob({
  name: 'evaluate-checks',
  does: 'Evaluates every check on the latest measurements, applies hysteresis and confirmation, and records each verdict change.',
  cron: '25 * * * * *',
  timeoutMs: 55_000,
  handle: (context: Context) => context.hooks.evaluateChecks(),
});

/** Stored facts about all pipelines, and how often recalld updates them. */
export interface StoredFacts {
  readonly latest: readonly LatestRun[];
  readonly density: ReadonlyMap<string, StoredDensityState>;
  readonly measurements: readonly LatestMeasurement[];
  /** Results of the isolation rules in the last hour, with the latest violations. */
  readonly isolation: readonly (IsolationSummary & { readonly latest: readonly ListedViolation[] })[];
  readonly intervalSeconds: IntervalOf;
  readonly liveIntervalSeconds: number;
}

/** Reasons why a value is missing that point to too little data, not to a fault. */
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
  'no_episodes',
  'too_few_episodes',
  'single_retrievals',
  'no_rewritten_queries',
  'too_few_judgments',
  'no_baseline',
]);

/**
 * Returns the readings of a threshold check. `evidence` is the time span from the start of the first window to the
 * newest measurement; null if there are no readings.
 */
function readingsOf(check: ThresholdCheck, pipeline: WatchedPipeline, facts: StoredFacts, now: Date) {
  if (check.measure === 'golden_run_age_seconds') {
    return { readings: runAges(pipeline, facts.latest, now), evidence: { from: now, until: now } };
  }
  if (check.measure === 'store_sample_age_seconds') {
    return { readings: sampleAge(pipeline, facts.measurements), evidence: { from: now, until: now } };
  }
  const own = facts.measurements.filter(
    (one) =>
      one.pipeline === pipeline.name && one.measure === check.measure && isEvaluated(check, pipeline, one.segment),
  );
  const readings = own.map((one) => readingOf(one, facts));
  const attempts = own.flatMap(({ newest, gap }) => gap ?? newest ?? []);
  if (attempts.length === 0) return { readings, evidence: null };
  const from = Math.min(...attempts.map(({ windowStart }) => windowStart.getTime()));
  const until = Math.max(...attempts.map(({ measuredAt }) => measuredAt.getTime()));
  return { readings, evidence: { from: new Date(from), until: new Date(until) } };
}

function isEvaluated(check: ThresholdCheck, { golden }: WatchedPipeline, segment: string): boolean {
  const { scope }: ThresholdPolicy = thresholdPolicy(check.measure);
  if (scope === 'golden_sets') return golden.some(({ set }) => segment === goldenSegment(set));
  return segment === ALL_SEGMENT || check.segments === 'each';
}

function readingOf(one: LatestMeasurement, facts: StoredFacts): Reading {
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
  { intervalSeconds, liveIntervalSeconds }: StoredFacts,
): number {
  if (measure.startsWith('retriever_') || measure === STABILITY) {
    return runTrustSeconds(intervalSeconds(pipeline, goldenSetOf(segment) ?? ''));
  }
  return measurementTrustSeconds({ measure, windowStart, windowEnd }, liveIntervalSeconds);
}

function runAges({ name, golden }: WatchedPipeline, latest: readonly LatestRun[], now: Date): Reading[] {
  return golden.map(({ set }): Reading => {
    const run = latest.find(({ pipeline, goldenSet }) => pipeline === name && goldenSet === set);
    const segment = goldenSegment(set);
    const completed = run?.completed ?? null;
    if (completed === null) return { kind: 'unknown', segment, reason: `no run of ${set} has completed` };
    return exact(segment, ageSeconds(completed.finishedAt, now));
  });
}

function sampleAge({ name }: WatchedPipeline, measurements: readonly LatestMeasurement[]): Reading[] {
  const sample = measurements.find(({ pipeline, measure }) => pipeline === name && measure === 'store_sample_vectors');
  const newest = sample?.newest ?? null;
  return newest === null ? [] : [exact(ALL_SEGMENT, newest.ageSeconds)];
}

function exact(segment: string, value: number): Reading {
  return { kind: 'value', segment, value, ciLow: null, ciHigh: null, n: 0 };
}

/** Maximum number of attempts if other workers evaluate the same checks at the same time. */
const MAX_ROUNDS = 5;

/**
 * Computes retriever measures from finished golden runs, and evaluates checks. Runs for all checks every minute, and
 * for the checks of one pipeline as soon as one of its golden runs or density windows ends. Idempotent and safe on
 * several replicas; if an evaluation is killed, the next evaluation replaces it. If another worker stores a status
 * first, the evaluation starts again from that status, because it may be based on newer facts.
 *
 * @param only names of the pipelines to evaluate; all if omitted
 */
export async function evaluateChecks(context: Context, only?: readonly string[]): Promise<void> {
  const isAsked = (name: string): boolean => only === undefined || only.includes(name);
  const pipelines = context.pipelines.filter(({ name }) => isAsked(name));
  await attemptEach(
    [() => measureRetrievers({ ...context, pipelines }), () => takeSteps(context, pipelines)],
    new AbortController().signal,
  );
}

async function takeSteps(context: Context, asked: Context['pipelines']): Promise<void> {
  let pipelines = asked;
  for (let round = 0; round < MAX_ROUNDS && pipelines.length > 0; round++) {
    const now = context.clock.now();
    // Reads the statuses before the facts, so that the store rejects the step if another worker writes a newer status
    // in between.
    const previous = await context.db.checks.statuses();
    const steps = evaluateAll({ ...context, pipelines }, await readFacts(context, now), previous, now);
    const taken = await context.db.checks.advance(steps);
    for (const step of taken) {
      const { pipeline, name: check, verdict: to } = step.status;
      const from = step.previous?.verdict ?? null;
      if (to === from) continue;
      context.logger.info('a check changed its verdict', { pipeline, check, from, to, explanation: reasonOf(step) });
    }
    const rejected = new Set(steps.filter((step) => !taken.includes(step)).map(({ status }) => status.pipeline));
    pipelines = pipelines.filter(({ name }) => rejected.has(name));
  }
}

async function readFacts(context: Context, now: Date): Promise<StoredFacts> {
  const [latest, density, measurements, isolation] = await Promise.all([
    context.db.golden.runs.latest(),
    context.db.density.watch.all(),
    context.db.measurements.latest(now),
    readIsolation(context, now),
  ]);
  const { intervalSeconds, liveIntervalSeconds } = context;
  return { latest, density, measurements, isolation, intervalSeconds, liveIntervalSeconds };
}

async function readIsolation({ db, pipelines }: Context, now: Date): Promise<StoredFacts['isolation']> {
  if (pipelines.every(({ isolation }) => isolation.length === 0)) return [];
  const during = { from: new Date(now.getTime() - ISOLATION_WINDOW_MS), until: now };
  const summaries = await db.live.isolation.summaries(during);
  return Promise.all(
    summaries.map(async (summary) => {
      const { pipeline, rule, violated } = summary;
      const of = { pipeline, rule, during, limit: MAX_NAMED_VIOLATIONS };
      return { ...summary, latest: violated === 0 ? [] : await db.live.isolation.list(of) };
    }),
  );
}

/** Returns the previous and the new status of every check. Pure. */
export function evaluateAll(
  { pipelines, densityPlans }: Context,
  stored: StoredFacts,
  previous: readonly StoredCheckStatus[],
  now: Date,
): CheckStep[] {
  const statuses = new Map(previous.map((one) => [keyOf(one), one]));
  return pipelines.flatMap((pipeline) => {
    const { name, golden, thresholds } = pipeline;
    const outageAt = isOut(name, stored) ? now : null;
    const step = (check: ConfiguredCheck, facts: CheckFacts, outage = outageAt): CheckStep => {
      const previous = statuses.get(keyOf(check)) ?? null;
      return { previous, status: evaluate(check, facts, previous, now, outage) };
    };
    const plan = densityPlans.find((one) => one.pipeline === name);
    return [
      ...pipeline.isolation.map((rule) => {
        const found = stored.isolation.find((one) => one.pipeline === name && one.rule === rule.name) ?? null;
        // Ignores the outage, because a violation in live results counts even while golden queries fail.
        return step(isolationCheckOf(name, rule.name), factsOfIsolation(rule.name, found, now), null);
      }),
      ...thresholds.map((rule) => {
        const { readings, evidence } = readingsOf(rule, pipeline, stored, now);
        return step(thresholdOf(name, rule), factsOfReadings(rule, readings, evidence, now));
      }),
      ...golden.flatMap(({ set }) => {
        const run = latestRunOf(name, set, stored);
        return goldenChecksOf(pipeline.name, pipeline.checks, set).map((check) => step(check, factsOfRun(check, run)));
      }),
      ...(plan === undefined
        ? []
        : densityChecksOf(plan).map((check) => step(check, factsOfDensity(check, plan, stored, now)))),
    ];
  });
}

function isOut(name: string, { latest }: StoredFacts): boolean {
  return latest.some(
    ({ pipeline, ended }) => pipeline === name && ended !== null && failedShare(ended.outcomes) >= OUTAGE_SHARE,
  );
}

function latestRunOf(name: string, set: string, { latest, intervalSeconds }: StoredFacts): EvaluatedRun | null {
  const found = latest.find(({ pipeline, goldenSet }) => pipeline === name && goldenSet === set);
  const ended = found?.ended ?? null;
  if (ended === null) return null;
  const { checks, failedBecause: failure, finishedAt: until, durationSeconds, outcomes } = ended;
  // A run with failed queries may have started during an outage, so its evidence covers the whole run, not only its
  // end.
  const from = failedShare(outcomes) > 0 ? new Date(until.getTime() - durationSeconds * 1000) : until;
  const baseline = found?.completed?.baseline?.against ?? null;
  const trustedSeconds = runTrustSeconds(intervalSeconds(name, set));
  return { checks, failure, evidence: { from, until }, baseline, trustedSeconds };
}

function factsOfDensity({ severity }: ConfiguredCheck, plan: DensityPlan, stored: StoredFacts, now: Date): CheckFacts {
  const watch = stored.density.get(plan.pipeline) ?? null;
  const ratio = stored.measurements.find(
    ({ pipeline, measure }) => pipeline === plan.pipeline && measure === 'density_page_evidence_ratio',
  );
  const found = evaluateDensityDrift(severity, plan.needs, watch?.state.phase ?? null, ratio?.newest?.value ?? null);
  const isKnown = watch !== null && found.verdict !== 'no_data';
  const at = watch?.updatedAt ?? null;
  const closedMs = watch?.state.closedMs ?? 0;
  return {
    ...found,
    explanation: isKnown && isStale(plan, closedMs, now) ? staleSentence(closedMs) : found.explanation,
    threshold: null,
    comparedWith: null,
    evidence: at === null ? null : { from: at, until: at },
    evaluatedAt: at,
    trustedUntil: isKnown ? trustedUntil(plan, closedMs) : null,
    // recalld takes days to learn a baseline, so missing data is not a fault.
    isQuiet: !isKnown,
    unconfirmed: null,
  };
}

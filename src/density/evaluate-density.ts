/** The watch over query density: what happened in each pipeline since the last step, what follows, and that it is kept. */

import type { Context } from '../core/context.ts';
import { ALL_SEGMENT } from '../core/model.ts';
import { DAY_MS, MINUTE_MS } from '../core/time.ts';
import { matrixOf, rowOf } from '../math/vector/matrix.ts';
import { forEachPipeline } from '../platform/queue/for-each-pipeline.ts';
import type { RetainedQueries, StoredBaseline } from './baselines-table.ts';
import type { DensityCompute } from './compute.ts';
import type { CoveragePeriod } from './coverage-reads.ts';
import { observeBaselineTraffic, observeReplay } from './learn-baseline.ts';
import { currentFingerprint, goldenFell, observeChange, probeParts } from './observe-change.ts';
import type { DensityPlan } from './plan.ts';
import { MAX_POOL_MS } from './rules/alert.ts';
import { type RegionRow, regionTable } from './rules/baseline-spread.ts';
import { noveltyOf, readCause } from './rules/cause.ts';
import { segmentTotals, type WindowMeasurement } from './rules/measure-window.ts';
import { type WindowSpan, windowsToClose, windowTotals } from './rules/pooled-density.ts';
import { densityOf, UNCOVERED_PERCENTILE, type UncoveredShare, uncoveredShareOf } from './rules/query-density.ts';
import { isUpgradeDue, lastClosable, learningState, MEASURING_PATIENCE_MS, transition } from './rules/watch.ts';
import { raisedEvent } from './rules/watch-sentences.ts';
import type {
  AlertToInvestigate,
  ClosedWindow,
  DensityState,
  NewDensityEvent,
  WatchEffect,
  WatchingPhase,
  WatchObservation,
  WatchStep,
} from './rules/watch-state.ts';
import { findLostChunks } from './search-store.ts';
import { readTraffic, type Traffic, timeOf } from './traffic.ts';
import type { StoredDensityState } from './watch-table.ts';

/** Queries that are told apart from those of the baseline, and as many of it. */
const MAX_TOLD_APART = 1_000;

/**
 * Investigates a raised alarm over the time that its size was measured over: how much is uncovered, where, whether the
 * questions are new, and what the store lost.
 *
 * When the questions are like those of the baseline, or the golden queries fell, the store is suspected, and the chunks
 * that the baseline queries found are looked for in it.
 *
 * @param sinceMs measurements before then cannot be compared; null when all can
 * @returns the event that tells of the alarm and what is behind it
 */
async function investigateAlert(
  context: Context,
  plan: DensityPlan,
  alert: AlertToInvestigate,
  sinceMs: number | null,
  signal: AbortSignal,
): Promise<NewDensityEvent> {
  const { pipeline } = plan;
  const { raised, baselineVersion } = alert;
  const stored = await context.db.density.baselines.find(pipeline, baselineVersion);
  if (stored === null) throw new Error(`the density baseline ${baselineVersion} of ${pipeline} is gone`);
  const pooled = alert.history.filter(({ startMs }) => startMs >= raised.size.startMs);
  const uncovered = uncoveredOf(pooled, stored);
  const sample = await context.db.density.baselines.retained(pipeline, baselineVersion, 'sample');
  const { startMs, endMs } = raised.size;
  const from = new Date(startMs);
  const period = { pipeline, from, until: new Date(endMs), scoredSince: timeOf(sinceMs) };
  const compared = await compareQuestions(context, stored, sample, period, signal);
  const novelty = compared === null ? null : noveltyOf(compared.familiarity, compared.novelBelow, uncovered.excess);
  const trafficChanged = novelty?.explains ?? false;
  const isGoldenWorse = goldenFell(await context.db.golden.runs.latest(), pipeline);
  const isStoreSuspected = !trafficChanged || isGoldenWorse === true;
  const lost = isStoreSuspected ? await findLostChunks(context, plan, sample.queries, signal) : null;
  const reading = readCause({
    densityFell: true,
    trafficChanged,
    goldenFell: isGoldenWorse,
    chunksMissing: lost === null ? null : lost.missing > 0,
    canary: null,
  });
  const regions = regionsOf(pooled, stored);
  return raisedEvent(pipeline, alert, { uncovered, regions, novelty, reading, lost });
}

function uncoveredOf(windows: readonly ClosedWindow[], { baseline }: StoredBaseline): UncoveredShare {
  let sessions = 0;
  let sum = 0;
  for (const { segments } of windows) {
    sessions += segments[ALL_SEGMENT]?.sessions ?? 0;
    sum += segments[ALL_SEGMENT]?.sumUncovered ?? 0;
  }
  const share = Math.min(1, sum / Math.max(1, sessions));
  return uncoveredShareOf(share, Math.max(1, sessions), UNCOVERED_PERCENTILE, baseline.global.sessions);
}

/** Sessions with queries in several regions count in each, so that the shares are of the sum. */
function regionsOf(windows: readonly ClosedWindow[], { baseline }: StoredBaseline): readonly RegionRow[] {
  const sums = new Map<number, { sessions: number; sumX: number }>();
  let all = 0;
  for (const { totals } of windows) {
    for (const { region, sessions, sumX } of totals.regions) {
      const own = sums.get(region) ?? { sessions: 0, sumX: 0 };
      sums.set(region, { sessions: own.sessions + sessions, sumX: own.sumX + sumX });
      all += sessions;
    }
  }
  const regions = [...sums].map(([region, { sessions, sumX }]) => {
    const meanX = sumX / sessions;
    return { region, weight: sessions, share: sessions / all, meanX, density: densityOf(meanX) };
  });
  return regionTable({ regions }, baseline.regionShares);
}

/** One question of each session of the time since the coverage fell, against those of the baseline; null without any. */
async function compareQuestions(
  context: Context,
  { storeMean }: StoredBaseline,
  sample: RetainedQueries,
  period: CoveragePeriod,
  signal: AbortSignal,
): ReturnType<DensityCompute['compareWithBaseline']> {
  const settings = { most: 2 * MAX_TOLD_APART, storeMean };
  const traffic = await readTraffic(context, period, settings, signal);
  const seen = new Set<string>();
  const rows = traffic.queries.flatMap(({ id, session, row }) => {
    const name = session ?? `query ${id}`;
    if (row === null || seen.has(name)) return [];
    seen.add(name);
    return [row];
  });
  const queries = matrixOf(rows.slice(0, MAX_TOLD_APART).map((row) => rowOf(traffic.vectors, row)));
  if (queries.rows === 0) return null;
  return context.compute.compareWithBaseline(queries, sample.vectors, signal);
}

/** What the live queries of a pipeline are held against. */
interface Reference {
  readonly plan: DensityPlan;
  readonly stored: StoredBaseline;
  /** Queries that were measured before then, and so in another way, are left out; null leaves out none. */
  readonly scoredSince: Date | null;
}

/** A window with more is known well enough from so many. */
const MAX_QUERIES = 20_000;
/** No density is shown over more than a day, and of older windows samples may be gone already. */
const LATE_SAMPLES_MS = DAY_MS;
/** Between the time that a score is given and the time that it can be read. */
const WRITING_MS = MINUTE_MS;

/**
 * The next window that closes; null while none does, or its queries are still being measured. It writes nothing, and
 * the same samples give the same measurement.
 */
async function observeWindow(
  context: Context,
  plan: DensityPlan,
  { closedMs, sinceMs }: DensityState,
  { baselineVersion }: WatchingPhase,
  signal: AbortSignal,
): Promise<WatchObservation | null> {
  const now = context.clock.now();
  const { windowMs, graceMs, pipeline } = plan;
  const [span] = windowsToClose(closedMs, now.getTime(), { windowMs, graceMs, most: 1 });
  if (span === undefined || (await isAwaited(context, plan, span, now))) return null;
  const stored = await context.db.density.baselines.find(pipeline, baselineVersion);
  if (stored === null) throw new Error(`the density baseline ${baselineVersion} of ${pipeline} is gone`);
  const reference = { plan, stored, scoredSince: timeOf(sinceMs) };
  const { closed, measurement, traffic } = await measureWindow(context, reference, span, signal);
  const before = await context.db.density.watch.windows(pipeline, new Date(span.endMs - MAX_POOL_MS));
  const comparable = before.filter(
    (window) => window.endMs <= span.startMs && window.baselineVersion === baselineVersion,
  );
  const remeasured = await measureLateSamples(context, reference, comparable, signal);
  const latest = new Map(remeasured.map((window) => [window.endMs, window]));
  return {
    kind: 'window_measured',
    baseline: stored.baseline,
    history: [...comparable.map((window) => latest.get(window.endMs) ?? window), closed],
    remeasured,
    scores: measurement.scores,
    notMeasurable: notMeasurable(traffic, measurement),
  };
}

/** Whether queries of the window wait to be measured, and are worth waiting for. */
async function isAwaited(
  { db }: Context,
  { pipeline, graceMs }: DensityPlan,
  { startMs, endMs }: WindowSpan,
  now: Date,
): Promise<boolean> {
  if (now.getTime() > endMs + graceMs + MEASURING_PATIENCE_MS) return false;
  const period = { pipeline, from: new Date(startMs), until: new Date(endMs), scoredSince: null };
  const { open, untouched } = await db.density.coverage.tally(period);
  return open + untouched > 0;
}

async function measureWindow(
  context: Context,
  { plan, stored: { baseline, storeMean, version }, scoredSince }: Reference,
  { startMs, endMs }: WindowSpan,
  signal: AbortSignal,
): Promise<{
  readonly closed: ClosedWindow;
  readonly measurement: WindowMeasurement;
  readonly traffic: Traffic;
}> {
  // What is scored while this reads is late, and looked for from here on.
  const measuredMs = context.clock.now().getTime();
  const period = { pipeline: plan.pipeline, from: new Date(startMs), until: new Date(endMs), scoredSince };
  const { regions, scores } = baseline;
  const traffic = await readTraffic(context, period, { most: MAX_QUERIES, storeMean }, signal);
  const { queries, vectors } = traffic;
  const measurement = await context.compute.measureWindow({ queries, vectors }, { regions, scores }, signal);
  const totals = windowTotals({ startMs, endMs }, measurement.means);
  const segmentsOf = new Map(traffic.covered.map(({ id, segments }) => [id, segments]));
  const segments = segmentTotals(measurement, segmentsOf, plan);
  const closed = { startMs, endMs, measuredMs, baselineVersion: version, totals, segments };
  return { closed, measurement, traffic };
}

/**
 * Measures again those windows of the last day that got samples since the latest one was closed: their sums change,
 * their evidence does not. In the end the sums of a window are the same in whatever order its samples came, and so is
 * the density over several windows.
 *
 * @param comparable closed windows against the same baseline, oldest first
 * @returns the windows that were measured again, oldest first
 */
async function measureLateSamples(
  context: Context,
  reference: Reference,
  comparable: readonly ClosedWindow[],
  signal: AbortSignal,
): Promise<readonly ClosedWindow[]> {
  const { plan, scoredSince } = reference;
  const latest = comparable.at(-1);
  if (latest === undefined) return [];
  const lateSince = new Date(Math.max(latest.measuredMs - WRITING_MS, scoredSince?.getTime() ?? 0));
  const firstLate = async (fromMs: number, untilMs: number): Promise<Date | null> => {
    const period = { pipeline: plan.pipeline, from: new Date(fromMs), until: new Date(untilMs) };
    return (await context.db.density.coverage.tally({ ...period, scoredSince: lateSince })).first;
  };
  const first = await firstLate(latest.endMs - LATE_SAMPLES_MS, latest.endMs);
  if (first === null) return [];
  const remeasured: ClosedWindow[] = [];
  for (const window of comparable) {
    if (window.endMs <= first.getTime()) continue;
    if ((await firstLate(window.startMs, window.endMs)) === null) continue;
    remeasured.push((await measureWindow(context, reference, window, signal)).closed);
  }
  return remeasured;
}

/** Queries of the window without a score, by reason. */
function notMeasurable({ tally, otherDimension }: Traffic, { dropped }: WindowMeasurement) {
  const late = tally.open + tally.untouched;
  return {
    ...tally.notMeasurable,
    ...(otherDimension > 0 ? { dimension_mismatch: otherDimension } : {}),
    ...(dropped.zeroVector > 0 ? { zero_vector: dropped.zeroVector } : {}),
    ...(dropped.notFiniteVector > 0 ? { not_finite_vector: dropped.notFiniteVector } : {}),
    ...(late > 0 ? { not_measured_in_time: late } : {}),
  };
}

/** Steps of one pipeline in one call; after a long stop the rest is left for the next minute. */
const MAX_STEPS = 48;

/**
 * Takes the steps that are due in every pipeline, and then has its check evaluated. Any number of workers may do it at once and at any time: each step
 * starts from a revision of the state, and of two from the same revision one is stored.
 *
 * @throws as forEachPipeline
 */
export async function evaluateDensity(context: Context, signal: AbortSignal): Promise<void> {
  await forEachPipeline(context.densityPlans, signal, async (plan) => {
    let isStored = false;
    try {
      for (let steps = 0; steps < MAX_STEPS; steps++) {
        signal.throwIfAborted();
        if (!(await takeStep(context, plan, signal))) return;
        isStored = true;
      }
    } finally {
      if (isStored && plan.severity !== null) await context.hooks.evaluateChecks([plan.pipeline]);
    }
  });
}

/** @returns false when nothing is due, or another worker was faster and goes on */
async function takeStep(context: Context, plan: DensityPlan, signal: AbortSignal): Promise<boolean> {
  const stored = (await context.db.density.watch.find(plan.pipeline)) ?? (await firstState(context, plan));
  const observed = await observe(context, plan, stored.state, signal);
  return observed !== null && store(context, plan, stored, transition(plan, stored.state, observed), signal);
}

async function firstState(context: Context, plan: DensityPlan): Promise<StoredDensityState> {
  const { fields } = await currentFingerprint(context, plan);
  return { state: learningState(fields, null), revision: 0, updatedAt: context.clock.now() };
}

/** The next thing that the watch has to know; null while nothing is due. */
async function observe(
  context: Context,
  plan: DensityPlan,
  state: DensityState,
  signal: AbortSignal,
): Promise<WatchObservation | null> {
  const now = context.clock.now();
  const isDue = lastClosable(plan, now) > state.closedMs;
  // The parts are looked at before anything is said of coverage: what they changed is no drift.
  if (isDue) await probeParts(context, plan, signal);
  const change = await observeChange(context, plan, state, signal);
  if (change === 'unknown') return null;
  if (change !== null) return change;
  switch (state.phase.kind) {
    case 'learning':
      return isDue ? observeBaselineTraffic(context, plan, state, now, signal) : null;
    case 'replaying':
      return observeReplay(context, plan, state.phase, now, signal);
    case 'watching':
      if (isUpgradeDue(plan, state, now)) return observeBaselineTraffic(context, plan, state, now, signal);
      return isDue ? observeWindow(context, plan, state, state.phase, signal) : null;
  }
}

/** Measurements go first, and are the same whoever writes them. @returns false when another worker was faster */
async function store(
  context: Context,
  plan: DensityPlan,
  { revision }: StoredDensityState,
  { state, effects }: WatchStep,
  signal: AbortSignal,
): Promise<boolean> {
  const { pipeline } = plan;
  const events: NewDensityEvent[] = [];
  for (const effect of effects) {
    if (effect.kind === 'record_measurements') await context.db.measurements.record(effect.outcomes);
    if (effect.kind === 'record_event') events.push(effect.event);
    if (effect.kind === 'investigate_alert') {
      events.push(await investigateAlert(context, plan, effect.alert, state.sinceMs, signal));
    }
  }
  const windows = effects.flatMap((effect) => (effect.kind === 'store_windows' ? effect.windows : []));
  const at = context.clock.now();
  if (!(await context.db.density.watch.advance({ pipeline, revision, state, windows, events, at }))) return false;
  await releaseBaselines(context, pipeline, effects);
  for (const { kind, sentence } of events) {
    const fields = { pipeline, event: kind };
    if (kind === 'page') context.logger.error(sentence, fields);
    else context.logger.info(sentence, fields);
  }
  return true;
}

async function releaseBaselines({ db }: Context, pipeline: string, effects: readonly WatchEffect[]): Promise<void> {
  for (const effect of effects) {
    if (effect.kind === 'release_baselines_before') {
      await db.density.baselines.releaseBefore(pipeline, effect.version);
    }
  }
}

import type { Context } from '../core/context.ts';
import { ALL_SEGMENT } from '../core/model.ts';
import { DAY_MS, MINUTE_MS } from '../core/time.ts';
import { matrixOf, rowOf } from '../math/vector/matrix.ts';
import { forEachPipeline } from '../platform/queue/for-each-pipeline.ts';
import type { RetainedQueries, StoredBaseline } from './baselines-table.ts';
import type { densityTasks } from './compute.ts';
import type { CoveragePeriod } from './coverage-reads.ts';
import { observeBaselineTraffic, observeReplay } from './learn-baseline.ts';
import { currentFingerprint, hasGoldenDropped, observeChange, probeConnectors } from './observe-change.ts';
import type { DensityPlan, DensityRun } from './plan.ts';
import { MAX_POOL_MS } from './rules/alert.ts';
import { type RegionRow, regionTable } from './rules/baseline-spread.ts';
import { noveltyOf, readCause } from './rules/cause.ts';
import type { ReferenceQueries } from './rules/matched-density.ts';
import { segmentTotals, type WindowMeasurement } from './rules/measure-window.ts';
import { uncoveredIn, type WindowSpan, windowsToClose, windowTotals } from './rules/pooled-density.ts';
import { densityOf, uncoveredShareOf } from './rules/query-density.ts';
import { isUpgradeDue, lastClosable, learningState, MEASURING_PATIENCE_MS, transition } from './rules/watch.ts';
import { raisedEvent } from './rules/watch-sentences.ts';
import type {
  AlertToInvestigate,
  ClosedWindow,
  DensityState,
  NewDensityEvent,
  WatchingPhase,
  WatchObservation,
  WatchStep,
} from './rules/watch-state.ts';
import { findLostChunks } from './search-store.ts';
import { readTraffic, type Traffic, timeOf } from './traffic.ts';
import type { StoredDensityState } from './watch-table.ts';

/** Maximum number of live queries, one per session, that are compared with the baseline queries. */
const MAX_COMPARED_QUERIES = 1_000;

/**
 * Investigates a new alert over the period in which the drop was measured: how much traffic is uncovered, in which
 * regions, and whether the queries are new. If the queries resemble the baseline, or if golden scores dropped, the
 * store may have lost content. In these cases, looks up the chunks that baseline queries found.
 *
 * @param sinceMs measurements before this time are not comparable; null if all are comparable
 */
async function investigateAlert(run: DensityRun, alert: AlertToInvestigate, sinceMs: number | null) {
  const { context, plan } = run;
  const { pipeline } = plan;
  const { raised, baselineVersion } = alert;
  const stored = await context.db.density.baselines.find(pipeline, baselineVersion);
  if (stored === null) throw new Error(`The density baseline ${baselineVersion} of ${pipeline} no longer exists`);
  const pooled = alert.history.filter(({ startMs }) => startMs >= raised.size.startMs);
  const { sessions, share } = uncoveredIn(pooled.flatMap(({ segments }) => segments[ALL_SEGMENT] ?? []));
  const uncovered = uncoveredShareOf(share, Math.max(1, sessions), stored.baseline.global.sessions);
  const sample = await context.db.density.baselines.retained(pipeline, baselineVersion, 'sample');
  const { startMs, endMs } = raised.size;
  const from = new Date(startMs);
  const period = { pipeline, from, until: new Date(endMs), scoredSince: timeOf(sinceMs) };
  const compared = await compareQueries(run, stored, sample, period);
  const novelty = compared === null ? null : noveltyOf(compared.familiarity, compared.novelBelow, uncovered.excess);
  const trafficChanged = novelty?.explains ?? false;
  const isGoldenWorse = hasGoldenDropped(await context.db.golden.runs.latest(), pipeline);
  const isStoreSuspected = !trafficChanged || isGoldenWorse === true;
  const lost = isStoreSuspected ? await findLostChunks(run, sample.queries) : null;
  const reading = readCause({
    trafficChanged,
    goldenDropped: isGoldenWorse,
    chunksMissing: lost === null ? null : lost.missing > 0,
  });
  const regions = regionsOf(pooled, stored);
  return raisedEvent(pipeline, alert, uncovered, regions, novelty, reading, lost);
}

/**
 * A session counts once in each region that contains any of its queries, so shares are relative to the number of
 * sessions summed over all regions.
 */
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
    return { region, share: sessions / all, density: densityOf(sumX / sessions) };
  });
  return regionTable(regions, baseline.regionShares);
}

/**
 * Compares the queries since the drop, one per session, with the baseline queries. Returns null if there are too few
 * queries of either kind.
 */
async function compareQueries(
  { context, signal }: DensityRun,
  { storeMean }: StoredBaseline,
  sample: RetainedQueries,
  period: CoveragePeriod,
): Promise<ReturnType<typeof densityTasks.compareWithBaseline>> {
  const traffic = await readTraffic(context, period, 2 * MAX_COMPARED_QUERIES, storeMean, signal);
  const seen = new Set<string>();
  const rows = traffic.queries.flatMap(({ id, session, row }) => {
    const name = session ?? `query ${id}`;
    if (row === null || seen.has(name)) return [];
    seen.add(name);
    return [row];
  });
  const queries = matrixOf(rows.slice(0, MAX_COMPARED_QUERIES).map((row) => rowOf(traffic.vectors, row)));
  if (queries.rows === 0) return null;
  return context.compute.run('compareWithBaseline', { queries, baseline: sample.vectors }, signal);
}

/** Maximum number of queries measured per window; a sample of this size is accurate enough. */
const MAX_QUERIES = 20_000;
/**
 * Maximum age of a window that is measured again. Exported densities cover at most a day, and samples of older windows
 * may already have been deleted.
 */
const LATE_SAMPLES_MS = DAY_MS;
/** Maximum time from scoring a query until other transactions can read the score. */
const WRITING_MS = MINUTE_MS;

/**
 * Measures the next window that is due to close. Writes nothing. The same samples always produce the same measurement.
 *
 * @returns null if no window is due, or if the window's queries are still being measured
 */
async function observeWindow(
  run: DensityRun,
  { closedMs, sinceMs }: DensityState,
  { baselineVersion }: WatchingPhase,
): Promise<WatchObservation | null> {
  const { context, plan } = run;
  const now = context.clock.now();
  const { windowMs, graceMs, pipeline } = plan;
  const [span] = windowsToClose(closedMs, now.getTime(), { windowMs, graceMs, most: 1 });
  if (span === undefined || (await isAwaited(run, span, now))) return null;
  const stored = await context.db.density.baselines.find(pipeline, baselineVersion);
  if (stored === null) throw new Error(`The density baseline ${baselineVersion} of ${pipeline} no longer exists`);
  const retained = await context.db.density.baselines.retained(pipeline, baselineVersion, 'reference');
  const comparison = { ...stored, reference: referenceOf(retained) };
  const scoredSince = timeOf(sinceMs);
  const { closed, measurement, traffic } = await measureWindow(run, comparison, scoredSince, span);
  const before = await context.db.density.watch.windows(pipeline, new Date(span.endMs - MAX_POOL_MS));
  const comparable = before.filter(
    (window) => window.endMs <= span.startMs && window.baselineVersion === baselineVersion,
  );
  const remeasured = await measureLateSamples(run, comparison, scoredSince, comparable);
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

async function isAwaited({ context, plan }: DensityRun, { startMs, endMs }: WindowSpan, now: Date): Promise<boolean> {
  const { pipeline, graceMs } = plan;
  if (now.getTime() > endMs + graceMs + MEASURING_PATIENCE_MS) return false;
  const period = { pipeline, from: new Date(startMs), until: new Date(endMs), scoredSince: null };
  const { open, untouched } = await context.db.density.coverage.tally(period);
  return open + untouched > 0;
}

/** A baseline, and the reference queries with which live queries are compared. */
type Comparison = StoredBaseline & { readonly reference: ReferenceQueries };

function referenceOf({ queries, vectors }: RetainedQueries): ReferenceQueries {
  const half = (side: 0 | 1): Uint32Array => Uint32Array.from(queries, ({ counts }) => counts?.[side] ?? 0);
  return { vectors, surprises: Float64Array.from(queries, ({ surprise }) => surprise), counts: [half(0), half(1)] };
}

/**
 * @param scoredSince excludes queries measured before this time, whose scores are not comparable; null excludes none
 */
async function measureWindow(
  { context, plan, signal }: DensityRun,
  { baseline, storeMean, version, reference }: Comparison,
  scoredSince: Date | null,
  { startMs, endMs }: WindowSpan,
) {
  // A query that is scored after this time counts as late, even if it is scored while the traffic is being read below.
  // The next search for late queries therefore starts at this time.
  const measuredMs = context.clock.now().getTime();
  const period = { pipeline: plan.pipeline, from: new Date(startMs), until: new Date(endMs), scoredSince };
  const { regions, scores, meanExcess } = baseline;
  const traffic = await readTraffic(context, period, MAX_QUERIES, storeMean, signal);
  const { queries, vectors } = traffic;
  const measurement = await context.compute.run(
    'measureWindow',
    { traffic: { queries, vectors }, baseline: { regions, scores, reference, meanExcess } },
    signal,
  );
  const totals = windowTotals({ startMs, endMs }, measurement.means);
  const segmentsOf = new Map(traffic.covered.map(({ id, segments }) => [id, segments]));
  const segments = segmentTotals(measurement, segmentsOf, plan);
  const closed = { startMs, endMs, measuredMs, baselineVersion: version, totals, segments };
  return { closed, measurement, traffic };
}

/**
 * Measures windows from the last day again if some of their queries were scored after the latest window closed. The new
 * measurements update the sums of the windows, so these sums do not depend on the order in which samples arrive. The
 * e-values of the windows do not change.
 *
 * @param comparable closed windows of the same baseline, oldest first
 * @returns the windows measured again, oldest first
 */
async function measureLateSamples(
  run: DensityRun,
  stored: Comparison,
  scoredSince: Date | null,
  comparable: readonly ClosedWindow[],
): Promise<readonly ClosedWindow[]> {
  const { context, plan } = run;
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
    remeasured.push((await measureWindow(run, stored, scoredSince, window)).closed);
  }
  return remeasured;
}

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

/**
 * Maximum number of steps per pipeline and run. If more steps are due, for example after a long downtime, the next
 * minute's run takes them.
 */
const MAX_STEPS = 48;

/**
 * For every pipeline, takes up to `MAX_STEPS` due steps, then evaluates the pipeline's check if a step was stored. If
 * two workers start a step from the same revision of the state, only one step is stored.
 *
 * @throws the errors of forEachPipeline
 */
export async function evaluateDensity(context: Context, signal: AbortSignal): Promise<void> {
  await forEachPipeline(context.densityPlans, signal, async (plan) => {
    let isStored = false;
    try {
      for (let steps = 0; steps < MAX_STEPS; steps++) {
        signal.throwIfAborted();
        if (!(await takeStep({ context, plan, signal }))) return;
        isStored = true;
      }
    } finally {
      if (isStored && plan.severity !== null) await context.hooks.evaluateChecks([plan.pipeline]);
    }
  });
}

/** @returns false if no step is due, or if another worker stored the step first */
async function takeStep(run: DensityRun): Promise<boolean> {
  const { context, plan } = run;
  const stored = (await context.db.density.watch.find(plan.pipeline)) ?? (await firstState(context, plan));
  const observed = await observe(run, stored.state);
  return observed !== null && store(run, stored, transition(plan, stored.state, observed));
}

async function firstState(context: Context, plan: DensityPlan): Promise<StoredDensityState> {
  const { fields } = await currentFingerprint(context, plan);
  return { state: learningState(fields, null), revision: 0, updatedAt: context.clock.now() };
}

async function observe(run: DensityRun, state: DensityState): Promise<WatchObservation | null> {
  const now = run.context.clock.now();
  const isDue = lastClosable(run.plan, now) > state.closedMs;
  // Probes the store and embedder before evaluating coverage, because a change in either of them is not drift.
  if (isDue) await probeConnectors(run);
  const change = await observeChange(run, state);
  if (change === 'unknown') return null;
  if (change !== null) return change;
  switch (state.phase.kind) {
    case 'learning':
      return isDue ? observeBaselineTraffic(run, state, now) : null;
    case 'replaying':
      return observeReplay(run, state.phase, now);
    case 'watching':
      if (isUpgradeDue(run.plan, state, now)) return observeBaselineTraffic(run, state, now);
      return isDue ? observeWindow(run, state, state.phase) : null;
  }
}

/**
 * Writes the measurements before the state: every worker computes the same measurements, so writing them twice is
 * harmless.
 *
 * @returns false if another worker stored the step first
 */
async function store(
  run: DensityRun,
  { revision }: StoredDensityState,
  { state, measurements = [], windows = [], events: found = [], releaseBefore }: WatchStep,
): Promise<boolean> {
  const { pipeline } = run.plan;
  const { db, clock, logger } = run.context;
  if (measurements.length > 0) await db.measurements.record(measurements);
  const events: NewDensityEvent[] = [];
  for (const event of found) {
    events.push('raised' in event ? await investigateAlert(run, event, state.sinceMs) : event);
  }
  const at = clock.now();
  if (!(await db.density.watch.advance({ pipeline, revision, state, windows, events, at }))) return false;
  if (releaseBefore !== undefined) await db.density.baselines.releaseBefore(pipeline, releaseBefore);
  for (const { kind, sentence } of events) {
    const fields = { pipeline, event: kind };
    if (kind === 'page') logger.error(sentence, fields);
    else logger.info(sentence, fields);
  }
  return true;
}

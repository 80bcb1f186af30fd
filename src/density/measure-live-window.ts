/** The live queries of a window that is over, held against the baseline. */
import { DAY_MS, MINUTE_MS } from '../time.ts';
import type { StoredBaseline } from './baselines-table.ts';
import type { DensityDeps } from './dependencies.ts';
import type { DensityPlan } from './plan.ts';
import { MAX_POOL_MS } from './rules/alarm.ts';
import { segmentTotals, type WindowMeasurement } from './rules/measure-window.ts';
import { type WindowSpan, windowsToClose, windowTotals } from './rules/pooled-density.ts';
import { MEASURING_PATIENCE_MS } from './rules/watch.ts';
import type { ClosedWindow, DensityState, WatchingPhase, WatchObservation } from './rules/watch-state.ts';
import { readTraffic, type Traffic, timeOf } from './traffic.ts';

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
export async function observeWindow(
  deps: DensityDeps,
  plan: DensityPlan,
  { closedMs, sinceMs }: DensityState,
  { baselineVersion }: WatchingPhase,
  now: Date,
  signal: AbortSignal,
): Promise<WatchObservation | null> {
  const { windowMs, graceMs, pipeline } = plan;
  const [span] = windowsToClose(closedMs, now.getTime(), { windowMs, graceMs, most: 1 });
  if (span === undefined || (await isAwaited(deps, plan, span, now))) return null;
  const stored = await deps.tables.baselines.find(pipeline, baselineVersion);
  if (stored === null) throw new Error(`the density baseline ${baselineVersion} of ${pipeline} is gone`);
  const reference = { plan, stored, scoredSince: timeOf(sinceMs) };
  const { closed, measurement, traffic } = await measureWindow(deps, reference, span, signal);
  const before = await deps.tables.watch.windows(pipeline, new Date(span.endMs - MAX_POOL_MS));
  const comparable = before.filter(
    (window) => window.endMs <= span.startMs && window.baselineVersion === baselineVersion,
  );
  const remeasured = await measureLateSamples(deps, reference, comparable, signal);
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
  { tables }: DensityDeps,
  { pipeline, graceMs }: DensityPlan,
  { startMs, endMs }: WindowSpan,
  now: Date,
): Promise<boolean> {
  if (now.getTime() > endMs + graceMs + MEASURING_PATIENCE_MS) return false;
  const period = { pipeline, from: new Date(startMs), until: new Date(endMs), scoredSince: null };
  const { open, untouched } = await tables.coverage.tally(period);
  return open + untouched > 0;
}

async function measureWindow(
  deps: DensityDeps,
  { plan, stored: { baseline, version }, scoredSince }: Reference,
  { startMs, endMs }: WindowSpan,
  signal: AbortSignal,
): Promise<{
  readonly closed: ClosedWindow;
  readonly measurement: WindowMeasurement;
  readonly traffic: Traffic;
}> {
  // What is scored while this reads is late, and looked for from here on.
  const measuredMs = deps.clock.now().getTime();
  const period = { pipeline: plan.pipeline, from: new Date(startMs), until: new Date(endMs), scoredSince };
  const { regions, scores } = baseline;
  const columns = regions.count === 0 ? null : regions.columns;
  const traffic = await readTraffic(deps, period, { most: MAX_QUERIES, columns }, signal);
  const { queries, vectors } = traffic;
  const measurement = await deps.compute.measureWindow({ queries, vectors }, { regions, scores }, signal);
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
  deps: DensityDeps,
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
    return (await deps.tables.coverage.tally({ ...period, scoredSince: lateSince })).first;
  };
  const first = await firstLate(latest.endMs - LATE_SAMPLES_MS, latest.endMs);
  if (first === null) return [];
  const remeasured: ClosedWindow[] = [];
  for (const window of comparable) {
    if (window.endMs <= first.getTime()) continue;
    if ((await firstLate(window.startMs, window.endMs)) === null) continue;
    remeasured.push((await measureWindow(deps, reference, window, signal)).closed);
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

/** Reads the sampled queries in a window, and the clicks on them, in bounded memory. */

import type { Context } from '../core/context.ts';
import { ALL_SEGMENT } from '../core/model.ts';
import { HOUR_MS } from '../core/time.ts';
import type { LatestMeasurement } from '../measures/measurements.ts';
import { clickedQueries, clickThroughRate } from './rules/feedback/click-rates.ts';
import { type BaselineCtr, baselineCtr, DEFAULT_CLICK_CUTOFF } from './rules/feedback/clicks-over-expected-clicks.ts';
import { type SampledQuery, valueWithin } from './rules/live-measures.ts';
import { calibrationOf } from './rules/sampling/estimate.ts';
import type { LiveWindow, LiveWindows } from './sql/live-windows.ts';

/** Name of the measure that stores the baseline. The measure's value is the raw click-through rate. */
export const BASELINE_CTR = 'baseline_click_through_ratio';

type StoredBaseline = BaselineCtr & Readonly<Record<string, unknown>>;

/** A baseline is relearned after this time. */
const BASELINE_INTERVAL_MS = 24 * HOUR_MS;
/** Maximum age of a usable baseline, in multiples of `BASELINE_INTERVAL_MS`. */
const BASELINE_INTERVALS_TO_TRUST = 3;
/** If there are too few clicks for a baseline, recalld tries again every hour. */
const BASELINE_RETRY_MS = HOUR_MS;

/**
 * Returns the click-through rates of the baseline. Rates that are at least a day old are replaced by rates learned from
 * the period before `until`. If that period has too few clicks, the stored rates are returned until they are three days
 * old; after that, null is returned.
 *
 * @param known latest measurement of BASELINE_CTR
 * @throws as readLiveWindow
 */
export async function currentBaselineCtr(
  context: Context,
  plan: { readonly pipeline: string; readonly baselineMs: number },
  known: LatestMeasurement | null,
  until: Date,
  signal: AbortSignal,
): Promise<BaselineCtr | null> {
  const isTrusted = isYounger(known?.newest, BASELINE_INTERVAL_MS * BASELINE_INTERVALS_TO_TRUST);
  const stored = known?.newest != null && isTrusted ? (known.newest.details as StoredBaseline) : null;
  const isFresh = stored !== null && isYounger(known?.newest, BASELINE_INTERVAL_MS);
  if (isFresh || isYounger(known?.gap, BASELINE_RETRY_MS)) return stored;

  const from = new Date(until.getTime() - plan.baselineMs);
  const series = { pipeline: plan.pipeline, measure: BASELINE_CTR, segment: ALL_SEGMENT };
  const frame = { ...series, windowStart: from, windowEnd: until, measuredAt: context.clock.now() };
  // Avoids reading all baseline queries every hour if the service sends no clicks.
  if (!(await context.db.live.windows.hasClicks(plan.pipeline, from))) {
    await context.db.measurements.record([{ kind: 'no_data', ...frame, reason: 'no_clicks', details: {} }]);
    return stored;
  }
  const reading = await readLiveWindow(context, { pipeline: plan.pipeline, from, until }, [], signal);
  const baseline = baselineCtr(reading.queries);
  const ctr = clickThroughRate(reading.queries, DEFAULT_CLICK_CUTOFF);
  if (baseline.kind === 'insufficient_data' || ctr.kind === 'insufficient_data') {
    const { of, have, need } = baseline.kind === 'insufficient_data' ? baseline : { of: 'sessions', have: 0, need: 2 };
    const reason = of === 'clicks' ? 'too_few_clicks' : 'too_few_sessions';
    await context.db.measurements.record([{ kind: 'no_data', ...frame, reason, details: { have, need } }]);
    return stored;
  }
  const value = valueWithin(ctr, 'sessions_wilson');
  await context.db.measurements.record([{ ...frame, ...value, details: { ...baseline } }]);
  return baseline;
}

export function isYounger(outcome: { readonly ageSeconds: number } | null | undefined, ms: number): boolean {
  return outcome != null && outcome.ageSeconds * 1000 < ms;
}

export type WindowReading = Awaited<ReturnType<typeof readLiveWindow>>;

/** Safety limit on the number of halvings; even one huge session does not need more. */
const MAX_HALVINGS = 40;

const none: readonly number[] = [];

/**
 * Reads the samples in a window. If there are more than `maxSamples`, repeatedly halves the probability of selecting a
 * session until the expected number of samples fits. Measures stay unbiased; only their confidence intervals widen. The
 * number of halvings depends only on the number of samples, unless large sessions keep the number of selected samples
 * above twice the limit.
 *
 * @param segmentKeys segment keys to read; others are dropped
 * @throws RecalldError database_unreachable; the abort reason of `signal` if it aborts
 */
export async function readLiveWindow(
  { db, logger, maxSamples }: Context,
  window: LiveWindow,
  segmentKeys: readonly string[],
  signal: AbortSignal,
) {
  const { samples, steps } = await db.live.windows.count(window);
  let halvings = 0;
  while (samples * 2 ** -halvings > maxSamples) halvings++;
  for (; halvings <= MAX_HALVINGS; halvings++) {
    const reading = await readHalved(db.live.windows, window, segmentKeys, halvings, 2 * maxSamples, signal);
    if (reading === null) continue;
    if (halvings > 0) {
      logger.warn('measuring only part of the live queries, because the window is too large', {
        pipeline: window.pipeline,
        samples,
        read: reading.queries.length,
      });
    }
    return {
      ...reading,
      /** Number of times that the samples were halved to fit the limit; 0 if all were read. */
      halvings,
      /**
       * Number of samples in the window. `queries` contains all these samples, or only the samples that remained after
       * the halvings.
       */
      samples,
      /** Number of samples that belong to an episode. */
      steps,
    };
  }
  throw new Error(`cannot reduce the samples of ${window.pipeline} to ${maxSamples} in ${MAX_HALVINGS} halvings`);
}

/** Returns null if there are more than `max` queries. */
async function readHalved(
  windows: LiveWindows,
  window: LiveWindow,
  segmentKeys: readonly string[],
  halvings: number,
  max: number,
  signal: AbortSignal,
) {
  const queries: SampledQuery[] = [];
  const arrivals = await windows.arrivals(window);
  const calibration = calibrationOf(arrivals);
  const arrived = Object.values(arrivals).reduce((sum, { counted }) => sum + counted, 0);
  /**
   * `notShown`: clicks on documents that were not shown, or clicks with neither a document nor a rank. `late`: clicks
   * that arrived too long after their query.
   */
  const clicks = { counted: 0, notShown: 0, late: 0 };
  const tagsOf = createTagReader(segmentKeys);
  let isCertain = halvings === 0;
  for await (const batch of windows.queries(window, halvings)) {
    signal.throwIfAborted();
    if (queries.length + batch.length > max) return null;
    const ids = batch.map(({ id }) => id);
    const attribution = clickedQueries(batch, await windows.clicks(window.pipeline, ids, window.from));
    clicks.notShown += attribution.leftOut.notShown;
    clicks.late += attribution.leftOut.late;
    for (const [index, query] of attribution.queries.entries()) {
      const sample = batch[index];
      if (sample === undefined) continue;
      const clickedRanks = query.clickedRanks.length === 0 ? none : query.clickedRanks;
      clicks.counted += clickedRanks.length;
      isCertain &&= sample.probability === 1 && sample.rateProbability >= 1;
      queries.push({
        ...query,
        clickedRanks,
        occurredAtMs: sample.occurredAt.getTime(),
        outcome: sample.outcome,
        context: sample.context,
        stages: sample.stages,
        latencyMs: sample.latencyMs,
        calibration: calibration[sample.outcome],
        tags: tagsOf(sample.segments),
      });
    }
  }
  return {
    queries,
    /** Number of live queries counted in the window, sampled or not; 0 if there are no counts. */
    arrived,
    /** True if all samples were read and each of them has a sampling rate and an inclusion probability of 1. */
    isCertain,
    clicks,
  };
}

/** Shares one object between equal tags to save memory. */
export function createTagReader(keys: readonly string[]) {
  const known = new Map<string, Readonly<Record<string, string>>>();
  return (segments: Readonly<Record<string, string>>): Readonly<Record<string, string>> => {
    const entries = keys.filter((key) => Object.hasOwn(segments, key)).map((key) => [key, segments[key] ?? '']);
    const identity = JSON.stringify(entries);
    const tags = known.get(identity) ?? (Object.fromEntries(entries) as Record<string, string>);
    known.set(identity, tags);
    return tags;
  };
}

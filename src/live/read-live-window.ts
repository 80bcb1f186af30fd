/** Stored samples -> queries that can be measured, with their clicks, in bounded memory. */

import type { Context } from '../core/context.ts';
import { ALL_SEGMENT } from '../core/model.ts';
import { HOUR_MS } from '../core/time.ts';
import type { LatestMeasurement } from '../measures/measurements.ts';
import { clickedQueries, clickThroughRate } from './rules/feedback/click-rates.ts';
import {
  type BaselineCtr,
  baselineCtr,
  DEFAULT_CLICK_CUTOFF,
  parseBaselineCtr,
  storeReference,
} from './rules/feedback/clicks-over-expected-clicks.ts';
import type { SampledQuery } from './rules/live-measures.ts';
import { calibrationOf } from './rules/sampling/estimate.ts';
import type { LiveWindow, LiveWindows, WindowQuery } from './sql/live-windows.ts';

/** The measure that it is stored as: its value is the raw CTR of the baseline. */
export const REFERENCE = 'baseline_click_through_ratio';

/** A reference is taken anew after a day, and used for three at most. */
const REFERENCE_INTERVAL_MS = 24 * HOUR_MS;
const REFERENCE_INTERVALS_TO_TRUST = 3;
/** Until there are clicks enough for a reference, it is tried for once an hour. */
const REFERENCE_RETRY_MS = HOUR_MS;

/**
 * The stored reference of a pipeline, taken anew from the time before `until` when it is a day old; null while there
 * are too few clicks for one.
 *
 * @param known what is stored of its series
 * @throws as readLiveWindow
 */
export async function currentBaselineCtr(
  context: Context,
  plan: { readonly pipeline: string; readonly baselineMs: number },
  known: LatestMeasurement | null,
  until: Date,
  signal: AbortSignal,
): Promise<BaselineCtr | null> {
  const isTrusted = isYounger(known?.newest, REFERENCE_INTERVAL_MS * REFERENCE_INTERVALS_TO_TRUST);
  const stored = known?.newest != null && isTrusted ? parseBaselineCtr(known.newest.details) : null;
  const isFresh = stored !== null && isYounger(known?.newest, REFERENCE_INTERVAL_MS);
  if (isFresh || isYounger(known?.gap, REFERENCE_RETRY_MS)) return stored;

  const from = new Date(until.getTime() - plan.baselineMs);
  const series = { pipeline: plan.pipeline, measure: REFERENCE, segment: ALL_SEGMENT };
  const frame = { ...series, windowStart: from, windowEnd: until, measuredAt: context.clock.now() };
  // Of a service that tells of no clicks, the many queries of a baseline are not read each hour to find none on them.
  if (!(await context.db.live.windows.hasClicks(plan.pipeline, from))) {
    await context.db.measurements.record([{ kind: 'no_data', ...frame, reason: 'no_clicks', details: {} }]);
    return stored;
  }
  const reading = await readLiveWindow(context, { pipeline: plan.pipeline, from, until }, [], signal);
  const reference = baselineCtr(reading.queries);
  const ctr = clickThroughRate(reading.queries, DEFAULT_CLICK_CUTOFF);
  if (reference.kind === 'insufficient_data' || ctr.kind === 'insufficient_data') {
    const { of, have, need } =
      reference.kind === 'insufficient_data' ? reference : { of: 'sessions', have: 0, need: 2 };
    const reason = of === 'clicks' ? 'too_few_clicks' : 'too_few_sessions';
    await context.db.measurements.record([{ kind: 'no_data', ...frame, reason, details: { have, need } }]);
    return stored;
  }
  await context.db.measurements.record([
    {
      kind: 'value',
      ...frame,
      value: ctr.value,
      ciLow: ctr.low,
      ciHigh: ctr.high,
      ciMethod: 'sessions_wilson',
      n: ctr.n,
      details: storeReference(reference),
    },
  ]);
  return reference;
}

function isYounger(outcome: { readonly ageSeconds: number } | null | undefined, ms: number): boolean {
  return outcome != null && outcome.ageSeconds * 1000 < ms;
}

export interface WindowReading {
  readonly queries: readonly SampledQuery[];
  /** Live queries that were counted in the time of the window, sampled or not; 0 where nothing was counted. */
  readonly arrived: number;
  /** Whether nothing of what was read could have been left out: each rate was 1, and so was each probability. */
  readonly isCertain: boolean;
  /** How often the samples were halved to stay within the limit; 0 when all were read. */
  readonly halvings: number;
  /** Samples of the window, of which `queries` are all or a part. */
  readonly samples: number;
  readonly clicks: {
    readonly counted: number;
    /** On a document that was not shown, or without document and rank. */
    readonly notShown: number;
    /** Too long after their query. */
    readonly late: number;
  };
}

/** No session is so large that its window must be halved more often. */
const MAX_HALVINGS = 40;

const none: readonly number[] = [];

/**
 * Reads a window. When it holds more than `maxSamples`, sessions are drawn among them with halved probability until
 * the expected number fits, so that what is measured stays unbiased and only its bounds widen. The number of halvings
 * follows from the number of samples alone; only when large sessions then still exceed twice the limit, it is raised.
 *
 * @param segmentKeys tags that are kept; all others are dropped
 * @throws the reason of `signal` when it aborts, and RecalldError database_unreachable
 */
export async function readLiveWindow(
  { db, logger, maxSamples: most }: Context,
  window: LiveWindow,
  segmentKeys: readonly string[],
  signal: AbortSignal,
): Promise<WindowReading> {
  const samples = await db.live.windows.count(window);
  let halvings = 0;
  while (samples * 2 ** -halvings > most) halvings++;
  for (; halvings <= MAX_HALVINGS; halvings++) {
    const reading = await readHalved(db.live.windows, window, segmentKeys, halvings, 2 * most, signal);
    if (reading === null) continue;
    if (halvings > 0) {
      logger.warn('a window of live queries is too large to be read whole, so a part of it is measured', {
        pipeline: window.pipeline,
        samples,
        read: reading.queries.length,
      });
    }
    return { ...reading, halvings, samples };
  }
  throw new Error(`the samples of ${window.pipeline} do not come down to ${most} however often they are halved`);
}

/** Null when there are more than `most`. */
async function readHalved(
  windows: LiveWindows,
  window: LiveWindow,
  segmentKeys: readonly string[],
  halvings: number,
  most: number,
  signal: AbortSignal,
): Promise<Omit<WindowReading, 'halvings' | 'samples'> | null> {
  const queries: SampledQuery[] = [];
  const arrivals = await windows.arrivals(window);
  const calibration = calibrationOf(arrivals);
  const arrived = Object.values(arrivals).reduce((sum, { counted }) => sum + counted, 0);
  const clicks = { counted: 0, notShown: 0, late: 0 };
  const tagsOf = createTagReader(segmentKeys);
  let isCertain = halvings === 0;
  for await (const batch of windows.queries(window, halvings)) {
    signal.throwIfAborted();
    if (queries.length + batch.length > most) return null;
    const ids = batch.map(({ id }) => id);
    const told = await windows.clicks(window.pipeline, ids, window.from);
    const attribution = clickedQueries(batch, told);
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
        calibration: calibration[sample.outcome],
        tags: tagsOf(sample),
      });
    }
  }
  return { queries, arrived, isCertain, clicks };
}

/** Gives equal tags the same object, as there are few of them and many queries. */
function createTagReader(keys: readonly string[]): (query: WindowQuery) => Readonly<Record<string, string>> {
  const known = new Map<string, Readonly<Record<string, string>>>();
  return ({ segments }) => {
    const entries = keys.filter((key) => Object.hasOwn(segments, key)).map((key) => [key, segments[key] ?? '']);
    const identity = JSON.stringify(entries);
    const tags = known.get(identity) ?? (Object.fromEntries(entries) as Record<string, string>);
    known.set(identity, tags);
    return tags;
  };
}

/** What clicks are expected of a pipeline: taken from its past once a day, and stored. */
import type { Clock } from '../clock.ts';
import type { LatestMeasurement, Measurements } from '../measures/ports/measurements.ts';
import { ALL_SEGMENT } from '../model.ts';
import { type ReadLiveWindowDeps, readLiveWindow } from './read-live-window.ts';
import { clickThroughRate } from './rules/feedback/click-rates.ts';
import {
  DEFAULT_CLICK_CUTOFF,
  type ReferenceCtr,
  readReference,
  referenceCtr,
  storeReference,
} from './rules/feedback/reference-ctr.ts';

/** The measure that it is stored as: its value is the raw CTR of the baseline. */
export const REFERENCE = 'reference_click_through_ratio';

const HOUR_MS = 3_600_000;
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
export async function currentReference(
  deps: ReadLiveWindowDeps & { readonly measurements: Measurements; readonly clock: Clock },
  plan: { readonly pipeline: string; readonly baselineMs: number },
  known: LatestMeasurement | null,
  until: Date,
  signal: AbortSignal,
): Promise<ReferenceCtr | null> {
  const isTrusted = isYounger(known?.newest, REFERENCE_INTERVAL_MS * REFERENCE_INTERVALS_TO_TRUST);
  const stored = known?.newest != null && isTrusted ? readReference(known.newest.details) : null;
  const isFresh = stored !== null && isYounger(known?.newest, REFERENCE_INTERVAL_MS);
  if (isFresh || isYounger(known?.gap, REFERENCE_RETRY_MS)) return stored;

  const from = new Date(until.getTime() - plan.baselineMs);
  const reading = await readLiveWindow(deps, { pipeline: plan.pipeline, from, until }, [], signal);
  const reference = referenceCtr(reading.queries);
  const ctr = clickThroughRate(reading.queries, DEFAULT_CLICK_CUTOFF);
  const series = { pipeline: plan.pipeline, measure: REFERENCE, segment: ALL_SEGMENT };
  const frame = { ...series, windowStart: from, windowEnd: until, measuredAt: deps.clock.now() };
  if (reference.kind === 'insufficient_data' || ctr.kind === 'insufficient_data') {
    const { of, have, need } =
      reference.kind === 'insufficient_data' ? reference : { of: 'sessions', have: 0, need: 2 };
    const reason = of === 'clicks' ? 'too_few_clicks' : 'too_few_sessions';
    await deps.measurements.record([{ kind: 'no_data', ...frame, reason, details: { have, need } }]);
    return stored;
  }
  await deps.measurements.record([
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

/** Whether a measure left its normal range: the range of its earlier values, robust against a few bad ones. */

import { MINUTE_MS, type TimeSpan } from '../../core/time.ts';
import { median } from '../../math/stats/descriptive.ts';
import { normalQuantile } from '../../math/stats/distributions.ts';
import type { MeasureScale } from './measure-row.ts';
import { measureRow } from './measure-table.ts';
import type { Measurement } from './measurement.ts';

/**
 * Measures that no alert of their own reports. Traffic, failures, feedback, density, recall, golden scores and the index
 * have alerts. Those of golden runs are watched for each golden set.
 */
const watchedMeasures = [
  'results_per_answer',
  'context_characters',
  'context_repeated_ratio',
  'top_query_ratio',
  'main_language_ratio',
  'click_through_ratio',
  'clicked_query_ratio',
  'clicked_reciprocal_rank',
  'clicks_over_expected_ratio',
  'store_queries_apart_ratio',
  'store_chunks_unasked_ratio',
  'store_duplicates_ratio',
  'store_query_divergence',
  'store_centroid_shift',
  'store_length_ratio',
  'rbo',
  'golden_context_characters',
  'golden_context_repeated_ratio',
  'retriever_latency_p95_seconds',
  'candidates_recall',
  'false_answer_ratio',
  'golden_representativeness',
] as const;

/** The alert rule on measures outside of their normal range. */
export const MEASURE_CHANGED = 'RecalldMeasureChanged';

export type WatchedMeasure = (typeof watchedMeasures)[number];

export function isWatchedMeasure(measure: string): boolean {
  return (watchedMeasures as readonly string[]).includes(measure);
}

/** Values inside are normal. `low` and `high` leave room for chance and for changes too small to matter. */
export interface NormalRange {
  readonly normal: number;
  readonly low: number;
  readonly high: number;
  /** Values that it was learnt from. */
  readonly n: number;
}

type Value = Pick<Measurement, 'measure' | 'value' | 'ciLow' | 'ciHigh' | 'windowStart' | 'windowEnd' | 'details'>;

/** Fewest values that a range is learnt from, and the fewest windows that they must span. */
const MIN_VALUES = 12;
const MIN_WINDOWS = 3;
/** A share or score that moves by less, or another value that moves by a smaller part of itself, is no news. */
const MIN_SHARE_CHANGE = 0.1;
const MIN_RELATIVE_CHANGE = 0.35;
/** A busy machine makes answers up to twice as slow. */
const MIN_RELATIVE_DELAY = 1;
/** Standard deviations of a normal distribution in one median absolute deviation, and in the width of a 95 % interval. */
const PER_MAD = 1.4826;
const PER_WIDTH = 2 * 1.96;
const LOOK_MS = 5 * MINUTE_MS;

/**
 * The normal range that earlier values teach: their median, and as many standard deviations around it as the budget of false
 * alarms asks for. Only values whose window ended before the newest one began count, none of an incident, and none that was compared with another pinned run. Values since
 * the latest deployment are preferred as soon as they suffice. Null while too few values are known.
 *
 * @param earlier of one series, oldest first
 * @param budget of false alarms for all watched series of a pipeline together, of which there are `series`
 */
export function normalRange(
  newest: Value,
  earlier: readonly Value[],
  { incidents, deployments }: { readonly incidents: readonly TimeSpan[]; readonly deployments: readonly Date[] },
  budget: { readonly count: number; readonly periodMs: number; readonly series: number },
): NormalRange | null {
  const clean = earlier.filter(
    ({ windowStart, windowEnd, details: { against } }) =>
      windowEnd <= newest.windowStart &&
      against === newest.details['against'] &&
      !incidents.some(({ from, until }) => windowStart <= until && windowEnd >= from),
  );
  const deployed = deployments
    .filter((at) => at <= newest.windowStart)
    .toSorted((a, b) => b.getTime() - a.getTime())[0];
  const since = deployed === undefined ? [] : clean.filter(({ windowStart }) => windowStart >= deployed);
  const history = suffices(since) ? since : clean;
  if (!suffices(history)) return null;
  const values = history.map(({ value }) => value);
  const normal = median(values);
  const scatter = PER_MAD * median(values.map((value) => Math.abs(value - normal)));
  const chance = median(history.map(({ ciLow, ciHigh }) => (ciLow === null || ciHigh === null ? 0 : ciHigh - ciLow)));
  const looks = (budget.periodMs / LOOK_MS / budget.count) * budget.series;
  const reach = -normalQuantile(Math.min(0.5, 1 / looks) / 2) * Math.hypot(scatter, chance / PER_WIDTH);
  const { scale } = measureRow(newest.measure);
  const material = materialChange(scale, normal);
  const room = Math.max(reach, material);
  return { normal, low: normal - room, high: normal + room, n: history.length };
}

function materialChange(scale: MeasureScale, normal: number): number {
  if (scale === 'share' || scale === 'score') return MIN_SHARE_CHANGE;
  return (scale === 'seconds' ? MIN_RELATIVE_DELAY : MIN_RELATIVE_CHANGE) * Math.abs(normal);
}

/**
 * Whether the whole 95 % interval of a value, or the value where it has none, lies outside the range; of a measure of which
 * one direction is worse, on that side.
 */
export function isChanged({ measure, value, ciLow, ciHigh }: Value, { low, high }: NormalRange): boolean {
  const worse = measureRow(measure).judged?.worse;
  return (worse !== 'below' && (ciLow ?? value) > high) || (worse !== 'above' && (ciHigh ?? value) < low);
}

function suffices(values: readonly Value[]): boolean {
  const [first, last] = [values[0], values.at(-1)];
  if (values.length < MIN_VALUES || first === undefined || last === undefined) return false;
  const windowMs = last.windowEnd.getTime() - last.windowStart.getTime();
  return last.windowEnd.getTime() - first.windowStart.getTime() >= MIN_WINDOWS * windowMs;
}

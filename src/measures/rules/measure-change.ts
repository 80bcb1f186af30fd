/** Detects measures outside their normal range, which is learned from the median and the spread of earlier values. */

import { MINUTE_MS, type TimeSpan } from '../../core/time.ts';
import { median } from '../../math/stats/descriptive.ts';
import { normalQuantile } from '../../math/stats/distributions.ts';
import type { MeasureScale } from './measure-row.ts';
import { measureRow } from './measure-table.ts';
import type { Measurement } from './measurement.ts';

/** Name of the alert for measures outside their normal range. */
export const MEASURE_CHANGED = 'RecalldMeasureChanged';

/** Range of normal values, which includes variation by chance and changes that are too small to matter. */
export type NormalRange = NonNullable<ReturnType<typeof normalRange>>;

type Value = Pick<Measurement, 'measure' | 'value' | 'ciLow' | 'ciHigh' | 'windowStart' | 'windowEnd' | 'details'>;

/**
 * Minimum number of values for learning a range; together, the values must span at least `MIN_WINDOWS` window lengths.
 */
const MIN_VALUES = 12;
const MIN_WINDOWS = 3;
/** Smallest absolute change that counts for a share or score. */
const MIN_SHARE_CHANGE = 0.1;
/** Smallest change that counts for any other value, relative to the normal value. */
const MIN_RELATIVE_CHANGE = 0.35;
/**
 * For the number of calls per episode, smaller changes matter, because each call costs time and money. For repeated
 * calls, an absolute minimum applies too, because most agents repeat almost no calls and a few more are harmless.
 */
const minEpisodeChanges: Readonly<Record<string, { readonly absolute: number; readonly relative: number }>> = {
  episode_retrievals: { absolute: 0, relative: 0.2 },
  episode_repeats: { absolute: 0.05, relative: 0.35 },
};
/**
 * Smallest change that counts for a duration, relative to the normal value (1 = doubled), because latencies may double
 * on a busy machine. A change must also reach `MIN_DELAY_SECONDS`.
 */
const MIN_RELATIVE_DELAY = 1;
/**
 * Smallest change that counts for a duration, in seconds. Users who wait for a generated answer do not notice an extra
 * 0.2 s.
 */
const MIN_DELAY_SECONDS = 0.2;
/** Ratio between the standard deviation and the median absolute deviation of a normal distribution. */
const PER_MAD = 1.4826;
/** Width of a 95 % interval in standard deviations. */
const PER_WIDTH = 2 * 1.96;
/** Episodes have too few calls if the number of calls after the first is below this share of the usual number. */
const FEWEST_LATER_CALLS = 0.12;
const EVALUATION_INTERVAL_MS = 5 * MINUTE_MS;

/**
 * Learns the normal range from earlier values: their median, plus and minus the number of standard deviations that the
 * budget for false alerts requires. Excludes values whose window overlaps the newest window, values measured during an
 * incident, and values measured against another pinned run. Once there are enough values since the latest deployment,
 * older values are ignored.
 *
 * @param earlier values of the same series, oldest first
 * @param budget number of false alerts accepted for all watched series of a pipeline together; `series` is the number
 *   of these series
 * @returns null while there are too few values
 */
export function normalRange(
  newest: Value,
  earlier: readonly Value[],
  { incidents, deployments }: { readonly incidents: readonly TimeSpan[]; readonly deployments: readonly Date[] },
  budget: { readonly count: number; readonly periodMs: number; readonly series: number },
) {
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
  const history = isEnough(since) ? since : clean;
  if (!isEnough(history)) return null;
  const values = history.map(({ value }) => value);
  const normal = median(values);
  const scatter = PER_MAD * median(values.map((value) => Math.abs(value - normal)));
  const chance = median(history.map(({ ciLow, ciHigh }) => (ciLow === null || ciHigh === null ? 0 : ciHigh - ciLow)));
  const evaluations = (budget.periodMs / EVALUATION_INTERVAL_MS / budget.count) * budget.series;
  const reach = -normalQuantile(Math.min(0.5, 1 / evaluations) / 2) * Math.hypot(scatter, chance / PER_WIDTH);
  const { scale } = measureRow(newest.measure);
  const room = Math.max(reach, materialChange(newest.measure, scale, normal));
  const low = newest.measure === 'episode_retrievals' ? Math.min(normal - reach, fewestCalls(normal)) : normal - room;
  return {
    normal,
    low,
    high: normal + room,
    /** Number of values that the normal range is based on. */
    n: history.length,
  };
}

/**
 * Returns the number of retrieval calls per episode below which an agent counts as making no follow-up calls. The limit
 * allows for a drop in the number of calls, because an agent needs fewer calls if its retriever improves.
 */
export function fewestCalls(normal: number): number {
  return 1 + FEWEST_LATER_CALLS * Math.max(0, normal - 1);
}

function materialChange(measure: string, scale: MeasureScale, normal: number): number {
  if (scale === 'share' || scale === 'score') return MIN_SHARE_CHANGE;
  const episode = minEpisodeChanges[measure];
  if (episode !== undefined) return Math.max(episode.absolute, episode.relative * normal);
  if (scale === 'seconds') return Math.max(MIN_DELAY_SECONDS, MIN_RELATIVE_DELAY * normal);
  return MIN_RELATIVE_CHANGE * Math.abs(normal);
}

/**
 * True if the whole 95 % interval (or the value, if it has no interval) lies outside the normal range. If a threshold
 * policy defines which direction is worse, only changes in that direction count, except for `episode_retrievals`, where
 * both directions count.
 */
export function isChanged({ measure, value, ciLow, ciHigh }: Value, { low, high }: NormalRange): boolean {
  const worse = measureRow(measure).thresholdPolicy?.worse;
  const isLowWorse = worse !== 'above' || measure === 'episode_retrievals';
  return (worse !== 'below' && (ciLow ?? value) > high) || (isLowWorse && (ciHigh ?? value) < low);
}

function isEnough(values: readonly Value[]): boolean {
  const [first, last] = [values[0], values.at(-1)];
  if (values.length < MIN_VALUES || first === undefined || last === undefined) return false;
  const windowMs = last.windowEnd.getTime() - last.windowStart.getTime();
  return last.windowEnd.getTime() - first.windowStart.getTime() >= MIN_WINDOWS * windowMs;
}

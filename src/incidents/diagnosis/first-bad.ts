/** Finds the onset of a pipeline's firing alerts: the time of their first bad measurement. */

import { isBreach, thresholdCheckName } from '../../checks/rules/threshold.ts';
import type { Context } from '../../core/context.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { DAY_MS, type TimeSpan } from '../../core/time.ts';
import type { StoredDensityState } from '../../density/watch-table.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import type { DropDetails } from '../../live/measure-feedback.ts';
import type { LatestMeasurement } from '../../measures/measurements.ts';
import { isChanged } from '../../measures/rules/measure-change.ts';
import { thresholdPolicy } from '../../measures/rules/measure-table.ts';
import type { IntervalOf, Measurement } from '../../measures/rules/measurement.ts';
import { changedWatched, feedbackDrop } from './live-alerts.ts';

/** Maximum time between the onset and now. */
const MAX_BACK_MS = 7 * DAY_MS;

/**
 * Returns the time span of the first bad measurement behind four kinds of alerts: threshold checks, changed measures,
 * drops in density, and drops in feedback. Returns the earliest time span if several of these alerts fire, and null if
 * none fires. Golden runs are examined separately.
 */
export async function firstBadMeasurement(
  { db }: Context,
  { name: pipeline, thresholds }: WatchedPipeline,
  known: {
    readonly measurements: readonly LatestMeasurement[];
    readonly intervalSeconds: IntervalOf;
    readonly density: StoredDensityState | null;
  },
  now: Date,
): Promise<TimeSpan | null> {
  const from = new Date(now.getTime() - MAX_BACK_MS);
  const until = new Date(now.getTime() + 1);
  const statuses = (await db.checks.statuses()).filter((one) => one.pipeline === pipeline && isBreach(one.verdict));
  const windows = await Promise.all(
    thresholds.map(async (check): Promise<TimeSpan | null> => {
      const status = statuses.find(({ name }) => name === thresholdCheckName(check));
      if (status === undefined) return null;
      const { measure } = check;
      const segment = status.segment ?? ALL_SEGMENT;
      const values = await db.measurements.series({ pipeline, measure, segment }, from, until);
      const isWorse = thresholdPolicy(measure).worse === 'above';
      return firstOfBad(values, ({ value }) => (isWorse ? value > status.threshold : value < status.threshold));
    }),
  );
  const changed = await Promise.all(
    changedWatched(known, now).map(async ({ measure, segment, range }) =>
      firstOfBad(await db.measurements.series({ pipeline, measure, segment }, from, until), (value) =>
        isChanged(value, range),
      ),
    ),
  );
  const all = [...windows, ...changed, ...otherOnsets(known.density, known.measurements)];
  const found = all.filter((window) => window !== null);
  return found.toSorted((a, b) => a.from.getTime() - b.from.getTime())[0] ?? null;
}

/**
 * Returns the time span of the first measurement in the latest streak of bad measurements. The time span starts at the
 * end of the last good window, because the fault began after it. The first bad window itself starts long before the
 * fault, because windows of live queries overlap.
 *
 * @param values oldest first
 */
function firstOfBad(values: readonly Measurement[], isBad: (value: Measurement) => boolean): TimeSpan | null {
  const lastGood = values.findLastIndex((value) => !isBad(value));
  const first = values[lastGood + 1];
  if (first === undefined) return null;
  const goodUntil = values[lastGood]?.windowEnd ?? first.windowStart;
  return { from: goodUntil > first.windowStart ? goodUntil : first.windowStart, until: first.windowEnd };
}

/** Returns the times at which the density alerts and the drop in feedback began. */
function otherOnsets(stored: StoredDensityState | null, latest: readonly LatestMeasurement[]): TimeSpan[] {
  const phase = stored?.state.phase;
  const alerts = phase?.kind === 'watching' ? [phase.alerts.page, phase.alerts.ticket] : [];
  const drop = feedbackDrop(latest)?.details as DropDetails | undefined;
  const times = [...alerts.map((alert) => alert?.incident?.openedMs), drop?.since];
  return times.flatMap((time) => (time === undefined ? [] : [{ from: new Date(time), until: new Date(time) }]));
}

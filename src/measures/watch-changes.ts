/** Watches for changes in measures that have no alert of their own, and exports their normal values. */

import type { Config } from '../app/config/schema.ts';
import type { Context } from '../core/context.ts';
import { ALL_SEGMENT } from '../core/model.ts';
import { DAY_MS, MINUTE_MS, type TimeSpan } from '../core/time.ts';
import { goldenSetOf } from '../golden/rules/golden-set.ts';
import { durationMs } from '../platform/config/times.ts';
import { type GaugeSample, type GaugesAt, sample } from '../platform/metrics/meter.ts';
import { forEachPipeline } from '../platform/queue/for-each-pipeline.ts';
import { defineCronJob } from '../platform/queue/job-queue.ts';
import type { LatestMeasurement, MeasuredRows } from './measurements.ts';
import { isChanged, MEASURE_CHANGED, type NormalRange, normalRange } from './rules/measure-change.ts';
import { measureRow } from './rules/measure-table.ts';
import {
  ageSeconds,
  type IntervalOf,
  type MeasurementSeries,
  measurementTrustSeconds,
  runTrustSeconds,
} from './rules/measurement.ts';
import { isOverviewSeries } from './shown-measures.ts';

/** Name of the measure under which the normal ranges of a pipeline are stored. */
export const NORMAL_RANGES = 'measures_normal';

/** Maximum age of the values that a normal range is based on. */
const HISTORY_MS = 14 * DAY_MS;
/**
 * Maximum number of earlier values that are read per period of the history; each period is as long as the window.
 * Windows overlap, so more values would add little.
 */
const VALUES_IN_WINDOW = 12;

/** Maximum number of incidents, and of deployments, that are read. */
const MAX_INCIDENTS = 500;

/** Returns each pipeline with the measures for which its config has a check; these measures are not watched. */
function plansOf({ pipelines }: Config) {
  return pipelines.map(({ name, live, checks }) => ({
    pipeline: name,
    windowMs: durationMs(live.window),
    checked: checks.flatMap((check) => ('measure' in check ? [check.measure] : [])),
  }));
}

async function incidentsOf({ db }: Context, pipeline: string, during: TimeSpan): Promise<readonly TimeSpan[]> {
  const found = await db.incidents.list({ pipeline, during, limit: MAX_INCIDENTS });
  // Ignores an incident that consists only of alerts for changed measures: values from such an incident count as
  // normal, so that a permanent change becomes the new normal.
  const relevant = found.filter(({ timeline }) => timeline.some(({ rule }) => rule !== MEASURE_CHANGED));
  return relevant.map(({ openedAt, closedAt }) => ({ from: openedAt, until: closedAt ?? during.until }));
}

async function deploymentsOf({ db }: Context, pipeline: string, since: Date): Promise<readonly Date[]> {
  return (await db.live.deployments.list({ pipeline, since, limit: MAX_INCIDENTS })).map(
    ({ occurredAt }) => occurredAt,
  );
}

/** Learns and stores the normal range of every watched measure. The operation is idempotent. */
async function watchChanges(context: Context, signal: AbortSignal): Promise<void> {
  const now = context.clock.now();
  const latest = await context.db.measurements.latest(now);
  await forEachPipeline(plansOf(context.config), signal, async ({ pipeline, windowMs, checked }) => {
    // Live segments are not watched, because there are too many of them and each has too few queries.
    const watched = latest.filter((one) => measureRow(one.measure).isWatched === true && isOverviewSeries(one));
    const own = watched.filter((one) => one.pipeline === pipeline && !checked.includes(one.measure));
    const during = { from: new Date(now.getTime() - HISTORY_MS), until: now };
    const [incidents, deployments] = await Promise.all([
      incidentsOf(context, pipeline, during),
      deploymentsOf(context, pipeline, during.from),
    ]);
    const budget = { ...context.falsePages, series: own.length };
    const stepMs = Math.max(5 * MINUTE_MS, windowMs / VALUES_IN_WINDOW);
    const segments = [...new Set([ALL_SEGMENT, ...own.map(({ segment }) => segment)])];
    for (const segment of segments) {
      const series = own.filter((one) => one.segment === segment);
      const measures = series.map(({ measure }) => measure);
      const history = await context.db.measurements.history({ pipeline, segment, measures }, during.from, stepMs);
      const ranges = series.flatMap(({ measure, newest }) => {
        if (newest === null) return [];
        const earlier = history.filter((one) => one.measure === measure);
        const range = normalRange(newest, earlier, { incidents, deployments }, budget);
        return range === null ? [] : [[measure, range] as const];
      });
      await context.db.measurements.record([
        {
          kind: 'value',
          pipeline,
          measure: NORMAL_RANGES,
          segment,
          windowStart: during.from,
          windowEnd: now,
          measuredAt: now,
          value: ranges.length,
          ciLow: null,
          ciHigh: null,
          ciMethod: null,
          n: ranges.length,
          details: Object.fromEntries(ranges),
        },
      ]);
    }
  });
}

export const watchChangesJob = defineCronJob({
  name: 'watch-measures',
  does: 'Learns the normal range of every measure that has no alert of its own, from periods without incidents.',
  cron: '40 */5 * * * *',
  timeoutMs: 240_000,
  handle: (context: Context, signal) => watchChanges(context, signal),
});

export type WatchedValue = ReturnType<typeof watchedValues>[number];

/** Returns the newest value of each watched measure with its normal range, unless a later window has no value. */
export function watchedValues(measurements: readonly LatestMeasurement[]) {
  return measurements.flatMap(({ pipeline, measure: stored, segment, newest: ranges }) => {
    if (stored !== NORMAL_RANGES || ranges === null) return [];
    return Object.entries(ranges.details as Readonly<Record<string, NormalRange>>).flatMap(([measure, range]) => {
      const known = measurements.find(
        (one) => one.pipeline === pipeline && one.measure === measure && one.segment === segment,
      );
      const newest = known?.gap === null ? known.newest : null;
      return newest === null
        ? []
        : [{ pipeline, measure, segment, newest, range, isChanged: isChanged(newest, range) }];
    });
  });
}

/** True if these measurements of a pipeline include a normal range for the measure. */
export function isWatched(
  measurements: readonly LatestMeasurement[],
  { measure, segment }: Omit<MeasurementSeries, 'pipeline'>,
): boolean {
  const ranges = measurements.find((one) => one.measure === NORMAL_RANGES && one.segment === segment)?.newest ?? null;
  return ranges !== null && measure in ranges.details;
}

/** Interval of live measures. */
const LIVE_SECONDS = 300;

/** Returns the values that are not stale. */
export function trustedWatched(watched: readonly WatchedValue[], intervalSeconds: IntervalOf, now: Date) {
  return watched.filter(({ pipeline, segment, newest }) => {
    const set = goldenSetOf(segment);
    const runTrust = set === null ? 0 : runTrustSeconds(intervalSeconds(pipeline, set));
    return ageSeconds(newest.measuredAt, now) <= Math.max(runTrust, measurementTrustSeconds(newest, LIVE_SECONDS));
  });
}

/** Returns the gauges of watched measures: the value, its normal value and range, and whether it changed. */
export function changeGauges(
  { pipelines, intervalSeconds }: { readonly pipelines: readonly string[]; readonly intervalSeconds: IntervalOf },
  { measurements }: MeasuredRows,
): GaugesAt {
  const watched = watchedValues(measurements).filter(({ pipeline }) => pipelines.includes(pipeline));
  return (now) =>
    trustedWatched(watched, intervalSeconds, now).flatMap((one): GaugeSample[] => {
      const { pipeline, measure, segment, newest, range } = one;
      const labels = { pipeline, measure, segment };
      return [
        sample('recalld_measure_value', labels, newest.value),
        sample('recalld_measure_normal', labels, range.normal),
        sample('recalld_normal_range', { ...labels, bound: 'low' }, range.low),
        sample('recalld_normal_range', { ...labels, bound: 'high' }, range.high),
        sample('recalld_measure_changed', labels, one.isChanged ? 1 : 0),
      ];
    });
}

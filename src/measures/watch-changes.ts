/** Watches the measures that no alert of their own reports for a change, and exports what is normal and what changed. */
import { type GaugeSample, type GaugesAt, sample } from '../metrics/meter.ts';
import { ALL_SEGMENT } from '../model.ts';
import { forEachPipeline } from '../queue/for-each-pipeline.ts';
import { defineCronJob } from '../queue/job-queue.ts';
import { type Clock, DAY_MS, MINUTE_MS } from '../time.ts';
import type { MeasuredRows, Measurements } from './measurements.ts';
import { isChanged, isWatchedMeasure, type NormalRange, normalRange, type TimeSpan } from './rules/measure-change.ts';
import { ageSeconds, measurementTrustSeconds } from './rules/measurement.ts';

/** The normal ranges of a pipeline, by measure, as they are stored. */
export const NORMAL_RANGES = 'measures_normal';

/** Earlier values that teach what is normal. */
const HISTORY_MS = 14 * DAY_MS;
/** Values that are read of each window; windows overlap, so that more teach little. */
const VALUES_IN_WINDOW = 12;

export interface WatchChangesDeps {
  readonly measurements: Pick<Measurements, 'latest' | 'history' | 'record'>;
  readonly clock: Clock;
  readonly plans: readonly {
    readonly pipeline: string;
    readonly windowMs: number;
    /** Measures with a check of the config, which has an alert. */
    readonly checked: readonly string[];
  }[];
  /** When a pipeline had an open incident within a time. */
  readonly incidentsOf: (pipeline: string, during: TimeSpan) => Promise<readonly TimeSpan[]>;
  readonly deploymentsOf: (pipeline: string, since: Date) => Promise<readonly Date[]>;
  readonly falseAlarms: { readonly count: number; readonly periodMs: number };
}

/** Learns the normal range of every watched measure from its clean past; doing it again changes nothing. */
async function watchChanges(deps: WatchChangesDeps, signal: AbortSignal): Promise<void> {
  const now = deps.clock.now();
  const latest = await deps.measurements.latest(now);
  await forEachPipeline(deps.plans, signal, async ({ pipeline, windowMs, checked }) => {
    const own = latest.filter(
      (one) =>
        one.pipeline === pipeline &&
        one.segment === ALL_SEGMENT &&
        isWatchedMeasure(one.measure) &&
        !checked.includes(one.measure),
    );
    const during = { from: new Date(now.getTime() - HISTORY_MS), until: now };
    const [incidents, deployments, history] = await Promise.all([
      deps.incidentsOf(pipeline, during),
      deps.deploymentsOf(pipeline, during.from),
      deps.measurements.history(
        pipeline,
        own.map(({ measure }) => measure),
        during.from,
        Math.max(5 * MINUTE_MS, windowMs / VALUES_IN_WINDOW),
      ),
    ]);
    const ranges = own.flatMap(({ measure, newest }) => {
      if (newest === null) return [];
      const earlier = history.filter((one) => one.measure === measure);
      const range = normalRange(newest, earlier, { incidents, deployments }, deps.falseAlarms);
      return range === null ? [] : [[measure, range] as const];
    });
    await deps.measurements.record([
      {
        kind: 'value',
        pipeline,
        measure: NORMAL_RANGES,
        segment: ALL_SEGMENT,
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
  });
}

export interface WatchChangesJobDeps {
  readonly watchChanges: WatchChangesDeps;
}

export const watchChangesJob = defineCronJob({
  name: 'watch-measures',
  does: 'Learns the normal range of every measure that no alert of its own reports, from times without an incident.',
  cron: '40 */5 * * * *',
  timeoutMs: 240_000,
  handle: (deps: WatchChangesJobDeps, signal) => watchChanges(deps.watchChanges, signal),
});

/** The gauges of watched measures: the value, what is normal, and whether it changed. */
export function changeGauges(
  { pipelines, intervalSeconds }: { readonly pipelines: readonly string[]; readonly intervalSeconds: number },
  { measurements }: MeasuredRows,
): GaugesAt {
  const ranges = measurements.filter(
    ({ pipeline, measure }) => measure === NORMAL_RANGES && pipelines.includes(pipeline),
  );
  return (now) =>
    ranges.flatMap(({ pipeline, newest }): GaugeSample[] => {
      if (newest === null) return [];
      return Object.entries(newest.details as Readonly<Record<string, NormalRange>>).flatMap(([measure, range]) => {
        const known = measurements.find(
          (one) => one.pipeline === pipeline && one.measure === measure && one.segment === ALL_SEGMENT,
        );
        const value = known?.gap === null ? known.newest : null;
        if (value === null) return [];
        if (ageSeconds(value.measuredAt, now) > measurementTrustSeconds(value, intervalSeconds)) return [];
        const labels = { pipeline, measure };
        return [
          sample('recalld_measure_value', labels, value.value),
          sample('recalld_measure_normal', labels, range.normal),
          sample('recalld_measure_changed', labels, isChanged(value, range) ? 1 : 0),
        ];
      });
    });
}

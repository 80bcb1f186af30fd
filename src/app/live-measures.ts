/** Composes the measuring of live traffic: what each pipeline of the config is measured over, and what is exported. */
import { durationMs } from '../contracts/config/duration.ts';
import type { Config, PipelineConfig } from '../contracts/config/schema.ts';
import { measureLiveTrafficJob } from '../jobs/live-jobs.ts';
import type { LivePlan } from '../pipeline/live/measure-live-traffic.ts';
import { readLiveGauges } from '../pipeline/publish/publish-live.ts';
import type { Clock } from '../ports/clock.ts';
import type { Measurements } from '../ports/measurements.ts';
import type { GaugeSample } from '../ports/metrics.ts';
import type { Schedule } from '../ports/schedule.ts';

/** Bounds of a share over so many samples are within a percent of it; more would only cost time and memory. */
export const MOST_SAMPLES = 20_000;

/** How the live traffic of each pipeline is measured. */
export function createLivePlans(config: Config): LivePlan[] {
  return config.pipelines.map(livePlan);
}

function livePlan({ name, live, segments, sampling }: PipelineConfig): LivePlan {
  const rates = [sampling.rate, ...Object.values(sampling.segments)];
  return {
    pipeline: name,
    windowMs: durationMs(live.window),
    baselineMs: durationMs(live.baseline),
    segmentKeys: segments.keys,
    maxSegments: segments.max,
    keepsAll: rates.every((rate) => rate === 1),
  };
}

/** @returns what reads the gauges of live traffic; values are trusted by the schedule of the job that takes them */
export function createLiveGauges(
  config: Config,
  measurements: Pick<Measurements, 'latest'>,
  schedule: Schedule,
  clock: Clock,
): () => Promise<GaugeSample[]> {
  const pipelines = config.pipelines.map(({ name }) => name);
  const intervalSeconds = liveIntervalSeconds(schedule, clock);
  return () => readLiveGauges({ measurements, clock, pipelines, intervalSeconds });
}

/** Longest gap between two measurements of live traffic. */
export function liveIntervalSeconds(schedule: Schedule, clock: Clock): number {
  return schedule.longestGapSeconds(measureLiveTrafficJob.cron ?? '@daily', 'UTC', clock.now());
}

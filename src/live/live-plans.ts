/** Composes the measuring of live traffic: what each pipeline of the config is measured over, and what is exported. */
import type { Config, PipelineConfig } from '../app/config/schema.ts';
import type { Clock } from '../clock.ts';
import { durationMs } from '../config/duration.ts';
import { longestGapSeconds } from '../schedule/occurrences.ts';
import { measureLiveTrafficJob } from './live-jobs.ts';
import type { LivePlan } from './measure-live-traffic.ts';

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

/** Longest gap between two measurements of live traffic. */
export function liveIntervalSeconds(clock: Clock): number {
  return longestGapSeconds(
    { expression: measureLiveTrafficJob.cron ?? '0 0 * * *', timezone: 'UTC' },
    clock.now(),
  );
}

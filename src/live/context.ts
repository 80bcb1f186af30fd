import type { Pool } from 'pg';
import type { PipelineConfig } from '../app/config/schema.ts';
import type { Scope } from '../core/context.ts';
import { durationMs } from '../platform/config/times.ts';
import { createConfiguredItems } from './deployments/configured-items.ts';
import { createAnnotations, createDeployments } from './deployments/deployments.ts';
import { episodeMeasures } from './rules/episodes.ts';
import { createIsolation } from './sql/isolation-rows.ts';
import { createLiveSamples, createTrafficReads } from './sql/live-samples.ts';
import { createLiveTraffic } from './sql/live-traffic.ts';
import { createLiveWindows } from './sql/live-windows.ts';

export type LivePlan = ReturnType<typeof livePlan>;

export function livePlan({ name, live, segments, episodes, sampling, checks }: PipelineConfig) {
  return {
    pipeline: name,
    windowMs: durationMs(live.window),
    /**
     * Length of the baseline period before the window, from which expected clicks and the usual feedback are learned.
     */
    baselineMs: durationMs(live.baseline),
    segmentKeys: segments.keys as readonly string[],
    maxSegments: segments.max,
    /** An episode is closed after this time without a retrieval. */
    idleMs: durationMs(episodes.idle),
    /**
     * True if a check requires an episode measure. In that case, if there are no episodes, recalld records a gap for
     * the measure, and the reason for the gap.
     */
    expectsEpisodes: checks.some(
      (check) => 'measure' in check && (episodeMeasures as readonly string[]).includes(check.measure),
    ),
    samplesAll: [sampling.rate, ...Object.values(sampling.segments)].every((rate) => rate === 1),
  };
}

/** @param holder name of this process, unique among all processes that write live traffic */
export function liveTables(pool: Pool, holder: string, scope: Scope) {
  return {
    traffic: createLiveTraffic(pool, holder),
    trafficReads: createTrafficReads(pool),
    isolation: createIsolation(pool, scope),
    samples: createLiveSamples(pool),
    windows: createLiveWindows(pool),
    deployments: createDeployments(pool, scope),
    annotations: createAnnotations(pool, scope),
    configuredItems: createConfiguredItems(pool),
  };
}

declare module '../core/context.ts' {
  interface Db {
    readonly live: ReturnType<typeof liveTables>;
  }
  interface Hooks {
    /**
     * Schedules an early evaluation of all checks of the pipelines that have new isolation violations. Never throws: if
     * the evaluation cannot be scheduled, the checks are evaluated within a minute anyway.
     */
    reportViolations(pipelines: readonly string[]): void;
    /** Starts an export, which removes erased data from the files in the configured folder. Never throws. */
    refreshExport(): void;
  }
  interface Context {
    readonly livePlans: readonly LivePlan[];
    /** Maximum number of samples read per window. */
    readonly maxSamples: number;
  }
}

import { periodBudget } from '../app/config/alerts.ts';
import type { Config } from '../app/config/schema.ts';
import type { Context } from '../core/context.ts';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import { durationMs } from '../platform/config/times.ts';
import { densitySchema } from './config.ts';
import { DENSITY_CHECK_NAME } from './rules/density-check.ts';

export type DensityPlan = ReturnType<typeof createDensityPlans>[number];

/** A run of a density job on one pipeline. */
export interface DensityRun {
  readonly context: Context;
  readonly plan: DensityPlan;
  readonly signal: AbortSignal;
}

/** Creates a plan for each pipeline that has a store and either `density` or a drift check. */
export function createDensityPlans(config: Config, pipelines: readonly WatchedPipeline[]) {
  const watched = config.pipelines.flatMap((pipeline) => {
    const { store = null, embedder = null } = pipelines.find(({ name }) => name === pipeline.name) ?? {};
    const check = pipeline.checks.find((one) => 'density_drift' in one);
    if (store === null || (pipeline.density === undefined && check === undefined)) return [];
    const { severity = null, name: checkName = DENSITY_CHECK_NAME } = check ?? {};
    return [{ pipeline, store, embedder, severity, checkName }];
  });
  return watched.map(({ pipeline, store, embedder, severity, checkName }) => {
    const density = pipeline.density ?? densitySchema.parse({});
    return {
      pipeline: pipeline.name,
      store,
      embedder,
      /** Severity of the check `density_drift`; null if the check is not configured. */
      severity,
      checkName,
      windowMs: durationMs(density.window),
      graceMs: durationMs(density.grace),
      /** Maximum number of searches per second. */
      maxPerSecond: density.max_per_second,
      budget: periodBudget(config.alerts.false_pages.drift),
      monitors: watched.length,
      needs: density.baseline,
      segmentKeys: pipeline.segments.keys,
      maxSegments: pipeline.segments.max,
    };
  });
}

/** Config -> which pipelines have their query density watched, and how. */
import { densitySchema } from '../contracts/config/density.ts';
import { durationMs } from '../contracts/config/duration.ts';
import { periodBudget } from '../contracts/config/period-budget.ts';
import type { Config } from '../contracts/config/schema.ts';
import type { DensityPlan } from '../pipeline/density/plan.ts';
import type { WatchedPipeline } from '../pipeline/watched-pipeline.ts';

/** Plans of the pipelines with a store and a density, or a check of its drift. */
export function createDensityPlans(config: Config, pipelines: readonly WatchedPipeline[]): DensityPlan[] {
  const watched = config.pipelines.flatMap((pipeline) => {
    const { store = null, embedder = null } = pipelines.find(({ name }) => name === pipeline.name) ?? {};
    const check = pipeline.checks.find((one) => 'density_drift' in one);
    if (store === null || (pipeline.density === undefined && check === undefined)) return [];
    return [{ pipeline, store, embedder, severity: check?.severity ?? null }];
  });
  return watched.map(({ pipeline, store, embedder, severity }): DensityPlan => {
    const density = pipeline.density ?? densitySchema.parse({});
    return {
      pipeline: pipeline.name,
      store,
      embedder,
      severity,
      k: density.k,
      windowMs: durationMs(density.window),
      graceMs: durationMs(density.grace),
      maxPerSecond: density.max_per_second,
      budget: periodBudget(density.false_pages),
      monitors: watched.length,
      needs: density.baseline,
      segmentKeys: pipeline.segments.keys,
      maxSegments: pipeline.segments.max,
    };
  });
}

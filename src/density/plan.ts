import { periodBudget } from '../app/config/alerts.ts';
import type { Config } from '../app/config/schema.ts';
import type { Embedder } from '../connectors/embedders/embedder.ts';
import type { VectorStore } from '../connectors/stores/vector-store.ts';
import type { Severity } from '../core/model.ts';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
/** Settings and connectors for monitoring the query density of a pipeline. */
import { durationMs } from '../platform/config/times.ts';
import { densitySchema } from './config.ts';
import { DENSITY_CHECK_NAME } from './rules/density-check.ts';
import type { WatchSettings } from './rules/watch-state.ts';

export interface DensityPlan extends WatchSettings {
  readonly store: VectorStore;
  readonly embedder: Embedder | null;
  readonly maxPerSecond: number;
  readonly segmentKeys: readonly string[];
  readonly maxSegments: number;
  /** Null if the check `density_drift` is not configured. */
  readonly severity: Severity | null;
  readonly checkName: string;
}

/** Creates a plan for each pipeline that has a store and either `density` or a drift check. */
export function createDensityPlans(config: Config, pipelines: readonly WatchedPipeline[]): DensityPlan[] {
  const watched = config.pipelines.flatMap((pipeline) => {
    const { store = null, embedder = null } = pipelines.find(({ name }) => name === pipeline.name) ?? {};
    const check = pipeline.checks.find((one) => 'density_drift' in one);
    if (store === null || (pipeline.density === undefined && check === undefined)) return [];
    const { severity = null, name: checkName = DENSITY_CHECK_NAME } = check ?? {};
    return [{ pipeline, store, embedder, severity, checkName }];
  });
  return watched.map(({ pipeline, store, embedder, severity, checkName }): DensityPlan => {
    const density = pipeline.density ?? densitySchema.parse({});
    return {
      pipeline: pipeline.name,
      store,
      embedder,
      severity,
      checkName,
      windowMs: durationMs(density.window),
      graceMs: durationMs(density.grace),
      maxPerSecond: density.max_per_second,
      budget: periodBudget(config.alerts.false_pages.drift),
      monitors: watched.length,
      needs: density.baseline,
      segmentKeys: pipeline.segments.keys,
      maxSegments: pipeline.segments.max,
    };
  });
}

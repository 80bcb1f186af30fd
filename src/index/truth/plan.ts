import type { Config } from '../../app/config/schema.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { type Cron, longestGapSeconds } from '../../math/schedule/occurrences.ts';
import { durationMs } from '../../platform/config/times.ts';
import { createManifestSource } from './manifest.ts';

export type IndexPlan = ReturnType<typeof createIndexPlans>[number];

/** @throws RecalldError config_invalid, see createManifestSource */
export function createIndexPlans(config: Config, pipelines: readonly WatchedPipeline[], now: Date) {
  return config.pipelines.flatMap(({ name, index, vector_store: store, segments }, place) => {
    const parts = pipelines.find((one) => one.name === name);
    if (index === undefined || parts === undefined || parts.store === null) return [];
    const cron: Cron = { expression: index.cron, timezone: 'UTC' };
    return [
      {
        pipeline: name,
        manifest: createManifestSource(index.manifest, `pipelines[${place}].index.manifest`),
        store: parts.store,
        retriever: parts.retriever,
        embedder: parts.embedder,
        cron,
        /** Maximum time between two rounds. */
        intervalMs: 1000 * longestGapSeconds(cron, now),
        probe: index.probe,
        lateAfterMs: durationMs(index.late_after),
        callsPerSecond: index.calls_per_second,
        retrieve: index.retrieve,
        embed: index.embed,
        embedPrefix: index.embed_prefix,
        minCosine: index.min_cosine,
        /** True if the store returns the document version with each chunk. */
        hasVersions: store?.version !== undefined,
        maxSegments: segments.max,
      },
    ];
  });
}

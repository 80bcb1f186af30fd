import type { Config } from '../../app/config/schema.ts';
import type { Embedder } from '../../connectors/embedders/embedder.ts';
import type { Retriever } from '../../connectors/retrievers/retriever.ts';
import type { VectorStore } from '../../connectors/stores/vector-store.ts';
import type { WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { type Cron, longestGapSeconds } from '../../math/schedule/occurrences.ts';
import { durationMs } from '../../platform/config/times.ts';
import { createManifestSource, type ManifestSource } from './manifest.ts';

export interface IndexPlan {
  readonly pipeline: string;
  readonly manifest: ManifestSource;
  readonly store: VectorStore;
  readonly retriever: Retriever;
  readonly embedder: Embedder | null;
  readonly cron: Cron;
  /** Maximum time between two rounds. */
  readonly intervalMs: number;
  readonly probe: number;
  readonly lateAfterMs: number;
  readonly callsPerSecond: number;
  readonly retrieve: number;
  readonly embed: number;
  readonly embedPrefix: string;
  readonly minCosine: number;
  /** True if the store returns the document version with each chunk. */
  readonly hasVersions: boolean;
  readonly maxSegments: number;
}

/** @throws RecalldError config_invalid, see createManifestSource */
export function createIndexPlans(config: Config, pipelines: readonly WatchedPipeline[], now: Date): IndexPlan[] {
  return config.pipelines.flatMap(({ name, index, vector_store: store, segments }, place) => {
    const parts = pipelines.find((one) => one.name === name);
    if (index === undefined || parts === undefined || parts.store === null) return [];
    const cron = { expression: index.cron, timezone: 'UTC' };
    return [
      {
        pipeline: name,
        manifest: createManifestSource(index.manifest, `pipelines[${place}].index.manifest`),
        store: parts.store,
        retriever: parts.retriever,
        embedder: parts.embedder,
        cron,
        intervalMs: 1000 * longestGapSeconds(cron, now),
        probe: index.probe,
        lateAfterMs: durationMs(index.late_after),
        callsPerSecond: index.calls_per_second,
        retrieve: index.retrieve,
        embed: index.embed,
        embedPrefix: index.embed_prefix,
        minCosine: index.min_cosine,
        hasVersions: store?.version !== undefined,
        maxSegments: segments.max,
      },
    ];
  });
}

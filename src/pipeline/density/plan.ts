import type { FalsePageBudget } from '../../core/drift/alarm/alarm-levels.ts';
import type { BaselineNeeds } from '../../core/drift/baseline/baseline-period.ts';
import type { Severity } from '../../core/model.ts';
import type { Embedder } from '../../ports/embedder.ts';
import type { VectorStore } from '../../ports/vector-store.ts';

/** How the query density of one pipeline is watched. */
export interface DensityPlan {
  readonly pipeline: string;
  readonly store: VectorStore;
  readonly embedder: Embedder | null;
  readonly k: number;
  readonly windowMs: number;
  /** After the end of a window, until it closes. */
  readonly graceMs: number;
  /** Most searches a second. */
  readonly maxPerSecond: number;
  readonly budget: FalsePageBudget;
  /** Pipelines that are paged together. */
  readonly monitors: number;
  readonly needs: BaselineNeeds;
  readonly segmentKeys: readonly string[];
  readonly maxSegments: number;
  /** Of the check `density_drift`; null when the config has none. */
  readonly severity: Severity | null;
}

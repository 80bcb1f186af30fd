import type { StoredBaseline } from '../../ports/density-baselines.ts';
import type { DensityPlan } from './plan.ts';

/** What the live queries of a pipeline are held against. */
export interface DensityReference {
  readonly plan: DensityPlan;
  readonly stored: StoredBaseline;
  /** Queries that were measured before then, and so in another way, are left out; null leaves out none. */
  readonly scoredSince: Date | null;
}

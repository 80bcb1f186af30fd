import type { Pool } from 'pg';
import type { Shadow, WatchedPipeline } from '../golden/watched-pipeline.ts';
import type { VariantPlan } from './plan.ts';
import { createInterimAnalyses, type ExperimentKey } from './sql/interim-analyses.ts';
import { createShadowAnswers } from './sql/shadow-answers.ts';

export function experimentTables(pool: Pool) {
  return { analyses: createInterimAnalyses(pool), answers: createShadowAnswers(pool) };
}

declare module '../core/context.ts' {
  interface Db {
    readonly experiments: ReturnType<typeof experimentTables>;
  }
  interface Context {
    readonly variantPlans: readonly VariantPlan[];
  }
}

export function keyOf({ name: pipeline }: WatchedPipeline, { name: experiment, fingerprint }: Shadow): ExperimentKey {
  return { pipeline, experiment, fingerprint };
}

/** Counts the comparisons that share the false positive rate: one per golden set, and one for judged live queries. */
export function comparisonsOf({ golden }: WatchedPipeline, { judgedDepth }: Shadow): number {
  return golden.length + (judgedDepth === null ? 0 : 1);
}

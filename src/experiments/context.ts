/** What experiments are read with, and what their jobs work with. */

import type { Pool } from 'pg';
import type { ThrottleLimits } from '../connectors/throttle/limits.ts';
import type { GoldenStatistics } from '../golden/golden-statistics.ts';
import type { GoldenRun } from '../golden/rules/run.ts';
import type { StartGoldenRunDeps } from '../golden/runs/run-golden-set.ts';
import type { GoldenTicks } from '../golden/sql/golden-ticks.ts';
import type { Shadow, WatchedPipeline } from '../golden/watched-pipeline.ts';
import type { JudgingDeps, JudgingPlan } from '../judging/plan.ts';
import type { LiveWindows } from '../live/sql/live-windows.ts';
import type { VariantPlan } from './plan.ts';
import { createInterimAnalyses, type ExperimentKey, type InterimAnalyses } from './sql/interim-analyses.ts';
import { createShadowAnswers, type ShadowAnswers } from './sql/shadow-answers.ts';

export function experimentTables(pool: Pool) {
  return { analyses: createInterimAnalyses(pool), answers: createShadowAnswers(pool) };
}

declare module '../core/context.ts' {
  interface Db {
    readonly experiments: ReturnType<typeof experimentTables>;
  }
  interface Context {
    /** How the variants of each pipeline with `variants` are compared. */
    readonly variantPlans: readonly VariantPlan[];
  }
}

export interface ReadContext extends Pick<StartGoldenRunDeps, 'sets' | 'runs' | 'clock'> {
  readonly analyses: InterimAnalyses;
  readonly shadowAnswers: ShadowAnswers;
  readonly ticks: GoldenTicks;
  readonly pipelines: readonly WatchedPipeline[];
  readonly variantPlans: readonly VariantPlan[];
}

export interface ExperimentContext extends ReadContext, StartGoldenRunDeps, JudgingDeps {
  readonly statistics: GoldenStatistics;
  readonly limits: ThrottleLimits;
  readonly windows: LiveWindows;
  readonly judgingPlans: readonly JudgingPlan[];
  readonly measurementRetentionDays: number;
  /** Names this worker. */
  readonly holder: string;
  /** Hands a run to the workers. */
  resume(run: GoldenRun): Promise<void>;
}

export function keyOf({ name: pipeline }: WatchedPipeline, { name: experiment, fingerprint }: Shadow): ExperimentKey {
  return { pipeline, experiment, fingerprint };
}

/** Comparisons of a shadow, which share the chance of a false call: one for each golden set, one for judged live queries. */
export function comparisonsOf({ golden }: WatchedPipeline, { judgedDepth }: Shadow): number {
  return golden.length + (judgedDepth === null ? 0 : 1);
}

import type { Pool } from 'pg';
import type { Scope } from '../core/context.ts';
import type { GoldenStatistics } from './golden-statistics.ts';
import type { GoldenRun } from './rules/run.ts';
import { createGoldenBaselines } from './sql/golden-baselines.ts';
import { createGoldenBatches } from './sql/golden-batches.ts';
import { createGoldenRotations } from './sql/golden-rotations.ts';
import { createGoldenRuns } from './sql/golden-runs.ts';
import { createGoldenDocuments, createGoldenSets } from './sql/golden-sets.ts';
import { createGoldenTicks } from './sql/golden-ticks.ts';
import { createRunReads } from './sql/run-results.ts';
import type { Timetable } from './timetable.ts';
import type { WatchedPipeline } from './watched-pipeline.ts';

/** @param by name of the user who makes changes, for the audit log; null for changes that recalld makes */
export function goldenTables(pool: Pool, by: string | null, scope: Scope) {
  return {
    sets: createGoldenSets(pool, by, scope),
    runs: createGoldenRuns(pool, by, scope),
    runReads: createRunReads(pool),
    batches: createGoldenBatches(pool),
    ticks: createGoldenTicks(pool),
    rotations: createGoldenRotations(pool, scope),
    baselines: createGoldenBaselines(pool, scope),
    documents: createGoldenDocuments(pool),
  };
}

declare module '../core/context.ts' {
  interface Db {
    readonly golden: ReturnType<typeof goldenTables>;
  }
  interface Hooks {
    /** Evaluates the checks of the given pipelines immediately, because their inputs have changed. */
    evaluateChecks(pipelines?: readonly string[]): Promise<void>;
    /** Sends a run's queries to the shadows, or evaluates a shadow run. */
    followWithShadows(run: GoldenRun, pipeline: WatchedPipeline, signal: AbortSignal): Promise<void>;
    /** Enqueues the job that resumes a run, at most once a minute per run. */
    resume(run: GoldenRun): Promise<void>;
    /** Requests a diagnosis of a pipeline's alerts; requests with equal ids are merged. */
    diagnose(pipeline: string, id: string): Promise<void>;
  }
  interface Context {
    readonly pipelines: readonly WatchedPipeline[];
    readonly timetable: Timetable;
    readonly newRunId: (now: Date) => string;
    readonly statistics: GoldenStatistics;
  }
}

/** What golden sets and runs add to the context. */
import type { Pool } from 'pg';
import type { Timetable } from './gauges.ts';
import type { GoldenStatistics } from './golden-statistics.ts';
import type { GoldenRun } from './rules/run.ts';
import { createGoldenBaselines } from './sql/golden-baselines.ts';
import { createGoldenBatches } from './sql/golden-batches.ts';
import { createGoldenRotations } from './sql/golden-rotations.ts';
import { createGoldenRuns } from './sql/golden-runs.ts';
import { createGoldenDocuments, createGoldenSets } from './sql/golden-sets.ts';
import { createGoldenTicks } from './sql/golden-ticks.ts';
import { createRunReads } from './sql/run-results.ts';
import type { WatchedPipeline } from './watched-pipeline.ts';

/** @param by who works on them, for the audit log; null: recalld itself */
export function goldenTables(pool: Pool, by: string | null) {
  return {
    sets: createGoldenSets(pool, by),
    runs: createGoldenRuns(pool, by),
    runReads: createRunReads(pool),
    batches: createGoldenBatches(pool),
    ticks: createGoldenTicks(pool),
    rotations: createGoldenRotations(pool),
    baselines: createGoldenBaselines(pool),
    documents: createGoldenDocuments(pool),
  };
}

declare module '../core/context.ts' {
  interface Db {
    readonly golden: ReturnType<typeof goldenTables>;
  }
  interface Hooks {
    /** Evaluates the checks of some pipelines at once, because what they are evaluated by has changed. */
    evaluateChecks(pipelines?: readonly string[]): Promise<void>;
    /** Has shadows asked what a run asked, or looks at what a run of a shadow came to. */
    followWithShadows(run: GoldenRun, pipeline: WatchedPipeline, signal: AbortSignal): Promise<void>;
    /** Hands a run to the workers; at most once a minute, however long the queue. */
    resume(run: GoldenRun): Promise<void>;
    /** Has the alerts of a pipeline diagnosed; equal ids are one request. */
    diagnose(pipeline: string, id: string): Promise<void>;
  }
  interface Context {
    readonly pipelines: readonly WatchedPipeline[];
    readonly timetable: Timetable;
    readonly newRunId: (now: Date) => string;
    readonly statistics: GoldenStatistics;
  }
}

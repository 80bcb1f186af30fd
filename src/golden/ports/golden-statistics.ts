import type { GoldenQuery } from '../../model.ts';
import type { ComparedSide, RunDifference } from '../rules/compare-golden-runs.ts';
import type { NoiseTable } from '../rules/comparison/rerun-noise.ts';
import type { QueryAnswer, RunSettings } from '../rules/run.ts';
import type { RunScores } from '../rules/score-run.ts';

/**
 * What is computed of golden runs. The seeds are fixed, so that every implementation comes to the same digits. The
 * daemon computes off the event loop; then every call rejects with the reason of `signal` when it aborts, and with
 * RecalldError overloaded when too many wait already.
 */
export interface GoldenStatistics {
  /** As `scoreRun` of the core. */
  scoreRun(
    queries: readonly GoldenQuery[],
    answers: readonly QueryAnswer[],
    settings: RunSettings,
    dead: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<RunScores>;
  /** As `compareGoldenRuns` of the core. */
  compareRuns(
    baseline: ComparedSide,
    candidate: ComparedSide,
    stale: ReadonlySet<string>,
    noise: NoiseTable,
    signal: AbortSignal,
  ): Promise<RunDifference[] | null>;
  /**
   * How much the retriever moved between runs that asked the same queries; see `measureNoise` of the core.
   *
   * @param runs the answers of each
   * @param settings of all runs
   */
  measureNoise(
    queries: readonly GoldenQuery[],
    runs: readonly (readonly QueryAnswer[])[],
    settings: RunSettings,
    signal: AbortSignal,
  ): Promise<NoiseTable>;
}

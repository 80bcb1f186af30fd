/** A run against another one, both read back from the store. */

import type { GoldenStatistics } from '../golden-statistics.ts';
import type { ComparedSide, RunDifference } from '../rules/compare-golden-runs.ts';
import type { NoiseTable } from '../rules/rerun-noise.ts';
import type { GoldenRun } from '../rules/run.ts';
import type { GoldenRuns } from '../sql/golden-runs.ts';
import type { GoldenSets } from '../sql/golden-sets.ts';
import { queriesOfRun } from './queries-of-run.ts';

/** Where runs are read back from. */
export interface StoredRuns {
  readonly sets: GoldenSets;
  readonly runs: GoldenRuns;
}

export interface CompareDeps extends StoredRuns {
  readonly statistics: GoldenStatistics;
}

/**
 * Compares over the queries that the set versions of both runs share, those of `stale` left out.
 *
 * @param candidate what its worker has at hand already, or null to read it
 * @returns null when there is nothing that both can be compared by
 */
export async function compareStoredRuns(
  deps: CompareDeps,
  baseline: GoldenRun,
  candidate: GoldenRun,
  stale: ReadonlySet<string>,
  noise: NoiseTable,
  signal: AbortSignal,
  known: ComparedSide | null = null,
): Promise<RunDifference[] | null> {
  const after = known ?? (await readComparedSide(deps, candidate));
  const isSameVersion =
    baseline.goldenSet === candidate.goldenSet &&
    baseline.goldenSetVersion === candidate.goldenSetVersion &&
    baseline.queryIds === null;
  const before = isSameVersion
    ? { queries: after.queries, answers: await deps.runs.answers(baseline.id), settings: baseline.settings }
    : await readComparedSide(deps, baseline);
  return deps.statistics.compareRuns(before, after, stale, noise, signal);
}

/** What a run asked, and what was answered. */
export async function readComparedSide({ sets, runs }: StoredRuns, run: GoldenRun): Promise<ComparedSide> {
  const [queries, answers] = await Promise.all([queriesOfRun(sets, run), runs.answers(run.id)]);
  return { queries, answers, settings: run.settings };
}

/** How much does a retriever differ by itself? Measured by completed runs of one set over one unchanged index. */

import type { NoiseTable } from '../rules/rerun-noise.ts';
import type { GoldenRun, QueryAnswer } from '../rules/run.ts';
import type { CompareDeps, StoredRuns } from './compare-stored-runs.ts';

/** With the pinned one ten, by which the check is calibrated; more would only make pinning slow. */
const MOST_EARLIER_RUNS = 9;

/**
 * @param runs of one version of one set; fewer than two tell nothing
 * @returns an empty table when nothing is known
 */
export async function measureRerunNoise(
  { sets, runs: store, statistics }: CompareDeps,
  runs: readonly GoldenRun[],
  signal: AbortSignal,
): Promise<NoiseTable> {
  const [first] = runs;
  if (first === undefined || runs.length < 2) return {};
  const queries = await sets.queries(first.goldenSet, first.goldenSetVersion);
  const answers: (readonly QueryAnswer[])[] = [];
  for (const { id } of runs) answers.push(await store.answers(id));
  return statistics.measureNoise(queries, answers, first.settings, signal);
}

/** Completed runs right before this one that asked the same questions of the same store and model. */
export async function earlierReruns(
  { runs }: Pick<StoredRuns, 'runs'>,
  run: GoldenRun,
): Promise<GoldenRun[]> {
  const { pipeline, goldenSet } = run;
  const before = await runs.list({
    pipeline,
    goldenSet,
    status: 'completed',
    before: run,
    limit: MOST_EARLIER_RUNS,
  });
  const other = before.findIndex((one) => !isSameSetting(one, run));
  return other === -1 ? [...before] : before.slice(0, other);
}

function isSameSetting(a: GoldenRun, b: GoldenRun): boolean {
  return (
    a.goldenSetVersion === b.goldenSetVersion &&
    JSON.stringify(a.settings.cutoffs) === JSON.stringify(b.settings.cutoffs) &&
    a.settings.relevanceLevel === b.settings.relevanceLevel &&
    ['index', 'embedder'].every((part) => a.fingerprints[part] === b.fingerprints[part])
  );
}

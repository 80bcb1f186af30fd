import type { GoldenQuery } from '../../model.ts';
import { BATCH_QUERIES, type GoldenRun } from '../rules/run.ts';
import type { GoldenSets } from '../sql/golden-sets.ts';

/** What a run asks: every query of its set version, or those that were chosen for it. */
export function queriesOfRun(sets: GoldenSets, run: GoldenRun): Promise<readonly GoldenQuery[]> {
  const { goldenSet, goldenSetVersion, queryIds } = run;
  return queryIds === null
    ? sets.queries(goldenSet, goldenSetVersion)
    : sets.someQueries(goldenSet, goldenSetVersion, { ids: queryIds });
}

/** One batch of it. */
export function queriesOfBatch(
  sets: GoldenSets,
  run: GoldenRun,
  batch: number,
): Promise<readonly GoldenQuery[]> {
  const { goldenSet, goldenSetVersion, queryIds } = run;
  const from = batch * BATCH_QUERIES;
  const to = from + BATCH_QUERIES;
  const selection = queryIds === null ? { from, to } : { ids: queryIds.slice(from, to) };
  return sets.someQueries(goldenSet, goldenSetVersion, selection);
}

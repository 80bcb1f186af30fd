/** Several stored golden runs over the queries that all of them share. */
import { RecalldError } from '../../errors.ts';
import { type ComparedSide, sharedQueries } from '../rules/compare-golden-runs.ts';
import { compareMany, type ManyComparison } from '../rules/compare-many.ts';
import type { GoldenRun } from '../rules/run.ts';
import { goldenMeasures, runMetricKeys, scoreQueries } from '../rules/score-run.ts';
import type { ComparisonSettings } from '../rules/verdict.ts';
import { findCompleted, readComparedSide, type StoredRuns } from './stored-runs.ts';

/** The measures of the table, at the largest cut-off that all runs have; the first decides. */
const measures = ['ndcg', ...goldenMeasures.filter((measure) => measure !== 'ndcg')] as const;

export interface ManyRunsCompared {
  readonly runs: readonly GoldenRun[];
  readonly compared: ManyComparison;
}

/**
 * Queries with a label that was stale in any of the runs are left out, as in the comparison of two. Where one of them is
 * compared by document, all are.
 *
 * @throws RecalldError run_unknown, run_not_completed, runs_not_comparable
 */
export async function compareManyRuns(
  store: StoredRuns,
  ids: readonly string[],
  settings: ComparisonSettings,
): Promise<ManyRunsCompared> {
  const runs: GoldenRun[] = [];
  for (const id of ids) runs.push(await findCompleted(store, id));
  const separator = runs.find((run) => run.settings.chunkSeparator !== undefined)?.settings.chunkSeparator;
  const naming = separator === undefined ? {} : { chunkSeparator: separator };
  const sides: ComparedSide[] = [];
  const stale = new Set<string>();
  for (const run of runs) {
    sides.push(await readComparedSide(store, { ...run, settings: { ...run.settings, ...naming } }));
    for (const { queryId } of await store.runs.staleLabels(run.id)) stale.add(queryId);
  }
  const shared = sides.map(({ queries }) => queries).reduce((before, after) => sharedQueries(after, before));
  const queries = shared.filter(({ id }) => !stale.has(id));
  const [first] = sides;
  const cutoffs = (first?.settings.cutoffs ?? []).filter((k) =>
    sides.every(({ settings: asked }) => asked.cutoffs.includes(k)),
  );
  if (first === undefined || queries.length === 0 || cutoffs.length === 0) {
    const message = `The runs ${ids.join(', ')} have no query with live labels or no cut-off in common.`;
    throw new RecalldError('runs_not_comparable', message);
  }
  const by = { cutoffs: [Math.max(...cutoffs)], relevanceLevel: first.settings.relevanceLevel, measures };
  const columns = sides.map(({ answers }) => scoreQueries(queries, answers, by).columns);
  return { runs, compared: compareMany(runMetricKeys(by.cutoffs, measures), columns, settings) };
}

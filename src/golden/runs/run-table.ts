/** The queries of a stored golden run as people look through them, one page at a time. */

import { type ListedQuery, listQueries, type QueryView } from '../rules/listed-queries.ts';
import type { GoldenRun } from '../rules/run.ts';
import type { RunMetricKey } from '../rules/score-run.ts';
import { readComparedSide, type StoredRuns } from './compare-stored-runs.ts';

export interface RunTableSelection {
  readonly view: QueryView;
  /** By which queries are scored. */
  readonly key: RunMetricKey;
  /** Place of the first one, from 0. */
  readonly from: number;
  readonly limit: number;
}

/**
 * @param against the run that queries are held against; null for none
 * @returns the queries of the page, and how many the view has in all
 */
export async function readRunTable(
  deps: StoredRuns,
  run: GoldenRun,
  against: GoldenRun | null,
  { view, key, from, limit }: RunTableSelection,
): Promise<{ readonly page: readonly ListedQuery[]; readonly total: number }> {
  const [side, other, stale] = await Promise.all([
    readComparedSide(deps, run),
    against === null ? null : readOther(deps, run, against),
    deps.runs.staleLabels(run.id),
  ]);
  const staleDocuments = new Map<string, number>();
  for (const { queryId } of stale) staleDocuments.set(queryId, (staleDocuments.get(queryId) ?? 0) + 1);
  const before = other === null ? null : { ...other, queries: other.queries ?? side.queries };
  const listed = listQueries({ run: side, against: before, staleDocuments }, view, key);
  return { page: listed.slice(from, from + limit), total: listed.length };
}

/** Without its queries where they are those of the run: of one version there is one list of questions. */
async function readOther(deps: StoredRuns, run: GoldenRun, against: GoldenRun) {
  const isSame =
    run.goldenSet === against.goldenSet &&
    run.goldenSetVersion === against.goldenSetVersion &&
    run.queryIds === null &&
    against.queryIds === null;
  if (!isSame) return readComparedSide(deps, against);
  return { queries: null, answers: await deps.runs.answers(against.id), settings: against.settings };
}

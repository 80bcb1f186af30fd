/** The queries of a golden run as its page lists them. */

import type { ConsoleDeps } from '../../app/console/deps.ts';
import { pageOf, type Query } from '../../console/http/visit.ts';
import { formatMetricKey } from '../../ir/metric-key.ts';
import { type ListedQuery, queryViews } from '../rules/listed-queries.ts';
import type { GoldenRun } from '../rules/run.ts';
import { runMetricKeys } from '../rules/score-run.ts';
import { readRunTable } from '../runs/run-table.ts';
import type { QueryRow, QueryTableData } from './query-table.tsx';

const PAGE_SIZE = 25;

/** @param against the run that its queries are held against; null without one */
export async function readQueryTable(
  deps: ConsoleDeps,
  run: GoldenRun,
  against: GoldenRun | null,
  withText: boolean,
  query: Query,
): Promise<QueryTableData> {
  const { cutoffs } = run.settings;
  const keys = runMetricKeys(cutoffs);
  const key = keys.find((one) => formatMetricKey(one) === query['by']) ?? {
    measure: 'ndcg',
    k: Math.max(...cutoffs),
  };
  const view = queryViews.find((one) => one === query['view']) ?? 'worst';
  const page = pageOf(query);
  // A run that is not over, or did not come to trusted scores, is held against nothing.
  const other = run.status === 'completed' && against?.status === 'completed' ? against : null;
  const from = (page - 1) * PAGE_SIZE;
  const listed = await readRunTable(deps, run, other, { view, key, from, limit: PAGE_SIZE });
  return {
    view,
    by: formatMetricKey(key),
    measures: keys.map(formatMetricKey),
    rows: listed.page.map((one) => rowOf(one, withText)),
    total: listed.total,
    page,
    pageSize: PAGE_SIZE,
    against: other?.id ?? null,
    chosenAgainst: query['against'] ?? null,
  };
}

function rowOf({ query, ...listed }: ListedQuery, withText: boolean): QueryRow {
  return { ...listed, id: query.id, text: withText ? query.text : null };
}

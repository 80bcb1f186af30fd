/** A golden run query by query: what was asked, what came of it, how it scored, which labels are gone. */

import { formatMetricKey, type MetricKey } from '../../ir/metric-key.ts';
import type { GoldenQuery, QueryOutcome } from '../../model.ts';
import type { GoldenRun, QueryAnswer } from '../rules/run.ts';
import { type RunMetricKey, scoreQueries } from '../rules/score-run.ts';
import { readComparedSide, type StoredRuns } from './compare-stored-runs.ts';

export interface RunQuery {
  readonly query: GoldenQuery;
  /** Null while it has none. */
  readonly answer: QueryAnswer | null;
  /** By metric key. */
  readonly scores: Readonly<Record<string, number>>;
  /** Judged documents that left the store. */
  readonly staleDocuments: readonly string[];
}

export interface RunQuerySelection {
  /** Only queries that came to this. */
  readonly outcome: QueryOutcome | null;
  /** Only queries of these ids; left out or null, all. */
  readonly only?: ReadonlySet<string> | null;
  /** Lowest first by this metric, ties by id; null for the order of the set. */
  readonly orderBy: (MetricKey & { readonly k: number }) | null;
  /** Place of the first one, from 0. */
  readonly from: number;
  readonly limit: number;
}

/** @returns the queries of the page, and how many the selection has in all */
export async function readRunQueries(
  deps: StoredRuns,
  run: GoldenRun,
  { outcome, only = null, orderBy, from, limit }: RunQuerySelection,
): Promise<{ readonly page: readonly RunQuery[]; readonly total: number }> {
  const [{ queries, answers }, stale] = await Promise.all([
    readComparedSide(deps, run),
    deps.runs.staleLabels(run.id),
  ]);
  const answerOf = new Map(answers.map((answer) => [answer.queryId, answer]));
  const selected = queries.filter(
    ({ id }) =>
      (outcome === null || answerOf.get(id)?.outcome === outcome) && (only === null || only.has(id)),
  );
  const ordered = orderBy === null ? selected : lowestFirst(selected, answers, run, orderBy);
  const page = ordered.slice(from, from + limit);
  const { keys, columns } = scoreQueries(page, answers, run.settings);
  return {
    total: ordered.length,
    page: page.map((query, row) => ({
      query,
      answer: answerOf.get(query.id) ?? null,
      scores: scoresOf(keys, columns, row),
      staleDocuments: stale.flatMap(({ queryId, documentId }) => (queryId === query.id ? [documentId] : [])),
    })),
  };
}

function lowestFirst(
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
  { settings }: GoldenRun,
  key: RunMetricKey,
): GoldenQuery[] {
  const only = { ...settings, cutoffs: [key.k], measures: [key.measure] };
  const [column] = scoreQueries(queries, answers, only).columns;
  return queries
    .map((query, row) => ({ query, score: column?.[row] ?? 0 }))
    .toSorted((a, b) => a.score - b.score || (a.query.id < b.query.id ? -1 : 1))
    .map(({ query }) => query);
}

function scoresOf(
  keys: readonly RunMetricKey[],
  columns: readonly Float64Array[],
  row: number,
): Record<string, number> {
  return Object.fromEntries(keys.map((key, column) => [formatMetricKey(key), columns[column]?.[row] ?? 0]));
}

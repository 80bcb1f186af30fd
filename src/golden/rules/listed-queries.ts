import type { GoldenQuery, QueryOutcome } from '../../core/model.ts';
import { type ComparedSide, sharedQueries } from './compare-golden-runs.ts';
import { isAnswered } from './run.ts';
import { type RunMetricKey, scoresBy } from './score-run.ts';

/**
 * - `worst`: all queries, lowest score first
 * - `regressed`: queries with a lower score than before, largest drop first
 * - `newly_empty`: queries, with or without stale labels, that had results before and have none now
 * - `stale`: queries with a judged document that is no longer in the store, lowest score first
 * - `failed`: queries whose retrieval failed or timed out
 */
export const queryViews = ['worst', 'regressed', 'newly_empty', 'stale', 'failed'] as const;

export type QueryView = (typeof queryViews)[number];

export interface ListedQuery {
  readonly query: GoldenQuery;
  /** Outcome of the query; null until it has been run. */
  readonly outcome: QueryOutcome | null;
  readonly score: number;
  /**
   * Score in the earlier run of the comparison. Null if there is no earlier run, if the query differs between the two
   * runs, or if the query has a stale label.
   */
  readonly before: number | null;
  readonly staleDocuments: number;
}

/** Returns all queries of a view in the order of the view, ties by id. */
export function listQueries(
  run: ComparedSide,
  against: ComparedSide | null,
  staleDocuments: ReadonlyMap<string, number>,
  view: QueryView,
  key: RunMetricKey,
): ListedQuery[] {
  const { relevanceLevel } = run.settings;
  const shared = against === null ? [] : sharedQueries(against.queries, run.queries);
  const scoresBefore = against === null ? [] : scoresBy(key, shared, against.answers, relevanceLevel);
  const before = new Map(shared.map(({ id }, row) => [id, scoresBefore[row] ?? 0]));
  const outcomes = new Map(run.answers.map(({ queryId, outcome }) => [queryId, outcome]));
  const now = scoresBy(key, run.queries, run.answers, relevanceLevel);
  const listed = run.queries.map((query, row): ListedQuery => {
    const stale = staleDocuments.get(query.id) ?? 0;
    return {
      query,
      outcome: outcomes.get(query.id) ?? null,
      score: now[row] ?? 0,
      before: stale > 0 ? null : (before.get(query.id) ?? null),
      staleDocuments: stale,
    };
  });
  switch (view) {
    case 'worst':
      return inOrder(listed, ({ score }) => score);
    case 'regressed':
      return inOrder(
        listed.filter((one) => differenceOf(one) < 0),
        differenceOf,
      );
    case 'newly_empty': {
      const [empty, had] = [withDocuments(run, false), withDocuments(against, true)];
      return listed.filter(({ query }) => empty.has(query.id) && had.has(query.id));
    }
    case 'stale':
      return inOrder(
        listed.filter((one) => one.staleDocuments > 0),
        ({ score }) => score,
      );
    case 'failed':
      return listed.filter(({ outcome }) => outcome !== null && !isAnswered({ outcome }));
  }
}

function differenceOf({ score, before }: ListedQuery): number {
  return before === null ? 0 : score - before;
}

function inOrder(listed: readonly ListedQuery[], value: (query: ListedQuery) => number): ListedQuery[] {
  return listed.toSorted((a, b) => value(a) - value(b) || (a.query.id < b.query.id ? -1 : 1));
}

function withDocuments(side: ComparedSide | null, has: boolean): ReadonlySet<string> {
  const answers = side?.answers ?? [];
  return new Set(answers.flatMap(({ queryId, documents }) => (documents.length > 0 === has ? [queryId] : [])));
}

export type ChangedQuery = ReturnType<typeof changedQueries>[number];

/**
 * Returns the queries that both runs contain and whose score by `key` changed, or whose results became empty; largest
 * drop first, ties by id. Excludes the queries in `stale`.
 */
export function changedQueries(
  baseline: ComparedSide,
  candidate: ComparedSide,
  stale: ReadonlySet<string>,
  key: RunMetricKey,
) {
  const shared = sharedQueries(baseline.queries, candidate.queries).filter(({ id }) => !stale.has(id));
  const { relevanceLevel } = candidate.settings;
  const before = scoresBy(key, shared, baseline.answers, relevanceLevel);
  const after = scoresBy(key, shared, candidate.answers, relevanceLevel);
  const emptyBefore = withDocuments(baseline, false);
  const emptyAfter = withDocuments(candidate, false);
  return shared
    .map(({ id, text }, row) => {
      const [old, now] = [before[row] ?? 0, after[row] ?? 0];
      return {
        queryId: id,
        text,
        baseline: old,
        candidate: now,
        difference: now - old,
        /** True if the query returned documents in the baseline run but none in the candidate run. */
        isNewlyEmpty: emptyAfter.has(id) && !emptyBefore.has(id),
      };
    })
    .filter(({ difference, isNewlyEmpty }) => difference !== 0 || isNewlyEmpty)
    .toSorted((a, b) => a.difference - b.difference || (a.queryId < b.queryId ? -1 : 1));
}

/** What became of the answers of a golden run since a run before it, over the queries that both answered. */

import { type ComparedSide, sharedQueries, storedComparison } from '../../golden/rules/compare-golden-runs.ts';
import { compareMetric } from '../../golden/rules/compare-metric.ts';
import type { QueryAnswer } from '../../golden/rules/run.ts';
import { scoreQueries } from '../../golden/rules/score-run.ts';
import type { ComparisonVerdict } from '../../golden/rules/verdict.ts';
import { formatMetricKey } from '../../ir/metric-key.ts';
import type { GoldenQuery } from '../../model.ts';

export interface ChangedAnswers {
  /** Queries that both runs were asked and answered, with or without documents. */
  readonly answered: number;
  /** Of those whose labels are alive; null without any. */
  readonly score: ScoreChange | null;
  /** Mean share of the documents of a query that it still gets, over queries that had any; null without. */
  readonly kept: number | null;
  /** Different documents that the queries got before. */
  readonly documentsBefore: number;
  /** How many of them no query gets any more. */
  readonly vanished: number;
  /** Different documents that no query got before. */
  readonly appeared: number;
  /** Queries without documents, before and now. */
  readonly emptyBefore: number;
  readonly empty: number;
}

export interface ScoreChange {
  /** Metric key, such as `ndcg@10`. */
  readonly measure: string;
  readonly n: number;
  readonly difference: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  readonly verdict: ComparisonVerdict;
}

/**
 * Compares two runs of a golden set over what both answered: failures are looked at by themselves, and would hide
 * what else changed.
 *
 * @param stale ids of queries whose labels are not alive: their scores fall without any fault of the retriever
 */
export function changedAnswers(before: ComparedSide, after: ComparedSide, stale: ReadonlySet<string>): ChangedAnswers {
  const [old, now] = [answeredOf(before.answers), answeredOf(after.answers)];
  const both = sharedQueries(before.queries, after.queries).filter(({ id }) => old.has(id) && now.has(id));
  const k = Math.min(Math.max(...before.settings.cutoffs), Math.max(...after.settings.cutoffs));
  const idsOf = (answers: ReadonlyMap<string, QueryAnswer>, { id }: GoldenQuery): string[] =>
    (answers.get(id)?.documents ?? []).slice(0, k).map((document) => document.id);
  const lists = both.map((query) => ({ old: idsOf(old, query), now: idsOf(now, query) }));
  const poolBefore = new Set(lists.flatMap((list) => list.old));
  const pool = new Set(lists.flatMap((list) => list.now));
  const kept = lists.flatMap((list) => {
    const found = new Set(list.now);
    return list.old.length === 0 ? [] : [list.old.filter((id) => found.has(id)).length / list.old.length];
  });
  const alive = both.filter(({ id }) => !stale.has(id));
  return {
    answered: both.length,
    score: alive.length === 0 ? null : scoreChange(alive, before, after, k),
    kept: kept.length === 0 ? null : kept.reduce((sum, share) => sum + share, 0) / kept.length,
    documentsBefore: poolBefore.size,
    vanished: [...poolBefore].filter((id) => !pool.has(id)).length,
    appeared: [...pool].filter((id) => !poolBefore.has(id)).length,
    emptyBefore: lists.filter((list) => list.old.length === 0).length,
    empty: lists.filter((list) => list.now.length === 0).length,
  };
}

function answeredOf(answers: readonly QueryAnswer[]): ReadonlyMap<string, QueryAnswer> {
  return new Map(
    answers.filter(({ outcome }) => outcome === 'ok' || outcome === 'empty').map((answer) => [answer.queryId, answer]),
  );
}

function scoreChange(
  queries: readonly GoldenQuery[],
  before: ComparedSide,
  after: ComparedSide,
  k: number,
): ScoreChange {
  const key = { measure: 'ndcg', k } as const;
  const measure = formatMetricKey(key);
  const { relevanceLevel } = after.settings;
  const columnOf = ({ answers }: ComparedSide): Float64Array => {
    const { keys, columns } = scoreQueries(queries, answers, { cutoffs: [k], relevanceLevel });
    return columns[keys.findIndex((one) => formatMetricKey(one) === measure)] ?? new Float64Array();
  };
  const { n, difference, ciLow, ciHigh, verdict } = compareMetric(
    key,
    columnOf(before),
    columnOf(after),
    null,
    storedComparison,
  );
  return { measure, n, difference, ciLow, ciHigh, verdict };
}

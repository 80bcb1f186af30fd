/** What became of the answers of a golden run since a run before it, over the queries that both answered. */

import { type ComparedSide, sharedQueries, storedComparison } from '../../golden/rules/compare-golden-runs.ts';
import { compareMetric } from '../../golden/rules/compare-metric.ts';
import type { QueryAnswer } from '../../golden/rules/run.ts';
import { type RunMetricKey, scoresBy } from '../../golden/rules/score-run.ts';
import type { ComparisonVerdict } from '../../golden/rules/verdict.ts';
import { formatMetricKey } from '../../ir/metric-key.ts';
import type { GoldenQuery } from '../../model.ts';
import { mean } from '../../stats/descriptive.ts';

export interface ChangedAnswers {
  /** Queries that both runs were asked and answered, with or without documents. */
  readonly answered: number;
  /** Of those whose labels are alive; null without any. */
  readonly score: ScoreChange | null;
  /** Mean share of the documents of a query that it still gets, over queries that had any; null without. */
  readonly kept: number | null;
  /** Mean share of the pairs of documents of a query that stand the other way round, of those it got before and now; null without. */
  readonly disorder: number | null;
  /** Mean number of documents in the answers that had some in both runs; null without. */
  readonly length: { readonly before: number; readonly now: number } | null;
  /** Mean share of the documents of a query that it still gets, of those that any query still gets; null without. */
  readonly keptOfThere: number | null;
  /** Of the answers that have fewer documents than before, the share that has the first ones of before; null without. */
  readonly cut: number | null;
  /** Of places where another document stands, the share in which one new document stands for one old one; null for few. */
  readonly renamed: number | null;
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

/** The documents of one query in two runs, as far as both were asked for. */
interface Lists {
  readonly old: readonly string[];
  readonly now: readonly string[];
}

/**
 * Compares two runs of a golden set over what both answered: failures are looked at by themselves, and would hide
 * what else changed.
 *
 * @param stale ids of queries whose labels are not alive: their scores fall without any fault of the retriever
 * @param key the measure that the score is told by
 */
export function changedAnswers(
  before: ComparedSide,
  after: ComparedSide,
  stale: ReadonlySet<string>,
  key: RunMetricKey = widestNdcg(before, after),
): ChangedAnswers {
  const [old, now] = [answeredOf(before.answers), answeredOf(after.answers)];
  const both = sharedQueries(before.queries, after.queries).filter(({ id }) => old.has(id) && now.has(id));
  const { k } = widestNdcg(before, after);
  const idsOf = (answers: ReadonlyMap<string, QueryAnswer>, { id }: GoldenQuery): string[] =>
    (answers.get(id)?.documents ?? []).slice(0, k).map((document) => document.id);
  const lists = both.map((query) => ({ old: idsOf(old, query), now: idsOf(now, query) }));
  const poolBefore = new Set(lists.flatMap((list) => list.old));
  const pool = new Set(lists.flatMap((list) => list.now));
  const full = lists.filter((list) => list.old.length > 0 && list.now.length > 0);
  const alive = both.filter(({ id }) => !stale.has(id));
  return {
    answered: both.length,
    score: alive.length === 0 ? null : scoreChange(alive, before, after, key),
    kept: meanOf(lists.filter((list) => list.old.length > 0).map(keptOf)),
    disorder: meanOf(full.flatMap((list) => disorderOf(list) ?? [])),
    length:
      full.length === 0
        ? null
        : { before: mean(full.map((list) => list.old.length)), now: mean(full.map((list) => list.now.length)) },
    keptOfThere: meanOf(
      full
        .map(({ old: was, now: is }) => ({ old: was.filter((id) => pool.has(id)), now: is }))
        .filter((list) => list.old.length > 0)
        .map(keptOf),
    ),
    cut: meanOf(full.filter(({ old, now: left }) => left.length < old.length).map((list) => (isCut(list) ? 1 : 0))),
    renamed: renamedShare(full),
    documentsBefore: poolBefore.size,
    vanished: [...poolBefore].filter((id) => !pool.has(id)).length,
    appeared: [...pool].filter((id) => !poolBefore.has(id)).length,
    emptyBefore: lists.filter((list) => list.old.length === 0).length,
    empty: lists.filter((list) => list.now.length === 0).length,
  };
}

/** The measure that runs are told by unless a check in alarm has another. */
export function widestNdcg(before: ComparedSide, after: ComparedSide): RunMetricKey {
  const k = Math.min(Math.max(...before.settings.cutoffs), Math.max(...after.settings.cutoffs));
  return { measure: 'ndcg', k };
}

/** The queries of a side that came to an answer, with or without documents, by id. */
export function answeredOf(answers: readonly QueryAnswer[]): ReadonlyMap<string, QueryAnswer> {
  return new Map(
    answers.filter(({ outcome }) => outcome === 'ok' || outcome === 'empty').map((answer) => [answer.queryId, answer]),
  );
}

function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : mean(values);
}

function keptOf({ old, now }: Lists): number {
  const found = new Set(now);
  return old.filter((id) => found.has(id)).length / old.length;
}

function isCut({ old, now }: Lists): boolean {
  const first = new Set(old.slice(0, now.length));
  return now.every((id) => first.has(id));
}

/** Fewer common documents have no order to speak of. */
const MIN_COMMON = 3;

function disorderOf({ old, now }: Lists): number | null {
  const placeOf = new Map(now.map((id, place) => [id, place]));
  const places = old.flatMap((id) => placeOf.get(id) ?? []);
  if (places.length < MIN_COMMON) return null;
  const pairs = places.flatMap((place, index) => places.slice(index + 1).map((later) => place > later));
  return pairs.filter(Boolean).length / pairs.length;
}

/** Fewer places than these do not tell a new name from another document. */
const MIN_PLACES = 20;

/**
 * Of places at which another document stands than before, the share in which it is the commonest successor of the old
 * one, and the old one is its commonest predecessor. Documents that stood at one such place alone say nothing.
 */
function renamedShare(lists: readonly Lists[]): number | null {
  const pairs = lists
    .filter(({ old, now }) => old.length === now.length)
    .flatMap(({ old, now }) =>
      old.flatMap((id, place) => (id === now[place] ? [] : [[id, now[place] ?? ''] as const])),
    );
  const successors = countPartners(pairs);
  const predecessors = countPartners(pairs.map(([old, now]) => [now, old] as const));
  const telling = pairs.filter(([old]) => (successors.get(old)?.total ?? 0) > 1);
  if (telling.length < MIN_PLACES) return null;
  const alike = telling.filter(
    ([old, now]) => successors.get(old)?.commonest === now && predecessors.get(now)?.commonest === old,
  );
  return alike.length / telling.length;
}

interface Partners {
  readonly commonest: string;
  readonly total: number;
}

function countPartners(pairs: readonly (readonly [string, string])[]): ReadonlyMap<string, Partners> {
  const counts = new Map<string, Map<string, number>>();
  for (const [one, other] of pairs) {
    const partners = counts.get(one) ?? new Map<string, number>();
    counts.set(one, partners.set(other, (partners.get(other) ?? 0) + 1));
  }
  return new Map(
    [...counts].map(([one, partners]) => {
      const [first] = [...partners].toSorted(([, a], [, b]) => b - a);
      const total = [...partners.values()].reduce((sum, count) => sum + count, 0);
      return [one, { commonest: first?.[0] ?? '', total }];
    }),
  );
}

function scoreChange(
  queries: readonly GoldenQuery[],
  before: ComparedSide,
  after: ComparedSide,
  key: RunMetricKey,
): ScoreChange {
  const { relevanceLevel } = after.settings;
  const columnOf = ({ answers }: ComparedSide): Float64Array => scoresBy(key, queries, answers, relevanceLevel);
  const { n, difference, ciLow, ciHigh, verdict } = compareMetric(
    key,
    columnOf(before),
    columnOf(after),
    null,
    storedComparison,
  );
  return { measure: formatMetricKey(key), n, difference, ciLow, ciHigh, verdict };
}

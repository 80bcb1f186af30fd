/**
 * Compares the results of a golden run with those of an earlier run: which results changed, what caused a drop in
 * score, and at which retriever stage documents were lost.
 */

import type { GoldenQuery } from '../../../core/model.ts';
import { type ComparedSide, sharedQueries } from '../../../golden/rules/compare-golden-runs.ts';
import { compareMetric } from '../../../golden/rules/compare-metric.ts';
import { ANSWER, type AnsweredStage, type QueryAnswer } from '../../../golden/rules/run.ts';
import { type RunMetricKey, scoresBy } from '../../../golden/rules/score-run.ts';
import { lossesByStep, stagedQueries } from '../../../golden/rules/stages.ts';
import { storedComparison } from '../../../golden/rules/verdict.ts';
import { formatMetricKey } from '../../../math/ir/metric-key.ts';
import { mean, moments } from '../../../math/stats/descriptive.ts';
import { studentTInterval } from '../../../math/stats/intervals.ts';
import { isAlike } from './alike-lists.ts';
import { changedCalls, type TimedCall } from './changed-calls.ts';
import type { LossPart } from './effects.ts';
import { commonNewcomer, foreignLists, type Lists, type LiveList } from './foreign-lists.ts';
import { hurtKind, hurtSegment, hurtSegments } from './hurt-groups.ts';
import { droppedDocuments, keptOf, rarerDocuments, replacedLists } from './lost-results.ts';
import { type KeptResult, scoreChanges } from './score-changes.ts';

export type ChangedAnswers = ReturnType<typeof changedAnswers>;

/**
 * Compares two golden runs, using only the queries that succeeded in both. Failures are examined separately, because
 * they would hide other changes.
 *
 * @param stale ids of queries with a stale label; the scores of these queries drop although the
 *   retriever works
 * @param key measure of the score
 * @param live results of live queries from before the fault
 */
export function changedAnswers(
  before: ComparedSide,
  after: ComparedSide,
  stale: ReadonlySet<string>,
  key: RunMetricKey = widestNdcg(before, after),
  live: readonly LiveList[] = [],
) {
  const [old, now] = [answeredOf(before.answers), answeredOf(after.answers)];
  const both = sharedQueries(before.queries, after.queries).filter(({ id }) => old.has(id) && now.has(id));
  const { k } = widestNdcg(before, after);
  const idsOf = (answers: ReadonlyMap<string, QueryAnswer>, { id }: GoldenQuery): string[] =>
    (answers.get(id)?.documents ?? []).slice(0, k).map((document) => document.id);
  const lists = both.map((query) => ({ text: query.text, old: idsOf(old, query), now: idsOf(now, query) }));
  // An empty list does not show which documents are missing.
  const full = lists.filter((list) => list.old.length > 0 && list.now.length > 0);
  const poolBefore = new Set(full.flatMap((list) => list.old));
  const pool = new Set(full.flatMap((list) => list.now));
  const surviving = full
    .map(({ old: was, now: is }) => ({ old: was.filter((id) => pool.has(id)), now: is }))
    .filter((list) => list.old.length > 0);
  const alive = both.filter(({ id }) => !stale.has(id));
  // A mean is null if there is nothing to average.
  return {
    /** Number of queries that succeeded in both runs, including those with empty results. */
    answered: both.length,
    /** Score change of queries without a stale label. */
    score: alive.length === 0 ? null : scoreChange(alive, before, after, key),
    /**
     * Mean share of a query's earlier documents that are still returned for the query, over queries with results in
     * both runs.
     */
    kept: meanOf(full.map(keptOf)),
    /** Retrieval scores of the documents that both runs returned for a query. */
    retrievalScores: scoreChanges(
      both.flatMap((query) => keptResults(query.id, old.get(query.id), now.get(query.id))),
      k,
    ),
    replaced: replacedLists(full),
    /** Latency growth of calls with changed results, compared with other calls; null if either kind has too few. */
    calls: changedCalls(both.flatMap(({ id }, row) => timedCall(lists[row], old.get(id), now.get(id)))),
    /** Mean share of document pairs in reversed order, among the documents that both runs returned for a query. */
    disorder: meanOf(full.flatMap((list) => disorderOf(list) ?? [])),
    /**
     * Share of result lists whose earlier top document moved down, among the lists that still contain it.
     */
    firstMoved: meanOf(
      full.flatMap(({ old: [first = ''], now: is }) => (is.includes(first) ? Math.sign(is.indexOf(first)) : [])),
    ),
    /**
     * Share of result lists that no longer contain their earlier top document. Counts only lists whose earlier top
     * document is still returned for some query.
     */
    firstGone: meanOf(
      full.flatMap(({ old: [first = ''], now: is }) => (pool.has(first) ? (is.includes(first) ? 0 : 1) : [])),
    ),
    /**
     * Documents that are returned for at most half as many queries as before: their number (`documents`), and how many
     * of them are no longer returned for any query (`gone`).
     */
    rarer: rarerDocuments(full),
    dropped: droppedDocuments(full),
    /** Mean number of documents per result list, over queries with results in both runs. */
    length:
      full.length === 0
        ? null
        : { before: mean(full.map((list) => list.old.length)), now: mean(full.map((list) => list.now.length)) },
    /** Like `kept`, but only among documents that are still returned for at least one query. */
    keptOfThere: meanOf(surviving.map(keptOf)),
    /** Share of the shortened result lists that kept their top documents. */
    cut: meanOf(full.filter(({ old, now: left }) => left.length < old.length).map((list) => (isCut(list) ? 1 : 0))),
    /**
     * Share of changed ranks at which one new document consistently replaces one old document; null if too few ranks
     * changed.
     */
    renamed: renamedShare(full),
    /** Number of distinct documents that the earlier run returned. */
    documentsBefore: poolBefore.size,
    /** Number of distinct documents that only the earlier run returned. */
    vanished: [...poolBefore].filter((id) => !pool.has(id)).length,
    /** Number of distinct documents that only the later run returned. */
    appeared: [...pool].filter((id) => !poolBefore.has(id)).length,
    /** Number of queries with empty results in the earlier run. */
    emptyBefore: lists.filter((list) => list.old.length === 0).length,
    /** Number of queries with empty results in the later run. */
    empty: lists.filter((list) => list.now.length === 0).length,
    foreign: foreignLists(lists, live),
    newcomer: commonNewcomer(full),
    /** Share of results that repeat an earlier result in the same list. */
    repeated: {
      before: repeatedShare(lists.map(({ old: was }) => was)),
      now: repeatedShare(lists.map((list) => list.now)),
    },
  };
}

/**
 * Returns the measure by which two runs are compared if no check fails: nDCG at the smaller of the two runs' largest
 * cutoffs.
 */
export function widestNdcg(before: ComparedSide, after: ComparedSide): RunMetricKey {
  const k = Math.min(Math.max(...before.settings.cutoffs), Math.max(...after.settings.cutoffs));
  return { measure: 'ndcg', k };
}

/** Returns the answers of successful queries, including queries with empty results, keyed by query id. */
export function answeredOf(answers: readonly QueryAnswer[]): ReadonlyMap<string, QueryAnswer> {
  return new Map(
    answers.filter(({ outcome }) => outcome === 'ok' || outcome === 'empty').map((answer) => [answer.queryId, answer]),
  );
}

function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : mean(values);
}

function repeatedShare(lists: readonly (readonly string[])[]): number {
  const results = lists.reduce((sum, ids) => sum + ids.length, 0);
  const different = lists.reduce((sum, ids) => sum + new Set(ids).size, 0);
  return results === 0 ? 0 : 1 - different / results;
}

/** Returns the documents that have a score in both answers. */
function keptResults(query: string, before: QueryAnswer | undefined, after: QueryAnswer | undefined): KeptResult[] {
  const scores = new Map(before?.documents.map(({ id, score }) => [id, score]));
  return (after?.documents ?? []).flatMap(({ id, score }) => {
    const earlier = scores.get(id) ?? null;
    return earlier === null || score === null ? [] : [{ query, document: id, before: earlier, now: score }];
  });
}

/** Returns nothing if one of the two latencies is unknown. */
function timedCall(
  lists: Lists | undefined,
  before: QueryAnswer | undefined,
  after: QueryAnswer | undefined,
): TimedCall[] {
  const [earlier, later] = [before?.latencyMs ?? null, after?.latencyMs ?? null];
  if (lists === undefined || earlier === null || later === null) return [];
  return [{ isChanged: !isAlike(lists.old, lists.now), before: earlier, now: later }];
}

function isCut({ old, now }: Lists): boolean {
  const first = new Set(old.slice(0, now.length));
  return now.every((id) => first.has(id));
}

/** Minimum number of documents that both lists contain. With fewer documents, their order is not meaningful. */
const MIN_COMMON = 3;

function disorderOf({ old, now }: Lists): number | null {
  const placeOf = new Map(now.map((id, place) => [id, place]));
  const places = old.flatMap((id) => placeOf.get(id) ?? []);
  if (places.length < MIN_COMMON) return null;
  const pairs = places.flatMap((place, index) => places.slice(index + 1).map((later) => place > later));
  return pairs.filter(Boolean).length / pairs.length;
}

/**
 * Minimum number of changed ranks. With fewer ranks, a renamed document cannot be distinguished from a different
 * document.
 */
const MIN_PLACES = 20;

/**
 * Returns the share of changed ranks at which the new document is the most common successor of the old one, and the old
 * document the most common predecessor of the new one. Documents with only one changed rank are ignored.
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

function countPartners(pairs: readonly (readonly [string, string])[]) {
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

function scoreChange(queries: readonly GoldenQuery[], before: ComparedSide, after: ComparedSide, key: RunMetricKey) {
  const { relevanceLevel } = after.settings;
  const columnOf = ({ answers }: ComparedSide): Float64Array => scoresBy(key, queries, answers, relevanceLevel);
  const compared = compareMetric(key, columnOf(before), columnOf(after), null, storedComparison);
  const { n, difference, ciLow, ciHigh, verdict } = compared;
  return { measure: formatMetricKey(key), n, difference, ciLow, ciHigh, verdict };
}

export type ScoreLoss = NonNullable<ReturnType<typeof scoreLoss>>;

/** Ids of queries with a stale label (`stale`), and ids of queries with a lost document (`lost`). */
type QueriesWithout = Readonly<Record<'stale' | 'lost', ReadonlySet<string>>>;

export function scoreLoss(before: ComparedSide, after: ComparedSide, without: QueriesWithout, key: RunMetricKey) {
  if (before.queries.length === 0 || after.queries.length === 0) return null;
  const level = after.settings.relevanceLevel;
  const old = mean(scoresBy(key, before.queries, before.answers, level));
  const now = mean(scoresBy(key, after.queries, after.answers, level));
  const shared = sharedQueries(before.queries, after.queries);
  const [from, to] = [before, after].map(({ answers }) => scoresBy(key, shared, answers, level));
  const losses = shared.map((query, row) => ({ query, loss: (from?.[row] ?? 0) - (to?.[row] ?? 0) }));
  const partOf = partsBy(after, without);
  const none = { failed: 0, timed_out: 0, empty: 0, stale: 0, unshared: 0 };
  const parts: Record<LossPart, number> = { ...none, answers: 0, present: 0 };
  for (const { query, loss } of losses) parts[partOf(query)] += loss / after.queries.length;
  const isAllShared = shared.length === before.queries.length && shared.length === after.queries.length;
  if (!isAllShared) parts.unshared = old - now - losses.reduce((sum, { loss }) => sum + loss / after.queries.length, 0);
  return {
    measure: formatMetricKey(key),
    /** Mean score over the queries of the earlier run. Failed queries count as 0. */
    before: old,
    /** Mean score over the queries of the later run. Failed queries count as 0. */
    now,
    /**
     * Parts of the drop `before - now`, by the reason why the score of a query dropped: the query failed, returned
     * nothing, has stale judgments, is not in both runs, or has different results (with or without a lost document).
     */
    parts,
    segment: hurtSegment(losses, after.settings),
    segments: hurtSegments(losses, after.settings.segmentKeys),
    /** Kind of query, derived from the query text: script, language, length and traits. */
    kind: hurtKind(losses),
  };
}

function partsBy({ answers }: ComparedSide, { stale, lost }: QueriesWithout): (query: GoldenQuery) => LossPart {
  const answered = answeredOf(answers);
  const timedOut = new Set(answers.filter(({ outcome }) => outcome === 'timeout').map(({ queryId }) => queryId));
  return ({ id }) => {
    const answer = answered.get(id);
    if (answer === undefined) return timedOut.has(id) ? 'timed_out' : 'failed';
    if (answer.documents.length === 0) return 'empty';
    if (stale.has(id)) return 'stale';
    return lost.size === 0 || lost.has(id) ? 'answers' : 'present';
  };
}

export interface StagedSide extends ComparedSide {
  /** Stages, keyed by query id. */
  readonly stages: ReadonlyMap<string, readonly AnsweredStage[]>;
}

export type StageLoss = NonNullable<ReturnType<typeof stageLoss>>;

/** Minimum number of queries. With fewer queries, the comparison is not meaningful. */
const MIN_QUESTIONS = 20;

const foundIn = (lost: readonly (readonly number[])[]) =>
  lost.map((steps) => 1 - steps.reduce((sum, one) => sum + one, 0));

/**
 * Returns the mean share of relevant documents that are found, and the mean share that is lost at each stage; null if
 * too few queries with stages succeeded in both runs.
 */
export function stageLoss(before: StagedSide, now: StagedSide, stale: ReadonlySet<string>) {
  const shared = sharedQueries(before.queries, now.queries).filter(({ id }) => !stale.has(id));
  const reporting = shared.filter(({ id }) => before.stages.has(id) && now.stages.has(id));
  const k = Math.min(...[before, now].map(({ settings }) => Math.max(...settings.cutoffs)));
  const level = now.settings.relevanceLevel;
  const [old, current] = [before, now].map((side) => stagedQueries(reporting, side.answers, side.stages, level));
  if (old === undefined || current === undefined || old.length < MIN_QUESTIONS) return null;
  const { names, losses } = lossesByStep([...old, ...current], k);
  const [lostBefore, lostNow] = [losses.slice(0, old.length), losses.slice(old.length)];
  return {
    n: old.length,
    k,
    /** Share of the relevant documents that are among the top k results. */
    found: changeOf(foundIn(lostBefore), foundIn(lostNow)),
    /**
     * Share of the relevant documents that is lost at each stage, in the order of the stages; the last entry is for the
     * final results.
     */
    steps: names.map((name, step) => ({
      name,
      ...changeOf(
        lostBefore.map((steps) => steps[step] ?? 0),
        lostNow.map((steps) => steps[step] ?? 0),
      ),
    })),
  };
}

function changeOf(before: readonly number[], now: readonly number[]) {
  const { mean: difference, standardDeviation } = moments(now.map((value, row) => value - (before[row] ?? 0)));
  const { low, high } = studentTInterval(difference, standardDeviation, before.length, 0.95);
  return {
    before: mean(before),
    now: mean(now),
    /** Bounds of the paired 95 % CI (Student's t) of the difference `now - before`. */
    ciLow: low,
    ciHigh: high,
  };
}

export type StageAtFault =
  /** `steady`: there is no significant loss in the final results. */
  | { readonly kind: 'steady' }
  | { readonly kind: 'candidates' | 'filter' | 'later'; readonly step: StageLoss['steps'][number] };

/**
 * Returns the stage that caused at least half of the loss in the results; null if no stage did, or if its loss is not
 * significant.
 */
export function stageAtFault({ found, steps }: StageLoss): StageAtFault | null {
  if (found.ciHigh >= 0) return { kind: 'steady' };
  const [step] = steps.toSorted((a, b) => b.now - b.before - (a.now - a.before));
  if (step === undefined || step.ciLow <= 0 || step.now - step.before < (found.before - found.now) / 2) return null;
  if (step === steps[0]) return { kind: 'candidates', step };
  return { kind: step.name !== ANSWER && step.name.includes('filter') ? 'filter' : 'later', step };
}

/** Finds forbidden documents in answers, confirmed by a second request, and answers to queries that have none. */

import type { GoldenQuery } from '../../core/model.ts';
import { wilsonInterval } from '../../math/stats/intervals.ts';
import type { FalseAnswer, ForbiddenCounts, NoAnswerLimits, NoAnswerResults, QueryAnswer } from './run.ts';

/** A forbidden document that the retriever returned for a query. */
export interface ForbiddenResult {
  readonly queryId: string;
  readonly documentId: string;
  /** From 1, in the order of the results. */
  readonly rank: number;
}

/** The forbidden documents that a run, full or sentinel, returned. */
export interface ForbiddenResults extends ForbiddenCounts {
  /** By query in the order of the set, then by rank; only those that a second request returned again. */
  readonly confirmed: readonly ForbiddenResult[];
}

/** Returns the first pattern that forbids the document, or null; a pattern is an id, or a prefix of ids with `*` at the end. */
export function forbids(forbidden: readonly string[], documentId: string): string | null {
  const matches = (pattern: string): boolean =>
    pattern.endsWith('*') ? documentId.startsWith(pattern.slice(0, -1)) : documentId === pattern;
  return forbidden.find(matches) ?? null;
}

/** Returns every forbidden document in the answers, each at its first rank. @param answers in any order */
export function forbiddenResults(
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
): readonly ForbiddenResult[] {
  const answerOf = new Map(answers.map((answer) => [answer.queryId, answer]));
  return queries.flatMap(({ id: queryId, forbidden = [] }) => {
    if (forbidden.length === 0) return [];
    const ids = answerOf.get(queryId)?.documents.map(({ id }) => id) ?? [];
    return ids.flatMap((documentId, index): ForbiddenResult[] =>
      ids.indexOf(documentId) === index && forbids(forbidden, documentId) !== null
        ? [{ queryId, documentId, rank: index + 1 }]
        : [],
    );
  });
}

/**
 * Drops forbidden documents that a second request of the same query does not return: the first answer may have come from
 * a transient state, such as an index swap.
 *
 * @param first answers of every query
 * @param again second answers, at least of the queries that returned a forbidden document
 */
export function confirmForbidden(
  queries: readonly GoldenQuery[],
  first: readonly QueryAnswer[],
  again: readonly QueryAnswer[],
): ForbiddenResults {
  const outcomeOf = new Map(first.map(({ queryId, outcome }) => [queryId, outcome]));
  const named = queries.filter(({ forbidden = [] }) => forbidden.length > 0);
  const failed = named.filter(({ id }) => !isAnswered(outcomeOf.get(id))).length;
  const second = new Map(again.map((answer) => [answer.queryId, answer]));
  const found = forbiddenResults(named, first).map((result) => ({ result, answer: second.get(result.queryId) }));
  return {
    asked: named.length - failed,
    failed,
    confirmed: found.flatMap(({ result, answer }) =>
      answer?.documents.some(({ id }) => id === result.documentId) === true ? [result] : [],
    ),
    unconfirmed: found.filter(({ answer }) => !isAnswered(answer?.outcome)).length,
  };
}

function isAnswered(outcome: QueryAnswer['outcome'] | undefined): boolean {
  return outcome === 'ok' || outcome === 'empty';
}

/** Allows no document at all, unless the config says otherwise. */
export const defaultNoAnswer: NoAnswerLimits = { maxScore: null, maxResults: 0 };

/** Maximum number of false answers stored with a run. */
export const MAX_NAMED = 50;

/**
 * Returns null when every query has an answer. A document without a score counts whatever `maxScore` is; a repeated one
 * counts once. A query without a stored answer counts as failed.
 *
 * @param answers in any order
 */
export function findFalseAnswers(
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
  limits: NoAnswerLimits,
): NoAnswerResults | null {
  const unanswerable = queries.filter(({ noAnswer }) => noAnswer === true);
  if (unanswerable.length === 0) return null;
  const answerOf = new Map(answers.map((answer) => [answer.queryId, answer]));
  const came = unanswerable.flatMap(({ id }) => answerOf.get(id) ?? []).filter(isAnswer);
  const wrong = came
    .map((answer) => falseAnswer(answer, limits))
    .filter(({ documents }) => documents > limits.maxResults)
    .toSorted((a, b) => b.documents - a.documents || (a.query < b.query ? -1 : 1));
  return {
    asked: unanswerable.length,
    failed: unanswerable.length - came.length,
    answered: wrong.length,
    worst: wrong.slice(0, MAX_NAMED),
  };
}

function isAnswer({ outcome }: QueryAnswer): boolean {
  return outcome === 'ok' || outcome === 'empty';
}

function falseAnswer({ queryId: query, documents }: QueryAnswer, { maxScore }: NoAnswerLimits): FalseAnswer {
  const above = documents.filter(({ score }) => maxScore === null || score === null || score > maxScore);
  const scores = above.flatMap(({ score }) => score ?? []);
  return {
    query,
    documents: new Set(above.map(({ id }) => id)).size,
    score: scores.length === 0 ? null : scores.reduce((highest, score) => Math.max(highest, score)),
  };
}

/** Returns the share of queries without an answer that were answered or failed, with its 95 % CI (Wilson). */
export function falseAnswerRatio({ asked: n, failed, answered }: NoAnswerResults): {
  readonly value: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  readonly n: number;
} {
  const value = (failed + answered) / n;
  const { low, high } = wilsonInterval(value, n, 0.95);
  return { value, ciLow: Math.min(low, value), ciHigh: Math.max(high, value), n };
}

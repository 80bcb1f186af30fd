/**
 * What must not come back: forbidden documents, called when a second asking brought them again, and anything for
 * questions that nothing in the store answers.
 */

import type { GoldenQuery } from '../../core/model.ts';
import { wilsonInterval } from '../../math/stats/intervals.ts';
import type { FalseAnswer, ForbiddenCounts, NoAnswerLimits, NoAnswerResults, QueryAnswer } from './run.ts';

/** A forbidden document that a query brought. */
export interface ForbiddenResult {
  readonly queryId: string;
  readonly documentId: string;
  /** From 1, in the order that the retriever returned. */
  readonly rank: number;
}

/** What a run, or a sentinel, found of the forbidden documents of its set. */
export interface ForbiddenResults extends ForbiddenCounts {
  /** By query in the order of the set, then by rank. Those alone that a second asking brought again. */
  readonly confirmed: readonly ForbiddenResult[];
}

/** The first of the ids, or beginnings of ids that end in `*`, by which a document is forbidden; null for none. */
export function forbids(forbidden: readonly string[], documentId: string): string | null {
  const isMeant = (pattern: string): boolean =>
    pattern.endsWith('*') ? documentId.startsWith(pattern.slice(0, -1)) : documentId === pattern;
  return forbidden.find(isMeant) ?? null;
}

/** Every forbidden document in the answers, each at its first rank. @param answers in any order */
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
 * One answer may be of a moment, such as of an index that is being swapped: what a second asking of the same query does
 * not bring again is no result.
 *
 * @param first of every query
 * @param again of those at least that brought a forbidden document at first
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

/** An empty answer is right, and so is one within these limits: no document at all, unless the config says otherwise. */
export const defaultNoAnswer: NoAnswerLimits = { maxScore: null, maxResults: 0 };

/** Stored with each run. */
export const MAX_NAMED = 50;

/**
 * Null when every question has an answer. A document without a score counts whatever `maxScore` is, and one that comes
 * twice counts once. A question without a stored answer counts as failed.
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
    score: scores.length === 0 ? null : scores.reduce((most, score) => Math.max(most, score)),
  };
}

/** Share of the questions without an answer that were answered or failed, with its 95 % bounds (Wilson). */
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

/** Questions that nothing in the store answers: which brought documents nevertheless, and how large their share is. */
import type { GoldenQuery } from '../../model.ts';
import { wilsonInterval } from '../../stats/intervals.ts';
import type { FalseAnswer, NoAnswerLimits, NoAnswerResults, QueryAnswer } from './run.ts';

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

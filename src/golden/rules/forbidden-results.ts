/** Finds forbidden documents in results, and documents that were returned for unanswerable queries. */

import type { GoldenQuery } from '../../core/model.ts';
import { fillPattern, matchesPattern, parsePattern, segmentValue } from '../../core/text/document-pattern.ts';
import { malformed, quoted, type SourcePlace } from '../../core/text/source-line.ts';
import { evaluateRule, type ParsedRule } from '../../live/rules/isolation.ts';
import {
  boundedShare,
  type FalseAnswer,
  type ForbiddenCounts,
  isAnswered,
  type NoAnswerLimits,
  type NoAnswerResults,
  type QueryAnswer,
} from './run.ts';
import { bestRank } from './steps.ts';

export interface ForbiddenResult {
  readonly queryId: string;
  readonly documentId: string;
  /** Rank from 1, in the order of the results; for a query with steps, the best rank over all steps. */
  readonly rank: number;
}

export interface ForbiddenResults extends ForbiddenCounts {
  /** Documents that a second request returned too, sorted by query in the order of the set, then by rank. */
  readonly confirmed: readonly ForbiddenResult[];
}

/** Returns the first pattern that forbids the document for a query with these tags, or null. */
export function forbids(
  forbidden: readonly string[],
  documentId: string,
  tags: GoldenQuery['tags'] = {},
): string | null {
  const matches = (pattern: string): boolean => {
    const filled = fillPattern(parsePattern(pattern), tags);
    return filled !== null && matchesPattern(filled, documentId);
  };
  return forbidden.find(matches) ?? null;
}

/** True if the query itself, or an isolation rule for one of its tags, forbids documents. */
export function isRestricted({ forbidden = [], tags }: GoldenQuery, isolation: readonly ParsedRule[]): boolean {
  return forbidden.length > 0 || isolation.some(({ segment }) => segmentValue(tags, segment) !== null);
}

/** Returns every forbidden document in the results, each at its first rank. */
export function forbiddenResults(
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
  isolation: readonly ParsedRule[] = [],
): readonly ForbiddenResult[] {
  const answerOf = new Map(answers.map((answer) => [answer.queryId, answer]));
  return queries.flatMap((query) => {
    if (!isRestricted(query, isolation)) return [];
    const { id: queryId, forbidden = [], tags } = query;
    const documents = answerOf.get(queryId)?.documents ?? [];
    return [...new Set(documents.map(({ id }) => id))].flatMap((documentId): ForbiddenResult[] =>
      forbids(forbidden, documentId, tags) !== null || isIsolatedFrom(isolation, documentId, tags)
        ? [{ queryId, documentId, rank: bestRank(documents, documentId) }]
        : [],
    );
  });
}

/** Evaluates only the isolation rules that use document ids, because golden runs store no fields of documents. */
function isIsolatedFrom(isolation: readonly ParsedRule[], id: string, segments: GoldenQuery['tags']): boolean {
  return isolation.some(
    (rule) => typeof (evaluateRule(rule, { segments, results: [{ id, score: null }] }) ?? '') === 'object',
  );
}

/**
 * Rejects forbidden documents that contradict the judgments or tags of their query.
 *
 * @param forbidden patterns, each with the place in the source file where it first occurs
 * @throws RecalldError file_malformed if a forbidden document is judged relevant to the query, or if the query lacks
 *   the tag of a pattern
 */
export function refuseContradictions(
  { judgments, tags }: GoldenQuery,
  forbidden: ReadonlyMap<string, SourcePlace>,
): void {
  const patterns = [...forbidden.keys()];
  for (const { documentId, grade } of judgments) {
    const pattern = grade > 0 ? forbids(patterns, documentId, tags) : null;
    const place = pattern === null ? undefined : forbidden.get(pattern);
    if (place !== undefined)
      throw malformed(
        place,
        `forbids the document ${quoted(documentId)}, but the same query judges it relevant; keep only one`,
      );
  }
  for (const [pattern, place] of forbidden) {
    const missing = parsePattern(pattern).segments.find((key) => segmentValue(tags, key) === null);
    if (missing !== undefined)
      throw malformed(
        place,
        `forbids ${quoted(pattern)}, but the query has no tag ${quoted(missing)}; add the tag, or write the value into the id`,
      );
  }
}

/**
 * Drops forbidden documents that a second request for the same query does not return, because the retriever may have
 * been in a transient state, such as an index swap, during the first request.
 *
 * @param again results of the second request, at least for the queries that returned a forbidden document
 */
export function confirmForbidden(
  queries: readonly GoldenQuery[],
  first: readonly QueryAnswer[],
  again: readonly QueryAnswer[],
  isolation: readonly ParsedRule[] = [],
): ForbiddenResults {
  const answerOf = new Map(first.map((answer) => [answer.queryId, answer]));
  const named = queries.filter((query) => isRestricted(query, isolation));
  const failed = named.filter(({ id }) => !isAnswered(answerOf.get(id))).length;
  const second = new Map(again.map((answer) => [answer.queryId, answer]));
  const found = forbiddenResults(named, first, isolation).map((result) => ({
    result,
    answer: second.get(result.queryId),
  }));
  return {
    asked: named.length - failed,
    failed,
    confirmed: found.flatMap(({ result, answer }) =>
      answer?.documents.some(({ id }) => id === result.documentId) === true ? [result] : [],
    ),
    unconfirmed: found.filter(({ answer }) => !isAnswered(answer)).length,
  };
}

/** Default limits, which allow no document. */
export const defaultNoAnswer: NoAnswerLimits = { maxScore: null, maxResults: 0 };

/** Maximum number of unanswerable queries with returned documents that a run stores. */
export const MAX_NAMED = 50;

/**
 * Finds the unanswerable queries for which the retriever returned documents; null if the set has no unanswerable
 * queries. A document without a score always counts, regardless of `maxScore`; a repeated document counts once. A query
 * without stored results counts as failed.
 */
export function findFalseAnswers(
  queries: readonly GoldenQuery[],
  answers: readonly QueryAnswer[],
  limits: NoAnswerLimits,
): NoAnswerResults | null {
  const unanswerable = queries.filter(({ noAnswer }) => noAnswer === true);
  if (unanswerable.length === 0) return null;
  const answerOf = new Map(answers.map((answer) => [answer.queryId, answer]));
  const came = unanswerable.flatMap(({ id }) => answerOf.get(id) ?? []).filter(isAnswered);
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

function falseAnswer({ queryId: query, documents }: QueryAnswer, { maxScore }: NoAnswerLimits): FalseAnswer {
  const above = documents.filter(({ score }) => maxScore === null || score === null || score > maxScore);
  const scores = above.flatMap(({ score }) => score ?? []);
  return {
    query,
    documents: new Set(above.map(({ id }) => id)).size,
    score: scores.length === 0 ? null : scores.reduce((highest, score) => Math.max(highest, score)),
  };
}

/** Returns the share of unanswerable queries that failed or returned documents, with its 95 % CI (Wilson). */
export function falseAnswerRatio({ asked: n, failed, answered }: NoAnswerResults) {
  return boundedShare((failed + answered) / n, n);
}

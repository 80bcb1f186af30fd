/**
 * Why queries of a golden run failed, the first real error and how often, and what answers show to be a mistake of the
 * config or of the set: one sentence each.
 */

import type { GoldenQuery } from '../../model.ts';
import type { QueryAnswer } from './run.ts';

export interface RunFailure {
  /** What the retriever first failed with: a sentence without a secret or the text of a query. */
  readonly message: string;
  /** Short and stable; `timeout` for an answer that did not come in time. */
  readonly code: string;
  /** Queries that failed in this way. */
  readonly queries: number;
  /** Those that failed in another. */
  readonly others: number;
  /** Those that were spared a retriever which is gone: what follows from an outage, and never its cause. */
  readonly notAsked: number;
  /** All that were answered or failed. */
  readonly total: number;
}

/** The code of a query that a retriever which is gone was spared. */
export const NOT_ASKED = 'not_asked';

type Ended = Pick<QueryAnswer, 'outcome' | 'errorCode' | 'errorMessage'>;

/** @param answers in the order in which they came; null when none of them failed */
export function runFailure(answers: readonly Ended[]): RunFailure | null {
  const failed = answers.filter(({ outcome }) => outcome === 'error' || outcome === 'timeout');
  const asked = failed.filter(({ errorCode }) => errorCode !== NOT_ASKED);
  // None was asked when the retriever had failed the queries of another run.
  const first = asked[0] ?? failed[0];
  if (first === undefined) return null;
  const code = codeOf(first);
  const queries = failed.filter((answer) => codeOf(answer) === code).length;
  const notAsked = asked.length === 0 ? 0 : failed.length - asked.length;
  return {
    message: first.errorMessage ?? `The retriever failed with ${code}.`,
    code,
    queries,
    others: failed.length - queries - notAsked,
    notAsked,
    total: answers.length,
  };
}

/** Messages of one way to fail may differ in their numbers. */
function codeOf({ outcome, errorCode }: Ended): string {
  return errorCode ?? outcome;
}

/** As a sentence: `http://rag/search refuses connections (28 of 200 queries, 172 more were not asked after that).` */
export function describeFailure({ message, queries, others, notAsked, total }: RunFailure): string {
  const how = [
    `${queries} of ${total} queries`,
    ...(others === 0 ? [] : [`${others} failed in other ways`]),
    ...(notAsked === 0 ? [] : [`${notAsked} more were not asked after that`]),
  ];
  return `${message.replace(/\.$/, '')} (${how.join(', ')}).`;
}

/** The option by which the config misreads an answer that did come; null for every other failure. */
export function misreadingOption(code: string): string | null {
  if (code === 'no_result_list') return 'retriever.results.list';
  return code === 'missing_id' ? 'retriever.results.id' : null;
}

/** Fewer answers do not tell that more documents never come. */
const MIN_ANSWERS = 5;

export interface AnswerDoubts {
  /** The set and the retriever call documents by different ids: nothing that is scored means anything. */
  readonly ids: string | null;
  /** Fewer documents come than are asked for, which a small store may have reason to. */
  readonly depth: string | null;
}

/** Those that there are, the gravest first. */
export function doubtSentences({ ids, depth }: AnswerDoubts): string[] {
  return [ids, depth].filter((doubt) => doubt !== null);
}

/**
 * @param answers to these queries
 * @param k how many documents the retriever was asked for
 */
export function doubtsOfAnswers(
  queries: readonly GoldenQuery[],
  answers: readonly Pick<QueryAnswer, 'queryId' | 'documents'>[],
  k: number,
): AnswerDoubts {
  return { ids: doubtOfIds(queries, answers), depth: doubtOfDepth(answers, k) };
}

/** Ids that the retriever never returns: then every score is 0, and none of them says why. */
function doubtOfIds(
  queries: readonly GoldenQuery[],
  answers: readonly Pick<QueryAnswer, 'queryId' | 'documents'>[],
): string | null {
  const judged = new Set(queries.flatMap(({ judgments }) => judgments.map(({ documentId }) => documentId)));
  const returned = answers.flatMap(({ documents }) => documents);
  if (judged.size === 0 || returned.length === 0 || returned.some(({ id }) => judged.has(id))) return null;
  const first = answers.find(({ documents }) => documents.length > 0);
  const asked = queries.find(({ id }) => id === first?.queryId)?.judgments ?? [];
  const expected = asked.toSorted((a, b) => b.grade - a.grade)[0]?.documentId ?? [...judged][0];
  const came = first?.documents[0]?.id;
  return `None of the ${returned.length} returned documents is judged: the set has ${expected}, the retriever returned ${came}. If both name the same document, mend the ids of the set or retriever.results.id.`;
}

function doubtOfDepth(answers: readonly Pick<QueryAnswer, 'documents'>[], k: number): string | null {
  const answered = answers.filter(({ documents }) => documents.length > 0);
  const most = Math.max(0, ...answered.map(({ documents }) => documents.length));
  if (answered.length < MIN_ANSWERS || most >= k) return null;
  return `Asked for ${k} documents, the retriever never returned more than ${most}: see that {{k}} is in its request and that it has no limit of its own, or lower golden[].cutoffs.`;
}

/**
 * Why queries of a golden run failed, the first real error and how often, and what answers show to be a mistake of the
 * config or of the set: one sentence each.
 */

import type { GoldenQuery } from '../../core/model.ts';
import { describeIdDifference, differenceInWords, idsAlike, shownIds } from './id-mismatch.ts';
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

export type AnswerDoubts = ReturnType<typeof doubtsOfAnswers>;

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
) {
  return {
    /** The set and the retriever call documents, or some of them, by different ids: scores are too low. */
    ids: doubtOfIds(queries, answers),
    /** Fewer documents come than are asked for, which a small store may have reason to. */
    depth: doubtOfDepth(answers, k),
  };
}

/** So many ids of either side are compared; more would show the same. */
const COMPARED_IDS = 5000;
/** Ids that only look alike by chance are fewer than these, of the judged documents that were compared. */
const [MIN_ALIKE, MIN_ALIKE_SHARE] = [3, 0.05] as const;

/** Ids that the retriever never returns, or returns in another form: then scores are low, and none of them says why. */
function doubtOfIds(
  queries: readonly GoldenQuery[],
  answers: readonly Pick<QueryAnswer, 'queryId' | 'documents'>[],
): string | null {
  const judged = new Set(queries.flatMap(({ judgments }) => judgments.map(({ documentId }) => documentId)));
  const returned = new Set(answers.flatMap(({ documents }) => documents.map(({ id }) => id)));
  if (judged.size === 0 || returned.size === 0) return null;
  const never = [...relevantFirst(queries, answers)].filter((id) => !returned.has(id)).slice(0, COMPARED_IDS);
  const unknown = [...returned].filter((id) => !judged.has(id)).slice(0, COMPARED_IDS);
  const fix = 'If both name the same document, fix the ids of the set or retriever.results.id.';
  if (unknown.length === returned.size) {
    const pair = describeIdDifference(never, unknown);
    const [ofSet, ofRetriever] = shownIds(pair);
    const count = answers.reduce((sum, { documents }) => sum + documents.length, 0);
    return (
      `None of the ${count} returned documents is judged: the set has ${ofSet}, the retriever returned ${ofRetriever}, ` +
      `which ${differenceInWords(pair)}. ${fix}`
    );
  }
  const { count, pair } = idsAlike(never, unknown);
  if (pair === null || count < Math.max(MIN_ALIKE, MIN_ALIKE_SHARE * Math.min(judged.size, COMPARED_IDS))) return null;
  const [ofSet, ofRetriever] = shownIds(pair);
  return (
    `${count} judged documents were never returned, but ids like theirs were: the set has ${ofSet}, the retriever ` +
    `returned ${ofRetriever}, which ${differenceInWords(pair)}. ${fix}`
  );
}

/** Ids of the judged documents, with the relevant ones of the first query that was answered in front. */
function relevantFirst(
  queries: readonly GoldenQuery[],
  answers: readonly Pick<QueryAnswer, 'queryId' | 'documents'>[],
): Set<string> {
  const first = answers.find(({ documents }) => documents.length > 0)?.queryId;
  const asked = queries.filter(({ id }) => id === first);
  const judgments = [...asked, ...queries].flatMap(({ judgments: own }) => own.toSorted((a, b) => b.grade - a.grade));
  return new Set(judgments.map(({ documentId }) => documentId));
}

function doubtOfDepth(answers: readonly Pick<QueryAnswer, 'documents'>[], k: number): string | null {
  const answered = answers.filter(({ documents }) => documents.length > 0);
  const most = Math.max(0, ...answered.map(({ documents }) => documents.length));
  if (answered.length < MIN_ANSWERS || most >= k) return null;
  return `Asked for ${k} documents, the retriever never returned more than ${most}: see that {{k}} is in its request and that it has no limit of its own, or lower golden[].cutoffs.`;
}

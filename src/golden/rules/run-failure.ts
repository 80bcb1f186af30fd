import type { GoldenQuery } from '../../core/model.ts';
import { describeIdDifference, differenceInWords, type IdDifference, idsAlike, shownIds } from './id-mismatch.ts';
import { isAnswered, type QueryAnswer } from './run.ts';
import { rankingsOf } from './steps.ts';

export type RunFailure = NonNullable<ReturnType<typeof runFailure>>;

/** Code of a query that was not sent because the retriever was down. */
export const NOT_ASKED = 'not_asked';

export type AnswerEnd = Pick<QueryAnswer, 'outcome' | 'errorCode' | 'errorMessage'>;

/**
 * Returns the first failure and how many queries share its code; null if no query failed.
 *
 * @param answers in order of arrival
 */
export function runFailure(answers: readonly AnswerEnd[]) {
  const failed = answers.filter((answer) => !isAnswered(answer));
  const asked = failed.filter(({ errorCode }) => errorCode !== NOT_ASKED);
  // If another run has already found that the retriever is down, this run sends no queries, and all of its queries fail
  // with the code `not_asked`.
  const first = asked[0] ?? failed[0];
  if (first === undefined) return null;
  // Groups failures by code, because messages with the same code may contain different numbers.
  const codes = failed.map(({ outcome, errorCode }) => errorCode ?? outcome);
  const code = first.errorCode ?? first.outcome;
  const queries = codes.filter((one) => one === code).length;
  const notAsked = asked.length === 0 ? 0 : failed.length - asked.length;
  return {
    /** The first error from the retriever: a sentence without secrets or query texts. */
    message: first.errorMessage ?? `The retriever failed with ${code}.`,
    /** Stable error code; `timeout` if the response did not arrive in time. */
    code,
    /** Number of queries that failed with this code. */
    queries,
    /** Number of queries that failed with a different code. */
    others: failed.length - queries - notAsked,
    /**
     * Number of queries that were not sent because the retriever was down; a consequence of an outage, never its cause.
     */
    notAsked,
    /** Total number of queries that have been run, including failed queries. */
    total: answers.length,
  };
}

/** Returns text such as `http://rag/search refused the connection (28 of 200 queries; 172 more were not sent).` */
export function describeFailure({ message, queries, others, notAsked, total }: RunFailure): string {
  const how = [
    `${queries} of ${total} queries`,
    ...(others === 0 ? [] : [`${others} failed with other errors`]),
    ...(notAsked === 0 ? [] : [`${notAsked} more were not sent`]),
  ];
  return `${message.replace(/\.$/, '')} (${how.join('; ')}).`;
}

/** Returns the config option that makes the response unreadable; null for every other failure. */
export function misreadingOption(code: string): string | null {
  if (code === 'no_result_list') return 'retriever.results.list';
  return code === 'missing_id' ? 'retriever.results.id' : null;
}

/** Minimum number of non-empty results before recalld concludes that the retriever limits the number of documents. */
const MIN_ANSWERS = 5;

export type AnswerWarnings = ReturnType<typeof checkAnswers>;

/** Returns the warnings that apply, most severe first. */
export function warningSentences({ ids, depth }: AnswerWarnings): string[] {
  return [ids, depth].filter((warning) => warning !== null);
}

/**
 * Detects mistakes in the config or the set that change scores without an error.
 *
 * @param k number of documents requested from the retriever
 */
export function checkAnswers(queries: readonly GoldenQuery[], answers: readonly QueryAnswer[], k: number) {
  return {
    /** Warning if the set and the retriever use different ids for some documents, so that scores are too low. */
    ids: idWarning(queries, answers),
    /** Warning if the retriever returns fewer documents than requested; this is normal for a small store. */
    depth: depthWarning(answers, k),
  };
}

/** Maximum number of judged ids, and of returned ids, that are compared; more ids would not change the result. */
const COMPARED_IDS = 5000;
/**
 * Minimum number of similar ids for a warning, and their minimum share of the compared judged ids. Fewer similar ids
 * may be due to chance.
 */
const [MIN_ALIKE, MIN_ALIKE_SHARE] = [3, 0.05] as const;

/**
 * Detects judged ids that the retriever returns only in another form, or not at all. Such ids lower scores without an
 * error.
 */
function idWarning(queries: readonly GoldenQuery[], answers: readonly QueryAnswer[]): string | null {
  const judged = new Set(queries.flatMap(({ judgments }) => judgments.map(({ documentId }) => documentId)));
  const returned = new Set(answers.flatMap(({ documents }) => documents.map(({ id }) => id)));
  if (judged.size === 0 || returned.size === 0) return null;
  const never = [...relevantFirst(queries, answers)].filter((id) => !returned.has(id)).slice(0, COMPARED_IDS);
  const unknown = [...returned].filter((id) => !judged.has(id)).slice(0, COMPARED_IDS);
  const fix =
    'If both ids name the same document, fix either the ids in the set or the config option retriever.results.id.';
  const warning = (problem: string, { judged: ofSet, returned: ofRetriever, differences }: IdDifference): string => {
    const [set, retriever] = shownIds(ofSet, ofRetriever);
    return `${problem}: the set has ${set}, and the retriever returned ${retriever}; they ${differenceInWords(differences)}. ${fix}`;
  };
  if (unknown.length === returned.size) {
    const count = answers.reduce((sum, { documents }) => sum + documents.length, 0);
    return warning(`None of the ${count} returned documents is judged`, describeIdDifference(never, unknown));
  }
  const { count, pair } = idsAlike(never, unknown);
  if (pair === null || count < Math.max(MIN_ALIKE, MIN_ALIKE_SHARE * Math.min(judged.size, COMPARED_IDS))) return null;
  return warning(`${count} judged documents were never returned, but documents with similar ids were`, pair);
}

/**
 * Returns the judged document ids: first those of the first query with results, then those of all queries; within a
 * query, by descending grade.
 */
function relevantFirst(queries: readonly GoldenQuery[], answers: readonly QueryAnswer[]): Set<string> {
  const first = answers.find(({ documents }) => documents.length > 0)?.queryId;
  const asked = queries.filter(({ id }) => id === first);
  const judgments = [...asked, ...queries].flatMap(({ judgments: own }) => own.toSorted((a, b) => b.grade - a.grade));
  return new Set(judgments.map(({ documentId }) => documentId));
}

function depthWarning(answers: readonly QueryAnswer[], k: number): string | null {
  const answered = answers.filter(({ documents }) => documents.length > 0);
  const lengths = answered.flatMap(({ documents }) => rankingsOf(documents).map(({ length }) => length));
  const max = Math.max(0, ...lengths);
  if (answered.length < MIN_ANSWERS || max >= k) return null;
  return `recalld requested ${k} documents, but the retriever never returned more than ${max}. Check that the request contains {{k}} and that the retriever has no limit of its own, or lower golden[].cutoffs.`;
}

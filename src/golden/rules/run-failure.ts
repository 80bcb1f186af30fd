/** Why queries of a golden run failed: the first real error and how often, as it is told wherever an outage is. */
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

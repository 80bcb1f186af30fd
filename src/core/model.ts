/**
 * The words of recalld, used alike in code, SQL, metrics and docs.
 *
 * pipeline      one monitored retrieval path of a RAG service: a retriever and the vector store behind it
 * golden set    versioned queries with judgments (qrels); a version never changes
 * judgment      document id and integer grade >= 0 for one query; grade >= relevance level means relevant
 * golden run    one execution of a golden set version against a pipeline's retriever
 * outcome       what became of one query of a run: ok, empty, error or timeout
 * segment       a bounded slice of a golden set (`all`, or `key=value` of a tag)
 * check         one configured expectation on a measure; its verdict is ok, warning, critical or no_data
 */

/** A document as the retriever ranked it; `score` is null when the retriever gives none. */
export interface RetrievedDocument {
  readonly id: string;
  readonly score: number | null;
}

export interface Judgment {
  readonly documentId: string;
  readonly grade: number;
}

export interface GoldenQuery {
  readonly id: string;
  readonly text: string;
  readonly tags: Readonly<Record<string, string>>;
  /** Empty for a question that has no answer, or is asked for its forbidden documents alone. */
  readonly judgments: readonly Judgment[];
  /** Documents that must never come back, ids or beginnings of ids that end in `*`; left out, none. */
  readonly forbidden?: readonly string[];
  /** Nothing that the store holds answers it: an empty answer is right. Such a question has no judgments. */
  readonly noAnswer?: true;
}

/** `error` and `timeout` are failures of the retriever; `empty` is an answer without documents. */
export const queryOutcomes = ['ok', 'empty', 'error', 'timeout'] as const;

export type QueryOutcome = (typeof queryOutcomes)[number];

/** `void`: the run ended, but too many of its queries failed to trust its scores. `failed`: it did not end. */
export const runStatuses = ['running', 'completed', 'void', 'failed', 'cancelled'] as const;

export type RunStatus = (typeof runStatuses)[number];

/** What a breach of a check is: something to wake somebody for, or something to look at. */
export const severities = ['critical', 'warning'] as const;

export type Severity = (typeof severities)[number];

/** `no_data`: nothing that can be trusted says whether the check holds. */
export const verdicts = ['ok', 'warning', 'critical', 'no_data'] as const;

export type Verdict = (typeof verdicts)[number];

/** The segment that holds every query. */
export const ALL_SEGMENT = 'all';

/**
 * recalld's terms, used in code, SQL, metrics and docs.
 *
 * pipeline      one monitored retrieval path of a RAG service: a retriever and the vector store behind it
 * golden set    versioned queries with judgments (qrels); a version never changes
 * judgment      document id and integer grade >= 0 for one query; grade >= relevance level means relevant
 * golden run    one execution of a golden set version against a pipeline's retriever
 * outcome       result of one query in a run: ok, empty, error or timeout
 * segment       a bounded slice of a golden set (`all`, or `key=value` of a tag)
 * check         one configured expectation about a measure; its verdict is ok, warning, critical or no_data
 */

/** A document as ranked by the retriever; `score` is null if the retriever returns no score. */
export interface RetrievedDocument {
  readonly id: string;
  readonly score: number | null;
  /** Id of the returned chunk, if `id` is the id of the chunk's document. */
  readonly chunk?: string;
  /** One-based number of the query step that returned the document; omitted for a query without steps. */
  readonly step?: number;
  /** Metadata that isolation rules compare, such as the region; omitted if unknown. */
  readonly fields?: Readonly<Record<string, string>>;
}

export interface Judgment {
  readonly documentId: string;
  readonly grade: number;
}

export interface GoldenQuery {
  readonly id: string;
  readonly text: string;
  readonly tags: Readonly<Record<string, string>>;
  /**
   * Texts that the retriever receives one after another instead of `text`; omitted if the query needs only one
   * retrieval.
   */
  readonly steps?: readonly string[];
  /** Grades of the judged documents; empty for a query that has no answer or that only tests forbidden documents. */
  readonly judgments: readonly Judgment[];
  /**
   * Patterns for documents that the retriever must never return. The query's tags replace the placeholders in the
   * patterns (see `core/text/document-pattern.ts`).
   */
  readonly forbidden?: readonly string[];
  /** True if the store has no answer, so an empty result is correct. A query without an answer has no judgments. */
  readonly noAnswer?: true;
}

/** `error` and `timeout` are retriever failures; `empty` is a response without documents. */
export const queryOutcomes = ['ok', 'empty', 'error', 'timeout'] as const;

export type QueryOutcome = (typeof queryOutcomes)[number];

/** `void`: too many queries failed for the scores to be trusted. `failed`: the run did not complete. */
export const runStatuses = ['running', 'completed', 'void', 'failed', 'cancelled'] as const;

export type RunStatus = (typeof runStatuses)[number];

/** `critical` pages a person; `warning` can wait for working hours. */
export const severities = ['critical', 'warning'] as const;

export type Severity = (typeof severities)[number];

/** `no_data`: there is no trustworthy value to evaluate. */
export const verdicts = ['ok', 'warning', 'critical', 'no_data'] as const;

export type Verdict = (typeof verdicts)[number];

export const ALL_SEGMENT = 'all';

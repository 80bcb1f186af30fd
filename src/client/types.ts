/** Arguments and results of the client. For every optional field, null and undefined mean "unknown". */

/** A string of at most 1,024 characters. Numbers, such as serial keys, are sent as strings. */
export type Identifier = string | number;

type Optional<T> = T | null | undefined;

export interface RankedDocument {
  /** Document id. If the id is missing, recalld derives it from `text` (docs/explanation/concepts.md). */
  readonly id?: Optional<Identifier>;
  /** Score from the retriever; a score that is not finite is omitted. */
  readonly score?: Optional<number>;
  /**
   * Text that is inserted into the prompt. recalld stores its length and its share of repeated text, but not the text.
   */
  readonly text?: Optional<string>;
  /**
   * Metadata that recalld's isolation rules compare, such as the region: at most 8 values of at most 128 characters.
   */
  readonly fields?: Optional<Readonly<Record<string, Optional<string | number | boolean>>>>;
}

/** Results of one retriever stage, such as candidate search or reranking. */
export interface TrackedStage {
  /** Name of the stage, at most 64 characters. */
  readonly name: string;
  readonly latencyMs?: Optional<number>;
  /** Results of the stage, best first, at most 1,000; omit the list if it is unknown. */
  readonly results?: Optional<readonly (Identifier | RankedDocument)[]>;
  /** True if this is one of several parallel stages whose results are merged afterwards. */
  readonly side?: Optional<boolean>;
}

/** An agent turn: one question from a user, and all retrievals that the agent makes for it. */
export interface TrackedEpisode {
  /** Id of the turn. All retrievals of the turn have this id, and no other turn has it. */
  readonly id: Identifier;
  /** Position of the retrieval in the turn; by default the retrievals are ordered by `occurredAt`. */
  readonly step?: Optional<number>;
  /** The user's question, which the agent rewrote into `text`. */
  readonly originalText?: Optional<string>;
}

/** A query that a user sent, and the documents retrieved for it. */
export interface TrackedQuery {
  /** Query id, which identifies repeated reports within the pipeline; a random UUID by default. */
  readonly id?: Optional<Identifier>;
  /** Pipeline in recalld's config; by default the pipeline passed to `createClient`. */
  readonly pipeline?: Optional<string>;
  /**
   * Time of the query, as a Date, milliseconds since the epoch or an ISO 8601 string; by default, the time of the call.
   */
  readonly occurredAt?: Optional<Date | number | string>;
  readonly text?: Optional<string>;
  /** The query vector, at most 16,384 finite numbers. */
  readonly embedding?: Optional<readonly number[] | Float32Array | Float64Array>;
  /** Number of requested documents. */
  readonly topK?: Optional<number>;
  /** Id of the user's session. A session is sampled as a whole. */
  readonly sessionId?: Optional<Identifier>;
  readonly traceId?: Optional<string>;
  /** Agent turn that made this retrieval and possibly others. A turn is sampled as a whole. */
  readonly episode?: Optional<TrackedEpisode>;
  /** Retrieved documents, best first, at most 1,000. Required unless `error` is set. */
  readonly results?: Optional<readonly (Identifier | RankedDocument)[]>;
  readonly latencyMs?: Optional<number>;
  /** Retriever stages before the final result, in order of execution; at most 10. */
  readonly stages?: Optional<readonly TrackedStage[]>;
  /** Reason why the retrieval failed. For an Error, only the message is sent. */
  readonly error?: Optional<string | Error>;
  /** At most 16 segments to which the query belongs, such as its tenant or language. */
  readonly segments?: Optional<Readonly<Record<string, Optional<string | number | boolean>>>>;
  /** recalld stores only a keyed hash of the user id. */
  readonly userId?: Optional<Identifier>;
  readonly versions?: Optional<{
    readonly index?: Optional<string>;
    readonly embedder?: Optional<string>;
    readonly retriever?: Optional<string>;
  }>;
  /**
   * Sampling probability, if the host reports only a sample of its queries. The probability is multiplied by the
   * client's `sampleRate`.
   */
  readonly sampling?: Optional<{ readonly probability: number }>;
}

/** Kinds of feedback that the daemon accepts. */
export const feedbackKinds = [
  'thumb',
  'rating',
  'click',
  'copy',
  'reformulation',
  'abandonment',
  'no_answer',
  'relevance',
  'citation',
] as const;

/** User feedback on the answer to a query. Feedback is never sampled. */
export interface TrackedFeedback {
  /** Id that identifies repeated reports; a random UUID by default. */
  readonly id?: Optional<Identifier>;
  /** The id that `track` returned for the query. */
  readonly queryId: Identifier;
  readonly pipeline?: Optional<string>;
  /** `citation`: the answer cites the document `documentId`. */
  readonly kind: (typeof feedbackKinds)[number];
  /** For a thumb: `up`, `down`, true, false, 1 or -1. For a rating or a relevance grade: a number. */
  readonly value?: Optional<number | string | boolean>;
  readonly documentId?: Optional<Identifier>;
  /** One-based rank at which the document was shown. */
  readonly rank?: Optional<number>;
  readonly occurredAt?: Optional<Date | number | string>;
  readonly userId?: Optional<Identifier>;
  readonly comment?: Optional<string>;
}

export interface ClientOptions {
  /** Address of recalld, such as http://127.0.0.1:8321. If the address is invalid, the client drops all items. */
  readonly url: string;
  /** API key with the scope `ingest`. */
  readonly apiKey?: Optional<string>;
  /** Default pipeline for queries and feedback. */
  readonly pipeline?: Optional<string>;
  /**
   * Maximum number of items in each queue. Queries and feedback have separate queues. If a queue is full, its oldest
   * item is dropped. Default: 10,000.
   */
  readonly maxQueue?: number;
  /** Maximum estimated size of each queue in bytes. Queries and feedback have separate queues. Default: 16 MiB. */
  readonly maxQueueBytes?: number;
  /** Maximum number of items per request; at most 1,000. Default: 100. */
  readonly batchSize?: number;
  /** Maximum time in milliseconds that an item waits for its batch to fill up. Default: 1,000. */
  readonly flushIntervalMs?: number;
  /** Timeout of one request in milliseconds, from connecting to the end of the response. Default: 5,000. */
  readonly timeoutMs?: number;
  /**
   * Share of sessions to send, from 0 to 1. Queries without a session are sampled by agent turn (`episode`), and
   * queries with neither a session nor a turn are sampled individually. recalld weights the sampled queries
   * accordingly. Default: 1.
   */
  readonly sampleRate?: number;
  /** Called synchronously whenever items are dropped, so it must return quickly. */
  readonly onDrop?: Optional<(drop: Drop) => void>;
}

/**
 * invalid: an argument is invalid. oversized: larger than 1 MiB or than the queue. overflow: the queue was full.
 * rejected: recalld rejected the item. closed: the client was closed. disabled: the client has no valid url or key.
 * failed: the client had an internal fault.
 */
export type DropReason = 'invalid' | 'oversized' | 'overflow' | 'rejected' | 'closed' | 'disabled' | 'failed';

export interface Drop {
  readonly what: 'queries' | 'feedback';
  readonly reason: DropReason;
  readonly count: number;
  /**
   * Details of the reason, such as the name of the invalid field or recalld's rejection code; never the text of a
   * query.
   */
  readonly detail: string;
}

/** Invariant: offered = sampledOut + sent + pending + the sum of dropped. */
export interface DeliveryStats {
  /** Number of calls to `track` or `feedback`. */
  readonly offered: number;
  readonly sampledOut: number;
  /** Number of items that recalld accepted. */
  readonly sent: number;
  /** Number of items in `sent` that recalld already had. */
  readonly duplicates: number;
  /** Number of items that are queued or being sent. */
  readonly pending: number;
  readonly pendingBytes: number;
  readonly dropped: Readonly<Record<DropReason, number>>;
  /** Number of items dropped as `rejected`, keyed by recalld's code or by `http_<status>`. */
  readonly rejectedByCode: Readonly<Record<string, number>>;
  readonly requests: number;
  /** Number of failed requests that have been or will be retried. */
  readonly retries: number;
  /** Reason why the last request failed; null if it succeeded. */
  readonly lastError: string | null;
}

export interface ClientStats {
  readonly queries: DeliveryStats;
  readonly feedback: DeliveryStats;
  /** Invalid options, one sentence each. */
  readonly problems: readonly string[];
}

export interface FlushOptions {
  /** Maximum wait in milliseconds, at most 60,000. Default: 5,000. */
  readonly timeoutMs?: number;
}

export interface FlushResult {
  /** Number of items that recalld accepted between the call and the time at which the promise resolved. */
  readonly sent: number;
  /** Number of items not delivered when the promise resolved. */
  readonly pending: number;
}

/** No method throws and no promise rejects, even if an argument is invalid or recalld fails. */
export interface Client {
  /**
   * Copies the query and returns immediately. Returns the query id, even if the query is sampled out or dropped.
   * Feedback on the query needs this id.
   */
  track(query: TrackedQuery): string;
  /** Copies the feedback and returns immediately. */
  feedback(feedback: TrackedFeedback): void;
  /** Sends all queued items without waiting for full batches. */
  flush(options?: FlushOptions): Promise<FlushResult>;
  /**
   * Flushes, then stops permanently and drops the remaining items. A process that ends without `close` waits for at
   * most two seconds and writes the number of undelivered items to stderr, unless `onDrop` is set.
   */
  close(options?: FlushOptions): Promise<FlushResult>;
  stats(): ClientStats;
}

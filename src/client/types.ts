/** Arguments and results of the client. For every optional field, null and undefined mean "unknown". */

/** Numbers, such as serial keys, are sent as strings. At most 1,024 characters. */
export type Identifier = string | number;

type Optional<T> = T | null | undefined;

export interface RankedDocument {
  /** Derived from `text` if missing, as everywhere in recalld (docs/explanation/concepts.md). */
  readonly id?: Optional<Identifier>;
  /** Score from the retriever; one that is not finite is left out. */
  readonly score?: Optional<number>;
  /** Text that goes into the prompt. recalld stores its length and its share of repeated text, but not the text. */
  readonly text?: Optional<string>;
}

/** Results of one stage of a retriever, such as its candidates or a reranker. */
export interface TrackedStage {
  /** At most 64 characters. */
  readonly name: string;
  readonly latencyMs?: Optional<number>;
  /** Best first, at most 1,000; leave it out if unknown. */
  readonly results?: Optional<readonly (Identifier | RankedDocument)[]>;
  /** True for one of several parallel stages whose results are merged afterwards. */
  readonly side?: Optional<boolean>;
}

/** One query that a user sent, with what was retrieved for it. */
export interface TrackedQuery {
  /** Idempotency key within the pipeline; a random UUID by default. */
  readonly id?: Optional<Identifier>;
  /** Pipeline in recalld's config; by default the one given to `createClient`. */
  readonly pipeline?: Optional<string>;
  /** Date, milliseconds since the epoch, or an ISO 8601 string; by default the time of the call. */
  readonly occurredAt?: Optional<Date | number | string>;
  readonly text?: Optional<string>;
  /** The query vector, at most 16,384 finite numbers. */
  readonly embedding?: Optional<readonly number[] | Float32Array | Float64Array>;
  /** How many documents were asked for. */
  readonly topK?: Optional<number>;
  /** A session is sampled as a whole. */
  readonly sessionId?: Optional<Identifier>;
  readonly traceId?: Optional<string>;
  /** Retrieved documents, best first, at most 1,000; may be left out only together with an `error`. */
  readonly results?: Optional<readonly (Identifier | RankedDocument)[]>;
  readonly latencyMs?: Optional<number>;
  /** Stages of the retriever before its answer, in the order of execution; at most 10. */
  readonly stages?: Optional<readonly TrackedStage[]>;
  /** Why the retrieval failed; only the message of an Error is sent. */
  readonly error?: Optional<string | Error>;
  /** At most 16 short labels, such as tenant or language. */
  readonly segments?: Optional<Readonly<Record<string, Optional<string | number | boolean>>>>;
  /** recalld stores only a keyed hash of it. */
  readonly userId?: Optional<Identifier>;
  readonly versions?: Optional<{
    readonly index?: Optional<string>;
    readonly embedder?: Optional<string>;
    readonly retriever?: Optional<string>;
  }>;
  /** For a host that itself reports only a sample of its queries; multiplied by the client's own `sampleRate`. */
  readonly sampling?: Optional<{ readonly probability: number }>;
}

/** Feedback of a user on the answer to a query. Feedback is never sampled. */
export interface TrackedFeedback {
  /** Idempotency key; a random UUID by default. */
  readonly id?: Optional<Identifier>;
  /** What `track` returned for the query. */
  readonly queryId: Identifier;
  readonly pipeline?: Optional<string>;
  readonly kind: 'thumb' | 'rating' | 'click' | 'copy' | 'reformulation' | 'abandonment' | 'no_answer' | 'relevance';
  /** Thumb: up or down, true or false, 1 or -1. Rating and relevance: a number. */
  readonly value?: Optional<number | string | boolean>;
  readonly documentId?: Optional<Identifier>;
  /** Rank at which the document was shown, from 1. */
  readonly rank?: Optional<number>;
  readonly occurredAt?: Optional<Date | number | string>;
  readonly userId?: Optional<Identifier>;
  readonly comment?: Optional<string>;
}

export interface ClientOptions {
  /** Address of recalld, such as http://127.0.0.1:8321. With an invalid one the client drops everything. */
  readonly url: string;
  /** API key with the scope `ingest`. */
  readonly apiKey?: Optional<string>;
  /** Default pipeline of queries and feedback. */
  readonly pipeline?: Optional<string>;
  /**
   * Maximum of queued queries, and of queued feedback items; if the queue is full, the oldest item is dropped. 10,000.
   */
  readonly maxQueue?: number;
  /** Estimated maximum of bytes for queued queries, and for queued feedback. 16 MiB. */
  readonly maxQueueBytes?: number;
  /** Items a request. 100, at most 1,000. */
  readonly batchSize?: number;
  /** Longest time that an item waits for a batch to fill up. 1,000. */
  readonly flushIntervalMs?: number;
  /** Timeout of one request, from connecting to the end of the answer. 5,000. */
  readonly timeoutMs?: number;
  /** Share of the sessions whose queries are sent, 0 to 1; recalld weights them accordingly. 1. */
  readonly sampleRate?: number;
  /** Called for everything that is not delivered, inside the call that dropped it: keep it short. */
  readonly onDrop?: Optional<(drop: Drop) => void>;
}

/**
 * invalid: an invalid argument. oversized: larger than 1 MiB or than the queue. overflow: the queue was full. rejected:
 * recalld rejected it. closed: the client was closed. disabled: the client has no valid url or key. failed: an internal
 * fault of the client.
 */
export type DropReason = 'invalid' | 'oversized' | 'overflow' | 'rejected' | 'closed' | 'disabled' | 'failed';

export interface Drop {
  readonly what: 'queries' | 'feedback';
  readonly reason: DropReason;
  readonly count: number;
  /** The invalid field or the code of the rejection; never the text of a query. */
  readonly detail: string;
}

/** Invariant: offered = sampledOut + sent + pending + the sum of dropped. */
export interface DeliveryStats {
  /** Calls of `track` or `feedback`. */
  readonly offered: number;
  readonly sampledOut: number;
  /** Accepted by recalld. */
  readonly sent: number;
  /** Items among `sent` that recalld already had. */
  readonly duplicates: number;
  /** Queued or being sent. */
  readonly pending: number;
  readonly pendingBytes: number;
  readonly dropped: Readonly<Record<DropReason, number>>;
  /** Number of items dropped as `rejected`, keyed by recalld's code or by `http_<status>`. */
  readonly rejectedByCode: Readonly<Record<string, number>>;
  readonly requests: number;
  /** Requests that failed and were or will be retried. */
  readonly retries: number;
  /** Why the last request failed; null if it succeeded. */
  readonly lastError: string | null;
}

export interface ClientStats {
  readonly queries: DeliveryStats;
  readonly feedback: DeliveryStats;
  /** Invalid options, one sentence each. */
  readonly problems: readonly string[];
}

export interface FlushOptions {
  /** Longest wait, at most 60,000. 5,000. */
  readonly timeoutMs?: number;
}

export interface FlushResult {
  /** Accepted by recalld since the call. */
  readonly sent: number;
  /** Not delivered when the promise resolved. */
  readonly pending: number;
}

/** No method throws and no promise rejects, whatever the arguments are and whatever recalld does. */
export interface Client {
  /**
   * Copies the query and returns immediately. Returns the id of the query, for feedback, even if the query is sampled
   * out or dropped.
   */
  track(query: TrackedQuery): string;
  /** Copies the feedback and returns immediately. */
  feedback(feedback: TrackedFeedback): void;
  /** Sends all queued items without waiting for full batches. */
  flush(options?: FlushOptions): Promise<FlushResult>;
  /**
   * Flushes, then stops permanently and drops what remains. A process that ends without `close` waits for at most two
   * seconds and writes the number of undelivered items to stderr, unless there is an `onDrop`.
   */
  close(options?: FlushOptions): Promise<FlushResult>;
  stats(): ClientStats;
}

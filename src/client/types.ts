/** What a host hands to the client and gets back. For every optional field, null and undefined mean "not known". */

/** Numbers, as serial keys are, are sent as text. At most 1,024 characters. */
export type Identifier = string | number;

type Optional<T> = T | null | undefined;

export interface RankedDocument {
  /** Left out, it is made of the `text`, as recalld makes it everywhere (docs/explanation/concepts.md). */
  readonly id?: Optional<Identifier>;
  /** As the retriever gave it; one that is not finite is left out. */
  readonly score?: Optional<number>;
  /** What is handed on of it. recalld keeps its length and what it repeats of the others, and not the text. */
  readonly text?: Optional<string>;
}

/** What one stage of a retriever, such as its candidates or a reranker, handed on. */
export interface TrackedStage {
  /** At most 64 characters. */
  readonly name: string;
  readonly latencyMs?: Optional<number>;
  /** Best first, at most 1,000; left out where it is not known. */
  readonly results?: Optional<readonly (Identifier | RankedDocument)[]>;
  /** One of several beside each other, which are joined after it. */
  readonly side?: Optional<boolean>;
}

/** One query that a user sent, with what was retrieved for it. */
export interface TrackedQuery {
  /** Idempotency key within the pipeline; a random UUID when left out. */
  readonly id?: Optional<Identifier>;
  /** Pipeline of recalld's config; the one given to `createClient` when left out. */
  readonly pipeline?: Optional<string>;
  /** Date, milliseconds since the epoch, or an ISO 8601 text; the moment of the call when left out. */
  readonly occurredAt?: Optional<Date | number | string>;
  readonly text?: Optional<string>;
  /** The vector that was searched with, at most 16,384 finite numbers. */
  readonly embedding?: Optional<readonly number[] | Float32Array | Float64Array>;
  /** How many documents were asked for. */
  readonly topK?: Optional<number>;
  /** A session is sampled as a whole. */
  readonly sessionId?: Optional<Identifier>;
  readonly traceId?: Optional<string>;
  /** What was retrieved, best first, at most 1,000; may be left out only together with an `error`. */
  readonly results?: Optional<readonly (Identifier | RankedDocument)[]>;
  readonly latencyMs?: Optional<number>;
  /** What the stages of the retriever before its answer had, in the order in which they work; at most 10. */
  readonly stages?: Optional<readonly TrackedStage[]>;
  /** What went wrong, when the retrieval failed; only the message of an Error is sent. */
  readonly error?: Optional<string | Error>;
  /** At most 16 short labels, such as tenant or language. */
  readonly segments?: Optional<Readonly<Record<string, Optional<string | number | boolean>>>>;
  /** recalld stores a keyed hash of it only. */
  readonly userId?: Optional<Identifier>;
  readonly versions?: Optional<{
    readonly index?: Optional<string>;
    readonly embedder?: Optional<string>;
    readonly retriever?: Optional<string>;
  }>;
  /** Set when the host itself tells only a part of its queries; multiplied with the client's own `sampleRate`. */
  readonly sampling?: Optional<{ readonly probability: number }>;
}

/** What a user said or did about the answer to a query. Feedback is never sampled. */
export interface TrackedFeedback {
  /** Idempotency key; a random UUID when left out. */
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
  /** Where recalld listens, such as http://127.0.0.1:8321. Without a usable one the client drops everything. */
  readonly url: string;
  /** Key with the scope `ingest`. */
  readonly apiKey?: Optional<string>;
  /** Pipeline of queries and feedback that name none. */
  readonly pipeline?: Optional<string>;
  /** Most queries, and most feedback items, that wait or are under way; beyond it the oldest is dropped. 10,000. */
  readonly maxQueue?: number;
  /** Most bytes that the waiting queries, and the waiting feedback, take, by estimate. 16 MiB. */
  readonly maxQueueBytes?: number;
  /** Items of a request. 100, at most 1,000. */
  readonly batchSize?: number;
  /** Longest wait of an item before it is sent, when no batch fills up. 1,000. */
  readonly flushIntervalMs?: number;
  /** For one request, from connecting to the end of the answer. 5,000. */
  readonly timeoutMs?: number;
  /** Share of the sessions whose queries are sent, 0 to 1; recalld weights them accordingly. 1. */
  readonly sampleRate?: number;
  /** Told of everything that is not delivered, inside the call that dropped it: keep it short. */
  readonly onDrop?: Optional<(drop: Drop) => void>;
}

/**
 * invalid: an argument cannot be used. oversized: larger than 1 MiB or than the queue. overflow: the queue was full.
 * rejected: recalld refused it. closed: the client was closed. disabled: the client has no usable url or key.
 * failed: a fault of the client itself.
 */
export type DropReason = 'invalid' | 'oversized' | 'overflow' | 'rejected' | 'closed' | 'disabled' | 'failed';

export interface Drop {
  readonly what: 'queries' | 'feedback';
  readonly reason: DropReason;
  readonly count: number;
  /** The field at fault or the code of the rejection; never the text of a query. */
  readonly detail: string;
}

/** offered = sampledOut + sent + pending + the sum of dropped, always. */
export interface DeliveryStats {
  /** Calls of `track` or `feedback`. */
  readonly offered: number;
  readonly sampledOut: number;
  /** Accepted by recalld. */
  readonly sent: number;
  /** Of those sent: recalld had them already. */
  readonly duplicates: number;
  /** Waiting or under way. */
  readonly pending: number;
  readonly pendingBytes: number;
  readonly dropped: Readonly<Record<DropReason, number>>;
  /** The dropped with the reason `rejected`, by recalld's code or `http_<status>`. */
  readonly rejectedByCode: Readonly<Record<string, number>>;
  readonly requests: number;
  /** Requests that failed and are, or were, to be repeated. */
  readonly retries: number;
  /** Why the last request failed; null when it succeeded. */
  readonly lastError: string | null;
}

export interface ClientStats {
  readonly queries: DeliveryStats;
  readonly feedback: DeliveryStats;
  /** What is wrong with the options, in sentences. */
  readonly problems: readonly string[];
}

export interface FlushOptions {
  /** When to stop waiting, at most 60,000. 5,000. */
  readonly timeoutMs?: number;
}

export interface FlushResult {
  /** Accepted by recalld since the call. */
  readonly sent: number;
  /** Not delivered when the promise resolved. */
  readonly pending: number;
}

/** No method throws, and no promise rejects, whatever it is given and whatever recalld does. */
export interface Client {
  /**
   * Takes a copy of the query and returns at once. The result is the id of the query, for feedback, also when the
   * query is sampled out or dropped.
   */
  track(query: TrackedQuery): string;
  /** Takes a copy of the feedback and returns at once. */
  feedback(feedback: TrackedFeedback): void;
  /** Sends what has been taken so far without waiting for full batches. */
  flush(options?: FlushOptions): Promise<FlushResult>;
  /**
   * Flushes, then stops for good and drops what is left. A process that ends without it waits for two seconds at most,
   * and writes to stderr how much was not delivered, unless `onDrop` is told.
   */
  close(options?: FlushOptions): Promise<FlushResult>;
  stats(): ClientStats;
}

import type { JudgedFeedback } from '../core/feedback/positive-ratio.ts';
import type { CapDay, CountedHour } from '../core/feedback/user-cap.ts';
import type { Feedback } from '../core/live/live-query.ts';
import type { QueryOutcome, RetrievedDocument } from '../core/model.ts';

/** A live query that is kept, as it is stored: redacted, its people hashed, its weight known. */
export interface LiveSample {
  readonly pipeline: string;
  readonly id: string;
  readonly receivedAt: Date;
  readonly occurredAt: Date;
  /** Keyed hash of the session, else of the trace, else of the query. */
  readonly sessionHash: string;
  readonly traceId: string | null;
  readonly text: string | null;
  readonly textHash: string | null;
  readonly embedding: Float32Array | null;
  readonly topK: number | null;
  readonly outcome: QueryOutcome;
  readonly error: string | null;
  readonly results: readonly RetrievedDocument[];
  readonly latencyMs: number | null;
  readonly segments: Readonly<Record<string, string>>;
  readonly userHash: string | null;
  readonly indexVersion: string | null;
  readonly embedderVersion: string | null;
  readonly retrieverVersion: string | null;
  /** Inclusion probability; every estimate over samples is weighted by its inverse. */
  readonly probability: number;
  readonly keepReason: string;
  /** What closing the minute needs: the draw of the session, its rate, and the halvings that held at its arrival. */
  readonly unitHash: number;
  readonly rateProbability: number;
  readonly level: number;
}

/** How many live queries of an outcome arrived in a minute, sampled or not. */
export interface ArrivalCount {
  readonly pipeline: string;
  readonly minute: Date;
  readonly outcome: QueryOutcome;
  readonly queries: number;
}

/** How often this replica halved the sampling rate of a minute so far. */
export interface MinuteLevel {
  readonly pipeline: string;
  readonly minute: Date;
  readonly level: number;
}

/** What one ingest request adds. */
export interface Arrival {
  readonly samples: readonly LiveSample[];
  readonly counts: readonly ArrivalCount[];
  readonly levels: readonly MinuteLevel[];
}

export interface StoredFeedback
  extends Pick<Feedback, 'queryId' | 'pipeline' | 'kind' | 'documentId' | 'rank'> {
  readonly id: string;
  readonly receivedAt: Date;
  readonly occurredAt: Date;
  readonly sentiment: 'positive' | 'negative' | 'neutral';
  readonly value: number | null;
  readonly userHash: string | null;
  readonly comment: string | null;
  readonly counted: boolean;
}

/** Live queries and feedback, written once each, kept for their retention. */
export interface LiveTraffic {
  /**
   * Stores an arrival. Resolves when it is committed, with whether each sample is new; one that was stored before,
   * today or yesterday (UTC), is left as it is. Rejects with RecalldError database_unreachable when nothing was stored.
   */
  record(arrival: Arrival): Promise<{ readonly isNew: readonly boolean[] }>;
  /** Stores feedback likewise. */
  recordFeedback(feedback: readonly StoredFeedback[]): Promise<{ readonly isNew: readonly boolean[] }>;
  /** What people have counted on some days, for the cap on each. */
  countedHours(days: readonly CapDay[]): Promise<readonly CountedHour[]>;
  /** Feedback on a pipeline that occurred from `from` to before `until`. */
  feedback(pipeline: string, from: Date, until: Date): Promise<readonly JudgedFeedback[]>;
  /** The length of the vectors of a pipeline, null while none is known. Learns `dimensions` when it is given. */
  dimensions(pipeline: string, learn: number | null): Promise<number | null>;
  /** How many processes took in live queries since then; at least 1. */
  replicas(since: Date): Promise<number>;
  /** Makes the samples of past minutes what the closing level of their minute says. @returns how many were dropped */
  closeMinutes(before: Date): Promise<number>;
  /** Makes the partitions that the next days need. */
  createPartitions(now: Date): Promise<void>;
  /** Drops what is older than the retention of its pipeline. */
  prune(retentionDays: ReadonlyMap<string, number>, now: Date): Promise<void>;
  /** Erases a person or a query everywhere and notes that it was done. */
  erase(subject: ErasureSubject, now: Date): Promise<ErasureReport>;
}

export type ErasureSubject =
  | { readonly kind: 'user'; readonly userHash: string }
  | { readonly kind: 'query'; readonly id: string; readonly idHash: string };

export interface ErasureReport {
  readonly queries: number;
  readonly feedback: number;
}

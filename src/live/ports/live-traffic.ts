/** A sampled live query as it is stored: text redacted, user and session hashed, with its inclusion probability. */
import type { QueryOutcome, RetrievedDocument } from '../../model.ts';
import type { FeedbackWindow, OpinionTally } from '../rules/feedback/positive-ratio.ts';
import type { Sentiment } from '../rules/feedback/sentiment.ts';
import type { CapDay, CountedHour } from '../rules/feedback/user-cap.ts';
import type { Feedback } from '../rules/live-query.ts';
import type { HeldFragment } from './trace-fragments.ts';

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
  readonly sentiment: Sentiment;
  readonly value: number | null;
  readonly userHash: string | null;
  readonly comment: string | null;
  readonly counted: boolean;
  /**
   * Set when `queryId` is a span that is not known to be a live query: the feedback is about that query if there is
   * one, else about the only query of this trace, whenever it comes. Null: it is about `queryId` and nothing else.
   */
  readonly traceId: string | null;
  /**
   * Its id was derived and its time not told, so that the same words again may be a retry or a mind that changed
   * back: see `feedbackId`.
   */
  readonly mayRepeat: boolean;
}

/** Live queries and feedback, written once each, kept for their retention. */
export interface LiveTraffic {
  /**
   * Stores an arrival and completes its samples with what is held of their traces. Resolves when that is committed,
   * with whether each sample is new; one that was stored before, today or yesterday (UTC), is left as it is, save that
   * of two inclusion probabilities of today the larger holds. Rejects with RecalldError database_unreachable when
   * something was not stored; all of it may then be sent again.
   */
  record(arrival: Arrival): Promise<{ readonly isNew: readonly boolean[] }>;
  /** Gives samples of today a larger inclusion probability; one that is not there, or erased, stays away. */
  raiseProbabilities(samples: readonly LiveSample[]): Promise<void>;
  /**
   * Stores feedback in the same way. A repeat may be a user who changed back to an earlier opinion; it is then the
   * latest.
   */
  recordFeedback(feedback: readonly StoredFeedback[]): Promise<{ readonly isNew: readonly boolean[] }>;
  /**
   * Completes the stored live queries of the fragments' traces, and holds the fragments for those that come later.
   * Resolves when that is committed; holding them again changes nothing. Rejects likewise.
   */
  holdFragments(fragments: readonly HeldFragment[]): Promise<void>;
  /** Lets go of the fragments that have been held for 10 to 20 minutes. */
  releaseFragments(now: Date): Promise<void>;
  /** What people have counted on some days, for the cap on each. */
  countedHours(days: readonly CapDay[]): Promise<readonly CountedHour[]>;
  /**
   * What was said of a pipeline by feedback that occurred within the window, by the segments of these keys. An opinion
   * that changed after the window is what it was then, and late feedback corrects a window that is read again.
   */
  opinions(
    pipeline: string,
    window: FeedbackWindow,
    segmentKeys: readonly string[],
  ): Promise<readonly OpinionTally[]>;
  /** The length of the vectors of a pipeline, null while none is known. Learns `dimensions` when it is given. */
  dimensions(pipeline: string, learn: number | null): Promise<number | null>;
  /** Makes the length of the vectors of a pipeline what its config says. */
  fixDimensions(pipeline: string, dimensions: number): Promise<void>;
  /** How many processes took in live queries since then; at least 1. */
  replicas(since: Date): Promise<number>;
  /** Makes the samples of past minutes what the closing level of their minute says. @returns how many were dropped */
  closeMinutes(before: Date): Promise<number>;
  /** Makes the partitions that the next days need. */
  createPartitions(now: Date): Promise<void>;
  /**
   * Drops what is older than the retention of its pipeline, and forgets whom erasures were about when the longest
   * retention is over: what had happened before them is refused by then.
   */
  prune(retentionDays: ReadonlyMap<string, number>, now: Date): Promise<void>;
  /** Erases what came today and yesterday (UTC) of what had been erased before it came. */
  eraseLate(pipelines: readonly string[], now: Date): Promise<Pick<ErasureReport, 'queries' | 'feedback'>>;
  /** Which of these queries were erased, as themselves or with who asked, after they were asked. */
  areErased(queries: readonly AskedQuery[]): Promise<readonly boolean[]>;
}

export type AskedQuery = Pick<LiveSample, 'pipeline' | 'id' | 'traceId' | 'userHash' | 'occurredAt'>;

export type ErasureSubject =
  | { readonly kind: 'user'; readonly userHash: string }
  | { readonly kind: 'query'; readonly id: string; readonly idHash: string };

export interface ErasureReport {
  readonly queries: number;
  readonly feedback: number;
  /** Golden queries whose text came from them. */
  readonly goldenQueries: number;
}

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
  /** What closing the minute needs: the draw, the rate before the level was known, and the level. */
  readonly unitHash: number;
  readonly rateProbability: number;
  readonly level: number;
}

/** All live queries of one minute, sampled or not. */
export interface ArrivalCount {
  readonly pipeline: string;
  readonly minute: Date;
  readonly outcome: QueryOutcome;
  readonly queries: number;
}

export interface StoredFeedback extends Pick<Feedback, 'queryId' | 'pipeline' | 'kind' | 'documentId' | 'rank'> {
  readonly id: string;
  readonly receivedAt: Date;
  readonly occurredAt: Date;
  readonly sentiment: 'positive' | 'negative' | 'neutral';
  readonly value: number | null;
  readonly userHash: string | null;
  readonly comment: string | null;
}

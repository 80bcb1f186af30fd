/** What a RAG service sends about one query of a user, over HTTP, through the client or through OpenTelemetry. */
import type { RetrievedDocument } from '../../model.ts';

export interface LiveQuery {
  /** Idempotency key within the pipeline: the same id is stored once, however often it is sent. */
  readonly id: string;
  readonly pipeline: string;
  /** Null: not told, the time of receipt is taken. */
  readonly occurredAt: Date | null;
  readonly text: string | null;
  readonly embedding: Float32Array | null;
  /** How many documents were asked for. */
  readonly topK: number | null;
  readonly sessionId: string | null;
  readonly traceId: string | null;
  /** Best first. */
  readonly results: readonly RetrievedDocument[];
  readonly latencyMs: number | null;
  /** What went wrong, in short; null when the retrieval succeeded. */
  readonly error: string | null;
  readonly segments: Readonly<Record<string, string>>;
  /** As the service knows the user; only a keyed HMAC of it is ever stored. */
  readonly userId: string | null;
  readonly versions: VersionStamps;
  /** Probability with which the service kept the query before sending it; 1 when the service sends all. */
  readonly upstreamProbability: number;
}

export interface VersionStamps {
  readonly index: string | null;
  readonly embedder: string | null;
  readonly retriever: string | null;
}

export const feedbackKinds = [
  'thumb',
  'rating',
  'click',
  'copy',
  'reformulation',
  'abandonment',
  'no_answer',
  'relevance',
] as const;

export type FeedbackKind = (typeof feedbackKinds)[number];

/** What a user said or did about the answer to a live query. */
export interface Feedback {
  /** Null: derived from what it says, so that a retry is recognised. */
  readonly id: string | null;
  readonly queryId: string;
  readonly pipeline: string;
  readonly kind: FeedbackKind;
  /** Thumb: up or down, true or false, 1 or 0 or -1; rating and relevance: a number; else none. */
  readonly value: number | string | boolean | null;
  readonly documentId: string | null;
  /** From 1. */
  readonly rank: number | null;
  readonly occurredAt: Date | null;
  readonly userId: string | null;
  readonly comment: string | null;
}

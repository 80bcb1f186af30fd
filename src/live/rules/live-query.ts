/**
 * What a RAG service sends about one query of a user and its stages, over HTTP, through the client or through
 * OpenTelemetry.
 */

import type { Rejection } from '../../core/errors.ts';
import type { RetrievedDocument } from '../../core/model.ts';
import type { ContextSize } from '../../core/text/context-size.ts';
import { DAY_MS, MINUTE_MS } from '../../core/time.ts';

/** Clocks of healthy services differ by less. */
const CLOCK_TOLERANCE_MS = 5 * MINUTE_MS;

export interface PipelineLimits {
  /** Length of the pipeline's vectors, null while none has been seen. */
  readonly dimensions: number | null;
  readonly retentionDays: number;
}

/**
 * The first reason to refuse a query, null when there is none.
 *
 * @param limits of the pipeline that the query names, null when the config has none of that name
 */
export function checkLiveQuery(query: LiveQuery, limits: PipelineLimits | null, now: Date): Rejection | null {
  if (limits === null) {
    return {
      code: 'unknown_pipeline',
      message: `The config has no pipeline "${query.pipeline}"; add it under pipelines or mend the name.`,
    };
  }
  return (
    checkOccurredAt(query.occurredAt, limits.retentionDays, now) ?? checkEmbedding(query.embedding, limits.dimensions)
  );
}

/** Refuses a time in the future or before the retention; a missing one is fine. */
export function checkOccurredAt(occurredAt: Date | null, retentionDays: number, now: Date): Rejection | null {
  if (occurredAt === null) return null;
  const aheadMs = occurredAt.getTime() - now.getTime();
  if (aheadMs > CLOCK_TOLERANCE_MS) {
    return {
      code: 'occurred_in_future',
      message: `occurred_at is ${Math.round(aheadMs / 1000)} s ahead of our clock; set the clock of the service.`,
    };
  }
  if (-aheadMs > retentionDays * DAY_MS) {
    return {
      code: 'occurred_too_long_ago',
      message: `occurred_at is more than ${retentionDays} days ago, the retention of this pipeline.${unitAdvice(occurredAt)}`,
    };
  }
  return null;
}

/** Before this, a time is most likely a number in another unit than its field has. */
const FIRST_PLAUSIBLE_YEAR = 1990;

function unitAdvice(occurredAt: Date): string {
  return occurredAt.getUTCFullYear() < FIRST_PLAUSIBLE_YEAR
    ? ` It reads as ${occurredAt.toISOString()}: times of OTLP spans are nanoseconds since 1970, not milliseconds or seconds.`
    : '';
}

/** Refuses a vector that cannot be compared with those of its pipeline; a missing one is fine. */
export function checkEmbedding(embedding: Float32Array | null, dimensions: number | null): Rejection | null {
  if (embedding === null) return null;
  let squares = 0;
  for (let i = 0; i < embedding.length; i++) squares += (embedding[i] ?? 0) ** 2;
  // float32 values cannot overflow a float64 sum, so a sum that is not finite had such a value in it.
  if (!Number.isFinite(squares))
    return { code: 'embedding_not_finite', message: 'embedding holds NaN or an infinity.' };
  if (squares === 0)
    return {
      code: 'embedding_zero',
      message: 'embedding is the zero vector; leave it out when there is none.',
    };
  if (dimensions !== null && embedding.length !== dimensions) {
    return {
      code: 'embedding_wrong_dimension',
      message: `embedding has ${embedding.length} numbers, those of this pipeline have ${dimensions}; set embedding_dimensions of the pipeline when the model has changed.`,
    };
  }
  return null;
}

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
  /** Of the texts of all results; null where they are not given. The texts themselves go no further. */
  readonly context: ContextSize | null;
  readonly latencyMs: number | null;
  /** Those before the answer, in the order in which they work; empty where nobody tells. */
  readonly stages: readonly LiveStage[];
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

export interface LiveStage {
  readonly name: string;
  /** One of several beside each other, which are joined after it. */
  readonly isSide: boolean;
  /** Its own time; null where nobody tells. */
  readonly latencyMs: number | null;
  /** Different documents that it handed on; null where nobody tells which. */
  readonly documents: number | null;
  /** Rank in it, from 1, of each result of the query, in their order; null for one that it did not have. Empty without documents. */
  readonly ranks: readonly (number | null)[];
}

/** Stages of one query; no retriever has more. */
export const MAX_STAGES = 10;

/** Results of a query whose ranks are kept, from the first on. */
const MAX_RANKS = 100;

/**
 * @param ids of what the stage handed on, best first; null where nobody tells
 * @param results ids of what the whole retriever answered, best first
 */
export function liveStage(
  { name, isSide, latencyMs }: Pick<LiveStage, 'name' | 'isSide' | 'latencyMs'>,
  ids: readonly string[] | null,
  results: readonly string[],
): LiveStage {
  if (ids === null) return { name, isSide, latencyMs, documents: null, ranks: [] };
  const rankOf = new Map([...new Set(ids)].map((id, place) => [id, place + 1]));
  const ranks = results.slice(0, MAX_RANKS).map((id) => rankOf.get(id) ?? null);
  return { name, isSide, latencyMs, documents: rankOf.size, ranks };
}

/** The same stage where the results of the query have become others of its results. */
export function withResults(stage: LiveStage, before: readonly string[], after: readonly string[]): LiveStage {
  if (stage.documents === null) return stage;
  const rankOf = new Map(before.map((id, place) => [id, stage.ranks[place] ?? null]));
  return { ...stage, ranks: after.slice(0, MAX_RANKS).map((id) => rankOf.get(id) ?? null) };
}

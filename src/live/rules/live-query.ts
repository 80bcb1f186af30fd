import type { Rejection } from '../../core/errors.ts';
import type { RetrievedDocument } from '../../core/model.ts';
import type { ContextSize } from '../../core/text/context-size.ts';
import { DAY_MS, MINUTE_MS } from '../../core/time.ts';

/** Assumed number of requested documents if the service does not report top_k. */
const USUAL_K = 10;

/**
 * Returns the number of documents to request when a live query is sent again: top_k if it is known; otherwise, the
 * number of documents that the query returned, or 10 if it returned fewer.
 */
export function depthOf(topK: number | null, returned: number): number {
  return topK ?? Math.max(returned, USUAL_K);
}

/** Accepted clock skew. */
const CLOCK_TOLERANCE_MS = 5 * MINUTE_MS;

export interface PipelineLimits {
  /** Dimensions of the vectors; null until the first vector arrives. */
  readonly dimensions: number | null;
  readonly retentionDays: number;
}

/**
 * Returns the first reason to reject a query; null if the query is valid.
 *
 * @param limits null if the pipeline of the query is not configured
 */
export function checkLiveQuery(query: LiveQuery, limits: PipelineLimits | null, now: Date): Rejection | null {
  if (limits === null) return unknownPipeline(query.pipeline);
  return (
    checkOccurredAt(query.occurredAt, limits.retentionDays, now) ?? checkEmbedding(query.embedding, limits.dimensions)
  );
}

export function unknownPipeline(name: string): Rejection {
  return {
    code: 'unknown_pipeline',
    message: `The config has no pipeline "${name}"; add it under pipelines or correct the name.`,
  };
}

/** Rejects a time that is in the future or older than the retention period. Accepts a missing time. */
export function checkOccurredAt(occurredAt: Date | null, retentionDays: number, now: Date): Rejection | null {
  if (occurredAt === null) return null;
  const aheadMs = occurredAt.getTime() - now.getTime();
  if (aheadMs > CLOCK_TOLERANCE_MS) {
    return {
      code: 'occurred_in_future',
      message: `occurred_at is ${Math.round(aheadMs / 1000)} s in the future; correct the service's clock.`,
    };
  }
  if (-aheadMs > retentionDays * DAY_MS) {
    return {
      code: 'occurred_too_long_ago',
      message: `occurred_at is older than the pipeline's retention period of ${retentionDays} days.${unitAdvice(occurredAt)}`,
    };
  }
  return null;
}

/** Earliest plausible year; a time before this year most likely has the wrong unit. */
const FIRST_PLAUSIBLE_YEAR = 1990;

function unitAdvice(occurredAt: Date): string {
  return occurredAt.getUTCFullYear() < FIRST_PLAUSIBLE_YEAR
    ? ` occurred_at was parsed as ${occurredAt.toISOString()}: OTLP times are nanoseconds since 1970, not milliseconds or seconds.`
    : '';
}

/** Rejects a vector that cannot be compared with other vectors of its pipeline. Accepts a missing vector. */
export function checkEmbedding(embedding: Float32Array | null, dimensions: number | null): Rejection | null {
  if (embedding === null) return null;
  let squares = 0;
  for (let i = 0; i < embedding.length; i++) squares += (embedding[i] ?? 0) ** 2;
  // A float64 sum of squared float32 values cannot overflow, so the sum is finite unless a value is NaN or infinite.
  if (!Number.isFinite(squares))
    return { code: 'embedding_not_finite', message: 'embedding contains NaN or an infinity.' };
  if (squares === 0)
    return {
      code: 'embedding_zero',
      message: 'embedding is the zero vector; omit the field if the query has no embedding.',
    };
  if (dimensions !== null && embedding.length !== dimensions) {
    return {
      code: 'embedding_wrong_dimension',
      message: `embedding has ${embedding.length} numbers, but vectors of this pipeline have ${dimensions}; set the pipeline's embedding_dimensions if the model has changed.`,
    };
  }
  return null;
}

export interface LiveQuery {
  /** Idempotency key within the pipeline. */
  readonly id: string;
  readonly pipeline: string;
  /** Time of the query; null means the time of receipt. */
  readonly occurredAt: Date | null;
  readonly text: string | null;
  readonly embedding: Float32Array | null;
  readonly topK: number | null;
  readonly sessionId: string | null;
  readonly traceId: string | null;
  readonly episode: QueryEpisode | null;
  /** Best first. */
  readonly results: readonly RetrievedDocument[];
  /** Total size of the texts of all results; null if any result has no text. The texts themselves are not stored. */
  readonly context: ContextSize | null;
  readonly latencyMs: number | null;
  /** Intermediate stages in order; empty if unknown. */
  readonly stages: readonly LiveStage[];
  /** Short error message; null if the retrieval succeeded. */
  readonly error: string | null;
  readonly segments: Readonly<Record<string, string>>;
  /** User id in the service. Only a keyed HMAC of the id is stored. */
  readonly userId: string | null;
  readonly versions: VersionStamps;
  /** Probability with which the service sent the query; 1 if it sends all queries. */
  readonly upstreamProbability: number;
}

export interface QueryEpisode {
  readonly id: string;
  /** Position of the query in the episode; if null, the query is ordered by its start time. */
  readonly step: number | null;
  /** Original user query before the agent rewrote it; null if unknown. */
  readonly originalText: string | null;
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
  'citation',
] as const;

export type FeedbackKind = (typeof feedbackKinds)[number];

/**
 * Kinds of feedback that have a sentiment. A citation shows which document the answer used, not whether the answer was
 * good.
 */
export type OpinionKind = Exclude<FeedbackKind, 'citation'>;

/** User feedback on the answer to a live query, or the citation of a document by that answer. */
export interface Feedback {
  /** If null, the id is derived from the content, so that a retry is recognized. */
  readonly id: string | null;
  readonly queryId: string;
  readonly pipeline: string;
  readonly kind: FeedbackKind;
  /**
   * For a thumb: up or down, true or false, or 1, 0 or -1. For a rating or a relevance: a number. For all other kinds:
   * null.
   */
  readonly value: number | string | boolean | null;
  readonly documentId: string | null;
  /** Rank at which the document was shown, starting at 1. */
  readonly rank: number | null;
  readonly occurredAt: Date | null;
  readonly userId: string | null;
  readonly comment: string | null;
}

export interface LiveStage {
  readonly name: string;
  /** True if this is one of several parallel stages whose results are merged afterwards. */
  readonly isSide: boolean;
  readonly latencyMs: number | null;
  /** Number of distinct documents that the stage returned; null if unknown. */
  readonly documents: number | null;
  /**
   * Rank of each final result in the stage, starting at 1, in the order of the results. An element is null if the stage
   * did not return that result. The list is empty if the ranks are unknown.
   */
  readonly ranks: readonly (number | null)[];
}

export const MAX_STAGES = 10;

/** Number of top results whose ranks are stored. */
const MAX_RANKS = 100;

/**
 * @param ids documents that the stage returned, best first; null if unknown
 * @param results final results of the retriever, best first
 */
export function liveStage(
  { name, isSide, latencyMs }: { readonly name: string; readonly isSide: boolean; readonly latencyMs: number | null },
  ids: readonly string[] | null,
  results: readonly string[],
): LiveStage {
  if (ids === null) return { name, isSide, latencyMs, documents: null, ranks: [] };
  const rankOf = new Map([...new Set(ids)].map((id, place) => [id, place + 1]));
  const ranks = results.slice(0, MAX_RANKS).map((id) => rankOf.get(id) ?? null);
  return { name, isSide, latencyMs, documents: rankOf.size, ranks };
}

/** Updates the ranks of a stage after the final results have been reordered or truncated. */
export function withResults(stage: LiveStage, before: readonly string[], after: readonly string[]): LiveStage {
  if (stage.documents === null) return stage;
  const rankOf = new Map(before.map((id, place) => [id, stage.ranks[place] ?? null]));
  return { ...stage, ranks: after.slice(0, MAX_RANKS).map((id) => rankOf.get(id) ?? null) };
}

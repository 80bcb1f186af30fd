/** What can only be judged against the pipeline and the clock: names, dimensions, times. */

import type { Rejection } from '../../rejection.ts';
import { DAY_MS, MINUTE_MS } from '../../time.ts';
import type { LiveQuery } from './live-query.ts';

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
    checkOccurredAt(query.occurredAt, limits.retentionDays, now) ??
    checkEmbedding(query.embedding, limits.dimensions)
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
      message: `occurred_at is more than ${retentionDays} days ago, the retention of this pipeline.`,
    };
  }
  return null;
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

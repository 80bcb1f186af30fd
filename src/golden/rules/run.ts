/** What a golden run is made of: how it asks and scores, what became of each query, what it came to. */
import type { Measure } from '../../ir/metric-key.ts';
import type { QueryOutcome, RetrievedDocument } from '../../model.ts';
import type { MetricSummary } from '../../stats/summary.ts';

/** Stored with the run, so that its numbers can be read years later. */
export interface RunSettings {
  /** Cut-offs of every measure; the retriever is asked for the largest. */
  readonly cutoffs: readonly number[];
  readonly relevanceLevel: number;
  readonly concurrency: number;
  readonly maxPerSecond: number;
  readonly onError: 'score_zero' | 'void';
  /** Share of failed queries above which `void` voids the run. */
  readonly errorBudget: number;
  readonly segmentKeys: readonly string[];
  readonly maxSegments: number;
}

export interface QueryAnswer {
  readonly queryId: string;
  readonly outcome: QueryOutcome;
  readonly documents: readonly RetrievedDocument[];
  readonly latencyMs: number | null;
  readonly attempts: number;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

export type OutcomeCounts = Readonly<Record<QueryOutcome, number>>;

/** Mean of a measure over the queries of a segment, with its bounds. */
export interface SegmentScore extends MetricSummary {
  readonly segment: string;
  readonly measure: Measure;
  readonly k: number;
}

/** Share of queries that the retriever failed, 0..1; 0 for no queries. */
export function failedShare(outcomes: OutcomeCounts): number {
  const failed = outcomes.error + outcomes.timeout;
  const total = failed + outcomes.ok + outcomes.empty;
  return total === 0 ? 0 : failed / total;
}

const SHORTEST_MS = 600_000;
/** The longest that a timer of Node.js can wait, 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * How long a run may take before it counts as failed, in milliseconds: three times what the rate limit alone needs,
 * plus every query timing out once; never under ten minutes and never over 24 days.
 */
export function runDeadlineMs(queries: number, settings: RunSettings, timeoutMs: number): number {
  const paced = (queries / settings.maxPerSecond) * 1000;
  const timedOut = Math.ceil(queries / settings.concurrency) * timeoutMs;
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, 3 * paced + timedOut));
}

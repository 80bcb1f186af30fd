import type { Baseline, BaselineSettings, InsufficientBaseline } from '../core/drift/baseline/baseline.ts';
import type { WindowMeasurement } from '../core/drift/coverage/measure-window.ts';
import type { BaselineScores } from '../core/drift/coverage/percentile.ts';
import type { Regions } from '../core/drift/coverage/regions.ts';
import type { ScoredQuery } from '../core/drift/coverage/scored-query.ts';
import type { StoreSnapshot } from '../core/drift/store/store-snapshot.ts';
import type { StoreTraffic } from '../core/drift/store/store-traffic.ts';
import type { FoundTopics, TopicBaseline } from '../core/drift/topics/find-topics.ts';
import type { Matrix } from '../core/vector/matrix.ts';

/** Queries and what their rows point into. The vectors are shared with the worker, and not changed meanwhile. */
export interface VectorisedQueries {
  readonly queries: readonly ScoredQuery[];
  readonly vectors: Matrix;
}

export interface DescribedStore {
  readonly snapshot: StoreSnapshot;
  /** Null without queries that could be held against it. */
  readonly traffic: StoreTraffic | null;
}

/**
 * The heavy passes over query vectors, off the event loop. Every call rejects with the reason of `signal` when it
 * aborts, and with RecalldError overloaded when too many wait already.
 */
export interface DensityCompute {
  buildBaseline(
    traffic: VectorisedQueries,
    settings: BaselineSettings,
    signal: AbortSignal,
  ): Promise<Baseline | InsufficientBaseline>;
  /** @throws RangeError when the vectors have another dimension than the baseline */
  measureWindow(
    traffic: VectorisedQueries,
    baseline: { readonly regions: Regions; readonly scores: BaselineScores },
    signal: AbortSignal,
  ): Promise<WindowMeasurement>;
  /** Familiarity of each query with the baseline, and the threshold of novelty; null with too small a baseline. */
  compareWithBaseline(
    queries: Matrix,
    baseline: Matrix,
    signal: AbortSignal,
  ): Promise<{ readonly familiarity: Float64Array; readonly novelBelow: number } | null>;
  /** @throws RangeError when the vectors have another dimension than the baseline */
  findTopics(traffic: VectorisedQueries, baseline: TopicBaseline, signal: AbortSignal): Promise<FoundTopics>;
  /** What a sample of a store holds, and how that meets what people ask; null when no vector has a direction. */
  describeStore(
    sample: Matrix,
    traffic: { readonly queries: Matrix; readonly weights: Float64Array },
    signal: AbortSignal,
  ): Promise<DescribedStore | null>;
}

/** Computations over query vectors that run in worker threads. */

import type { Matrix } from '../math/vector/matrix.ts';
import type { ThreadPool } from '../platform/threads/thread-pool.ts';
import { type BaselineSettings, buildBaseline } from './rules/baseline.ts';
import { familiarity, novelBelow } from './rules/cause.ts';
import { complaintTopics, type RatedQuery } from './rules/complaint-topics.ts';
import { findTopics, type TopicBaseline } from './rules/find-topics.ts';
import { measureWindow } from './rules/measure-window.ts';
import type { VectorisedQueries } from './rules/query-score.ts';
import { compareStoreWithTraffic, takeStoreSnapshot } from './rules/store-snapshot.ts';

/** Fixed random seed for clustering, so that equal vectors produce equal clusters. */
const CLUSTER_SEED = 1;

type WindowBaseline = Parameters<typeof measureWindow>[2];

export const densityTasks = {
  buildBaseline: (input: { traffic: VectorisedQueries; settings: BaselineSettings }) =>
    buildBaseline(input.traffic.queries, input.traffic.vectors, input.settings),
  measureWindow: (input: { traffic: VectorisedQueries; baseline: WindowBaseline }) =>
    measureWindow(input.traffic.queries, input.traffic.vectors, input.baseline),
  compareWithBaseline: (input: { queries: Matrix; baseline: Matrix }) => {
    const threshold = novelBelow(input.baseline);
    return threshold === null
      ? null
      : { familiarity: familiarity(input.queries, input.baseline), novelBelow: threshold };
  },
  findTopics: (input: { traffic: VectorisedQueries; baseline: TopicBaseline }) =>
    findTopics(input.traffic.queries, input.traffic.vectors, input.baseline, CLUSTER_SEED),
  findComplaints: (input: VectorisedComplaints) => complaintTopics(input.queries, input.vectors, CLUSTER_SEED),
  describeStore: (input: { sample: Matrix; queries: Matrix; weights: Float64Array }) => {
    const snapshot = takeStoreSnapshot(input.sample, CLUSTER_SEED);
    if (snapshot === null) return null;
    const traffic = compareStoreWithTraffic(input.sample, snapshot, input.queries, input.weights);
    return { snapshot, traffic };
  },
} as const;

/** Queries with and without negative feedback, one per row of the vectors. */
export interface VectorisedComplaints {
  readonly queries: readonly RatedQuery[];
  readonly vectors: Matrix;
}

/**
 * Runs computations over query vectors in worker threads. Every call rejects with the reason of `signal` when `signal`
 * aborts, and with RecalldError overloaded if too many calls are waiting.
 */
export function createDensityCompute(pool: ThreadPool<typeof densityTasks>) {
  return {
    buildBaseline: (traffic: VectorisedQueries, settings: BaselineSettings, signal: AbortSignal) =>
      pool.run('buildBaseline', { traffic, settings }, signal),

    /** @throws RangeError if the dimensions of the vectors differ from the baseline */
    measureWindow: (traffic: VectorisedQueries, baseline: WindowBaseline, signal: AbortSignal) =>
      pool.run('measureWindow', { traffic, baseline }, signal),

    /**
     * Returns the familiarity of each query with the baseline, and the novelty threshold; null if the baseline is too
     * small.
     */
    compareWithBaseline: (queries: Matrix, baseline: Matrix, signal: AbortSignal) =>
      pool.run('compareWithBaseline', { queries, baseline }, signal),

    /** @throws RangeError if the dimensions of the vectors differ from the baseline */
    findTopics: (traffic: VectorisedQueries, baseline: TopicBaseline, signal: AbortSignal) =>
      pool.run('findTopics', { traffic, baseline }, signal),

    findComplaints: (rated: VectorisedComplaints, signal: AbortSignal) => pool.run('findComplaints', rated, signal),

    /** Describes a store sample and compares it with live queries; null if no vector has a direction. */
    describeStore: (
      sample: Matrix,
      traffic: { readonly queries: Matrix; readonly weights: Float64Array },
      signal: AbortSignal,
    ) => pool.run('describeStore', { sample, ...traffic }, signal),
  };
}

export type DensityCompute = ReturnType<typeof createDensityCompute>;

/** Runs the computations in the calling thread, which suits commands: they do nothing else at the same time. */
export const computeOfCommands = createDensityCompute({
  run: async (task, input) => densityTasks[task](input as never) as never,
  close: async () => undefined,
});

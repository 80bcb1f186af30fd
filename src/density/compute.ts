/** Computations in worker threads. Comparisons with a baseline throw RangeError if the vectors differ in dimension. */

import type { Matrix } from '../math/vector/matrix.ts';
import type { ThreadPool } from '../platform/threads/thread-pool.ts';
import { type BaselineSettings, buildBaseline } from './rules/baseline.ts';
import { familiarity, novelBelow } from './rules/cause.ts';
import { complaintTopics, type RatedQuery } from './rules/complaint-topics.ts';
import { findTopics, type TopicBaseline } from './rules/find-topics.ts';
import { measureWindow } from './rules/measure-window.ts';
import type { VectorisedQueries } from './rules/query-score.ts';
import { compareStoreWithTraffic, takeStoreSnapshot } from './rules/store-snapshot.ts';

/** Fixed random seed, so that clustering the same vectors again produces the same clusters. */
const CLUSTER_SEED = 1;

export const densityTasks = {
  buildBaseline: (input: { traffic: VectorisedQueries; settings: BaselineSettings }) =>
    buildBaseline(input.traffic.queries, input.traffic.vectors, input.settings),
  measureWindow: (input: { traffic: VectorisedQueries; baseline: Parameters<typeof measureWindow>[2] }) =>
    measureWindow(input.traffic.queries, input.traffic.vectors, input.baseline),
  /** Familiarity of each query with the baseline, and the novelty threshold; null if the baseline is too small. */
  compareWithBaseline: (input: { queries: Matrix; baseline: Matrix }) => {
    const threshold = novelBelow(input.baseline);
    return threshold === null
      ? null
      : { familiarity: familiarity(input.queries, input.baseline), novelBelow: threshold };
  },
  findTopics: (input: { traffic: VectorisedQueries; baseline: TopicBaseline }) =>
    findTopics(input.traffic.queries, input.traffic.vectors, input.baseline, CLUSTER_SEED),
  findComplaints: (input: { queries: readonly RatedQuery[]; vectors: Matrix }) =>
    complaintTopics(input.queries, input.vectors, CLUSTER_SEED),
  /**
   * Describes a store sample and compares it with live queries. Returns null if every vector of the sample is zero or
   * not finite.
   */
  describeStore: (input: { sample: Matrix; queries: Matrix; weights: Float64Array }) => {
    const snapshot = takeStoreSnapshot(input.sample, CLUSTER_SEED);
    if (snapshot === null) return null;
    const traffic = compareStoreWithTraffic(input.sample, snapshot, input.queries, input.weights);
    return { snapshot, traffic };
  },
} as const;

export type DensityCompute = Pick<ThreadPool<typeof densityTasks>, 'run'>;

/** Runs the computations in the calling thread, because a command has no other work to do in the meantime. */
export const computeOfCommands: DensityCompute = {
  run: async (task, input) => densityTasks[task](input as never) as never,
};

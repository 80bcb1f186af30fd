/** What threads compute of query density. */

import type { Matrix } from '../vector/matrix.ts';
import { type BaselineSettings, buildBaseline } from './rules/baseline.ts';
import { familiarity, novelBelow } from './rules/cause.ts';
import { findTopics, type TopicBaseline } from './rules/find-topics.ts';
import { measureWindow } from './rules/measure-window.ts';
import type { BaselineScores, VectorisedQueries } from './rules/query-score.ts';
import type { Regions } from './rules/regions.ts';
import { compareStoreWithTraffic, takeStoreSnapshot } from './rules/store-snapshot.ts';

/** Fixed, so that equal vectors have equal clusters. */
const CLUSTER_SEED = 1;

export const densityTasks = {
  buildBaseline: (input: { traffic: VectorisedQueries; settings: BaselineSettings }) =>
    buildBaseline(input.traffic.queries, input.traffic.vectors, input.settings),
  measureWindow: (input: {
    traffic: VectorisedQueries;
    baseline: { regions: Regions; scores: BaselineScores };
  }) => measureWindow(input.traffic.queries, input.traffic.vectors, input.baseline),
  compareWithBaseline: (input: { queries: Matrix; baseline: Matrix }) => {
    const threshold = novelBelow(input.baseline);
    return threshold === null
      ? null
      : { familiarity: familiarity(input.queries, input.baseline), novelBelow: threshold };
  },
  findTopics: (input: { traffic: VectorisedQueries; baseline: TopicBaseline }) =>
    findTopics(input.traffic.queries, input.traffic.vectors, input.baseline, CLUSTER_SEED),
  describeStore: (input: { sample: Matrix; queries: Matrix; weights: Float64Array }) => {
    const snapshot = takeStoreSnapshot(input.sample, CLUSTER_SEED);
    if (snapshot === null) return null;
    const traffic = compareStoreWithTraffic(input.sample, snapshot, input.queries, input.weights);
    return { snapshot, traffic };
  },
} as const;

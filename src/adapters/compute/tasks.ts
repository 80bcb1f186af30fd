/** What a worker can be asked to compute. */

import { compareRuns, type RunsToCompare } from '../../core/comparison/compare-runs.ts';
import { measureNoise } from '../../core/comparison/rerun-noise.ts';
import type { ComparisonSettings } from '../../core/comparison/settings.ts';
import { type BaselineSettings, buildBaseline } from '../../core/drift/baseline/baseline.ts';
import { familiarity, novelBelow } from '../../core/drift/cause/novelty.ts';
import { measureWindow } from '../../core/drift/coverage/measure-window.ts';
import type { BaselineScores } from '../../core/drift/coverage/percentile.ts';
import type { Regions } from '../../core/drift/coverage/regions.ts';
import { takeStoreSnapshot } from '../../core/drift/store/store-snapshot.ts';
import { compareStoreWithTraffic } from '../../core/drift/store/store-traffic.ts';
import { findTopics, type TopicBaseline } from '../../core/drift/topics/find-topics.ts';
import type { QueryScores } from '../../core/golden/query-scores.ts';
import { summarizeSegments } from '../../core/golden/score-run.ts';
import type { Segment } from '../../core/golden/segments.ts';
import type { MetricKey } from '../../core/ir/metric-key.ts';
import type { Matrix } from '../../core/vector/matrix.ts';
import type { VectorisedQueries } from '../../ports/density-compute.ts';

/** Fixed, so that equal vectors have equal clusters. */
const CLUSTER_SEED = 1;

export const tasks = {
  summarizeSegments: (input: { perQuery: QueryScores; segments: readonly Segment[] }) =>
    summarizeSegments(input.perQuery, input.segments),
  compareRuns: (input: { runs: RunsToCompare; settings: ComparisonSettings }) =>
    compareRuns(input.runs, input.settings),
  measureNoise: (input: {
    keys: readonly MetricKey[];
    runs: readonly (readonly Float64Array[])[];
    segments: readonly Segment[];
  }) => measureNoise(input.keys, input.runs, input.segments),
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

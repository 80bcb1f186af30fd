/** What a worker can be asked to compute. */

import { type BaselineSettings, buildBaseline } from '../../density/rules/baseline.ts';
import { familiarity, novelBelow } from '../../density/rules/cause.ts';
import { findTopics, type TopicBaseline } from '../../density/rules/find-topics.ts';
import { measureWindow } from '../../density/rules/measure-window.ts';
import type { BaselineScores, VectorisedQueries } from '../../density/rules/query-score.ts';
import type { Regions } from '../../density/rules/regions.ts';
import { compareStoreWithTraffic, takeStoreSnapshot } from '../../density/rules/store-snapshot.ts';
import { compareRuns, type RunsToCompare } from '../../golden/rules/comparison/compare-runs.ts';
import { measureNoise } from '../../golden/rules/comparison/rerun-noise.ts';
import type { ComparisonSettings } from '../../golden/rules/comparison/settings.ts';
import type { QueryScores } from '../../golden/rules/query-scores.ts';
import { summarizeSegments } from '../../golden/rules/score-run.ts';
import type { Segment } from '../../golden/rules/segments.ts';
import type { MetricKey } from '../../ir/metric-key.ts';
import type { Matrix } from '../../vector/matrix.ts';

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

/** What threads compute of golden runs. */

import type { MetricKey } from '../ir/metric-key.ts';
import { compareRuns, type RunsToCompare } from './rules/comparison/compare-runs.ts';
import { measureNoise } from './rules/comparison/rerun-noise.ts';
import type { ComparisonSettings } from './rules/comparison/settings.ts';
import type { QueryScores } from './rules/query-scores.ts';
import { summarizeSegments } from './rules/score-run.ts';
import type { Segment } from './rules/segments.ts';

export const goldenTasks = {
  summarizeSegments: (input: { perQuery: QueryScores; segments: readonly Segment[] }) =>
    summarizeSegments(input.perQuery, input.segments),
  compareRuns: (input: { runs: RunsToCompare; settings: ComparisonSettings }) =>
    compareRuns(input.runs, input.settings),
  measureNoise: (input: {
    keys: readonly MetricKey[];
    runs: readonly (readonly Float64Array[])[];
    segments: readonly Segment[];
  }) => measureNoise(input.keys, input.runs, input.segments),
} as const;

/** What threads compute of golden runs. */
import type { MetricKey } from '../ir/metric-key.ts';
import { compareRuns, type RunsToCompare } from './rules/compare-runs.ts';
import { measureNoise } from './rules/rerun-noise.ts';
import { type QueryScores, summarizeSegments } from './rules/score-run.ts';
import type { Segment } from './rules/segments.ts';
import type { ComparisonSettings } from './rules/verdict.ts';

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

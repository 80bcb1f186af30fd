/** Paired comparison of two runs over all judged queries, and over segments of them. */

import { formatMetricKey, type MetricKey } from '../../../ir/metric-key.ts';
import { ALL_SEGMENT } from '../../../model.ts';
import type { Segment } from '../segments.ts';
import { compareMetric, type MetricComparison } from './compare-metric.ts';
import type { NoiseTable } from './rerun-noise.ts';
import type { ComparisonSettings } from './settings.ts';
import { type ComparisonVerdict, overallVerdict } from './verdict.ts';

/** Scores of a run: one column per metric, one row per judged query; a query without results scores 0. */
export type ScoreColumns = readonly ArrayLike<number>[];

export interface RunsToCompare {
  readonly keys: readonly MetricKey[];
  /** Columns in the order of the keys, rows in the order of the judged queries, the same in every run. */
  readonly baseline: ScoreColumns;
  readonly candidate: ScoreColumns;
  /** The noise of a retriever that does not always answer the same; left out, there is none. */
  readonly noise?: NoiseTable;
  readonly segments?: readonly Segment[];
}

export interface SegmentComparison {
  /** `all`, or the name of a segment. */
  readonly segment: string;
  readonly n: number;
  /** In the order of the keys. */
  readonly metrics: readonly MetricComparison[];
  /** On all metrics together. */
  readonly verdict: ComparisonVerdict;
}

export interface RunComparison extends SegmentComparison {
  /** Each is judged by itself: p is not adjusted for the number of segments, and the verdict on `all` ignores them. */
  readonly segments: readonly SegmentComparison[];
}

/**
 * Compares two runs metric by metric over all judged queries, and over each segment that has queries.
 *
 * @throws RangeError without queries
 */
export function compareRuns(runs: RunsToCompare, settings: ComparisonSettings): RunComparison {
  const everything = Array.from(runs.baseline[0] ?? [], (_, row) => row);
  const segments = (runs.segments ?? []).filter(({ members }) => members.length > 0);
  return {
    ...compareRows(runs, ALL_SEGMENT, everything, settings),
    segments: segments.map(({ name, members }) => compareRows(runs, name, members, settings)),
  };
}

function compareRows(
  { keys, baseline, candidate, noise = {} }: RunsToCompare,
  segment: string,
  rows: readonly number[],
  settings: ComparisonSettings,
): SegmentComparison {
  const metrics = keys.map((key, column) => {
    const scoresOf = (run: ScoreColumns): Float64Array =>
      Float64Array.from(rows, (row) => run[column]?.[row] ?? 0);
    const noiseOfMetric = noise[segment]?.[formatMetricKey(key)] ?? null;
    return compareMetric(key, scoresOf(baseline), scoresOf(candidate), noiseOfMetric, settings);
  });
  return { segment, n: rows.length, metrics, verdict: overallVerdict(metrics, settings) };
}

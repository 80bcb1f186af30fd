import { formatMetricKey } from '../../../ir/metric-key.ts';
import { pairedTSampleSize } from '../../../stats/paired-power.ts';
import type { SegmentComparison } from './compare-runs.ts';
import { type ComparisonSettings, minEffectOf, testPlan } from './settings.ts';

/** Below this a set has no real value for comparisons (Sparck Jones and van Rijsbergen 1976 put it at 75). */
const FEWEST_QUERIES = 100;
const RECOMMENDED_QUERIES = 300;

/**
 * What to know about the size of the golden set, in sentences: a warning under 100 queries, and for each metric whose
 * least difference that matters is too small to be found, how many queries would find it if the differences spread
 * as they did here. Empty when the set is large enough.
 */
export function adviseOnSetSize(comparison: SegmentComparison, settings: ComparisonSettings): string[] {
  const { n, metrics } = comparison;
  const queries = n === 1 ? '1 query is' : `${n} queries are`;
  const small =
    n < FEWEST_QUERIES
      ? [
          `${queries} few: have at least ${FEWEST_QUERIES}, better ${RECOMMENDED_QUERIES}, ` +
            'before you trust a verdict.',
        ]
      : [];
  const blind = metrics.flatMap(({ key, smallestDetectableDifference: smallest, standardDeviation }) => {
    const minEffect = minEffectOf(key.measure, settings);
    if (minEffect === 0 || smallest === null || smallest <= minEffect || standardDeviation === 0) return [];
    const needed = pairedTSampleSize(minEffect, standardDeviation, testPlan(settings));
    const remedy = needed > n ? `; about ${needed} queries would tell ${minEffect}` : '';
    return [
      `${formatMetricKey(key)}: differences below ${smallest.toFixed(3)} cannot be told from luck with ` +
        `${n} queries${remedy}.`,
    ];
  });
  return [...small, ...blind];
}

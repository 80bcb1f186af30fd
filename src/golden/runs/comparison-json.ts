/** Converts comparisons to the JSON that commands print and the API returns. Loads no schema. */

import { ALL_SEGMENT } from '../../core/model.ts';
import { formatMetricKey } from '../../math/ir/metric-key.ts';
import { finiteOrNull } from '../../math/stats/descriptive.ts';
import { type ComparedRuns, segmentOf } from '../rules/compare-golden-runs.ts';
import type { MetricComparison } from '../rules/compare-metric.ts';
import { adviseOnSetSize, type SegmentComparison } from '../rules/compare-runs.ts';
import { storedComparison } from '../rules/verdict.ts';
import type { ComparedJson, ComparisonJson, MetricComparisonJson } from '../run-summary-schema.ts';

export function comparedJson({ against, differences }: ComparedRuns): ComparedJson {
  const all = segmentOf(differences);
  const segments = [...new Set(differences.map(({ segment }) => segment))];
  return {
    run_id: against,
    excluded: differences[0]?.excluded ?? 0,
    ...comparisonJson(all),
    // Computes the advice only on access, because the computation takes tens of milliseconds.
    get advice() {
      return adviseOnSetSize(all, storedComparison);
    },
    segments: Object.fromEntries(
      segments
        .filter((segment) => segment !== ALL_SEGMENT)
        .map((segment) => [segment, comparisonJson(segmentOf(differences, segment))]),
    ),
  };
}

export function comparisonJson({ n, metrics, primary, verdict }: SegmentComparison): ComparisonJson {
  return {
    n,
    metrics: Object.fromEntries(metrics.map((metric) => [formatMetricKey(metric.key), metricComparisonJson(metric)])),
    primary,
    verdict,
    smallest_detectable_difference: Object.fromEntries(
      metrics.map((metric) => [formatMetricKey(metric.key), metric.smallestDetectableDifference]),
    ),
  };
}

export function metricComparisonJson(metric: MetricComparison): MetricComparisonJson {
  return {
    baseline: metric.baseline,
    candidate: metric.candidate,
    difference: metric.difference,
    ci_low: finiteOrNull(metric.ciLow),
    ci_high: finiteOrNull(metric.ciHigh),
    ci_method: metric.ciMethod,
    t: metric.t,
    df: metric.df,
    p_t: metric.pT,
    p_randomization: metric.pRandomization,
    p_method: metric.pMethod,
    ...(metric.p === metric.pRandomization ? {} : { p: metric.p }),
    ...(metric.mcnemarP === null ? {} : { mcnemar_p: metric.mcnemarP }),
    wins: metric.wins,
    losses: metric.losses,
    ties: metric.ties,
    verdict: metric.verdict,
  };
}

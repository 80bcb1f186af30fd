/** What `compare --json` prints. */

import { formatMetricKey } from '../../ir/metric-key.ts';
import type { MetricComparison } from '../rules/compare-metric.ts';
import type { SegmentComparison } from '../rules/compare-runs.ts';
import type { ComparisonVerdict } from '../rules/verdict.ts';

export interface MetricComparisonJson {
  readonly baseline: number;
  readonly candidate: number;
  readonly difference: number;
  /** Null where there is no bound: dcg, when so few queries tell nothing. */
  readonly ci_low: number | null;
  readonly ci_high: number | null;
  readonly ci_method: MetricComparison['ciMethod'];
  /** Null where it is not defined: equal differences that are not zero, and one query. */
  readonly t: number | null;
  readonly df: number;
  readonly p_t: number;
  readonly p_randomization: number;
  readonly p_method: MetricComparison['pMethod'];
  /** Only of hit_rate. */
  readonly mcnemar_p?: number;
  readonly wins: number;
  readonly losses: number;
  readonly ties: number;
  readonly verdict: ComparisonVerdict;
}

export interface ComparisonJson {
  readonly n: number;
  readonly metrics: Readonly<Record<string, MetricComparisonJson>>;
  readonly verdict: ComparisonVerdict;
  /** Null for one query. */
  readonly smallest_detectable_difference: Readonly<Record<string, number | null>>;
}

export function comparisonJson({ n, metrics, verdict }: SegmentComparison): ComparisonJson {
  return {
    n,
    metrics: Object.fromEntries(
      metrics.map((metric) => [formatMetricKey(metric.key), metricComparisonJson(metric)]),
    ),
    verdict,
    smallest_detectable_difference: Object.fromEntries(
      metrics.map((metric) => [formatMetricKey(metric.key), metric.smallestDetectableDifference]),
    ),
  };
}

function metricComparisonJson(metric: MetricComparison): MetricComparisonJson {
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
    ...(metric.mcnemarP === null ? {} : { mcnemar_p: metric.mcnemarP }),
    wins: metric.wins,
    losses: metric.losses,
    ties: metric.ties,
    verdict: metric.verdict,
  };
}

function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

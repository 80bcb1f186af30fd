/** Converts scores to JSON. This file has few imports, because imports delay the start of `recalld eval`. */

import { ALL_SEGMENT } from '../../core/model.ts';
import { formatMetricKey } from '../../math/ir/metric-key.ts';
import { finiteOrNull, type MetricSummary } from '../../math/stats/descriptive.ts';
import type { SegmentScore } from '../rules/run.ts';
import type { MetricJson } from '../run-summary-schema.ts';

export function metricsOf(
  scores: readonly SegmentScore[],
  segment: string = ALL_SEGMENT,
): Readonly<Record<string, SegmentScore>> {
  return Object.fromEntries(
    scores.filter((score) => score.segment === segment).map((score) => [formatMetricKey(score), score]),
  );
}

export function metricJson({ mean, n, ciLow, ciHigh, ciMethod }: MetricSummary): MetricJson {
  return { mean, n, ci_low: ciLow, ci_high: finiteOrNull(ciHigh), ci_method: ciMethod };
}

/** What `golden run --json` and `runs show --json` print. */
import type { CheckResult } from '../core/checks/floor.ts';
import type { OutcomeCounts, SegmentScore } from '../core/golden/run.ts';
import { formatMetricKey } from '../core/ir/metric-key.ts';
import { ALL_SEGMENT, type RunStatus, type Verdict } from '../core/model.ts';
import type { MetricSummary } from '../core/stats/summary.ts';

export interface MetricJson {
  readonly mean: number;
  readonly n: number;
  readonly ci_low: number;
  readonly ci_high: number;
  readonly ci_method: MetricSummary['ciMethod'];
}

export interface RunSummaryJson {
  readonly run_id: string;
  readonly pipeline: string;
  readonly golden_set: string;
  readonly golden_set_version: number;
  readonly status: RunStatus;
  readonly reason: string | null;
  readonly started_at: string;
  readonly finished_at: string | null;
  /** `stale` is null: whether judged documents still exist is not known without a vector store. */
  readonly queries: OutcomeCounts & { readonly total: number; readonly stale: null };
  readonly metrics: Readonly<Record<string, MetricJson>>;
  readonly segments: Readonly<Record<string, Readonly<Record<string, MetricJson>>>>;
  /** Null: no baseline is pinned. */
  readonly baseline: null;
  readonly checks: readonly CheckResult[];
  readonly verdict: Verdict;
}

/** Scores of one segment by metric key, `{"ndcg@10": {...}}`. */
export function metricsJson(
  scores: readonly SegmentScore[],
  segment: string = ALL_SEGMENT,
): Record<string, MetricJson> {
  return Object.fromEntries(
    scores
      .filter((score) => score.segment === segment)
      .map((score) => [formatMetricKey(score), metricJson(score)]),
  );
}

export function metricJson({ mean, n, ciLow, ciHigh, ciMethod }: MetricSummary): MetricJson {
  return { mean, n, ci_low: ciLow, ci_high: ciHigh, ci_method: ciMethod };
}

/** What `golden run --json` and `runs show --json` print. */

import type { CheckResult } from '../../checks/rules/check-result.ts';
import { formatMetricKey } from '../../ir/metric-key.ts';
import { ALL_SEGMENT, type RunStatus, type Verdict } from '../../model.ts';
import type { MetricSummary } from '../../stats/summary.ts';
import { type RunDifference, storedComparison, verdictOnRun } from '../rules/compare-golden-runs.ts';
import { adviseOnSetSize } from '../rules/compare-runs.ts';
import type { OutcomeCounts, SegmentScore } from '../rules/run.ts';
import { type ComparisonJson, comparisonJson } from './comparison.ts';

export interface MetricJson {
  readonly mean: number;
  readonly n: number;
  readonly ci_low: number;
  readonly ci_high: number;
  readonly ci_method: MetricSummary['ciMethod'];
}

export interface BaselineJson extends ComparisonJson {
  readonly run_id: string;
  /** Queries left out, because a label of theirs is stale or the set versions differ. */
  readonly excluded: number;
  readonly advice: readonly string[];
  readonly segments: Readonly<Record<string, ComparisonJson>>;
}

export interface RunSummaryJson {
  readonly run_id: string;
  readonly pipeline: string;
  readonly golden_set: string;
  readonly golden_set_version: number;
  /** `full`: the whole set; `sentinel`: a few queries of it, which have no scores of their own. */
  readonly purpose: 'full' | 'sentinel';
  readonly status: RunStatus;
  readonly reason: string | null;
  /** Why it runs outside its schedule; null when it does not. */
  readonly cause: string | null;
  /** True while the run goes on: its metrics are those of the queries that have an answer so far. */
  readonly provisional: boolean;
  readonly started_at: string;
  readonly finished_at: string | null;
  /** `stale`: queries whose every relevant document is gone; null when nobody could look. */
  readonly queries: OutcomeCounts & { readonly total: number; readonly stale: number | null };
  readonly metrics: Readonly<Record<string, MetricJson>>;
  readonly segments: Readonly<Record<string, Readonly<Record<string, MetricJson>>>>;
  readonly labels: {
    readonly probed: number | null;
    readonly stale: number | null;
    readonly reason: string | null;
  };
  /** Against the pinned run, over the queries whose labels are alive; null when none is pinned. */
  readonly baseline: BaselineJson | null;
  /** Against the last run before the store or the model changed; null when neither did. */
  readonly deployment: BaselineJson | null;
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

/** A run against another one, over all queries with each segment below. */
export function baselineJson(runId: string, differences: readonly RunDifference[]): BaselineJson {
  const segments = [...new Set(differences.map(({ segment }) => segment))];
  const compare = (segment: string) => {
    const metrics = differences.filter((found) => found.segment === segment);
    return { segment, n: metrics[0]?.n ?? 0, metrics, verdict: verdictOnRun(metrics) };
  };
  const all = compare(ALL_SEGMENT);
  return {
    run_id: runId,
    excluded: differences[0]?.excluded ?? 0,
    ...comparisonJson(all),
    // Takes tens of milliseconds, so it is worked out for those who read it.
    get advice() {
      return adviseOnSetSize(all, storedComparison);
    },
    segments: Object.fromEntries(
      segments
        .filter((segment) => segment !== ALL_SEGMENT)
        .map((segment) => [segment, comparisonJson(compare(segment))]),
    ),
  };
}

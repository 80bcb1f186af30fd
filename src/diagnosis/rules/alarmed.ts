/** What the checks in alarm measure: what a cause has to explain. */
import { isBreach } from '../../checks/rules/check-result.ts';
import type { CheckState } from '../../checks/rules/check-state.ts';
import type { RunMetricKey } from '../../golden/rules/score-run.ts';
import { parseMetricKey } from '../../ir/metric-key.ts';
import type { JudgedMeasureName } from '../../measures/rules/measure-table.ts';
import type { EffectKind } from './explains.ts';

/** Of checks with a fixed threshold, which the config has on no other measure. */
const effectOfMeasure: Readonly<Record<JudgedMeasureName, EffectKind>> = {
  zero_results_ratio: 'live_empty',
  error_ratio: 'live_errors',
  context_repeated_ratio: 'relevance',
  feedback_positive_ratio: 'feedback',
  clicked_query_ratio: 'feedback',
  live_ndcg: 'relevance',
  live_precision: 'relevance',
  live_hit_rate: 'relevance',
  live_mrr: 'relevance',
  index_missing_ratio: 'index',
  index_not_retrievable_ratio: 'index',
  index_orphaned_ratio: 'index',
  index_superseded_ratio: 'index',
  index_lag_seconds: 'index',
  index_lag_median_seconds: 'index',
  index_other_model_ratio: 'index',
  query_density: 'density',
  query_uncovered_excess_ratio: 'density',
  repeat_density: 'density',
  ann_recall: 'recall',
  store_sample_age_seconds: 'runs',
  retriever_error_ratio: 'failures',
  retriever_latency_p95_seconds: 'latency',
  rbo: 'score',
  false_answer_ratio: 'score',
  candidates_recall: 'score',
  golden_representativeness: 'density',
  golden_run_age_seconds: 'runs',
};

export interface Alarmed {
  readonly effects: readonly EffectKind[];
  /** The measure of a golden run that is in alarm, of several a critical one; null when none is. */
  readonly key: RunMetricKey | null;
}

/** @param checks of all pipelines */
export function alarmedBy(pipeline: string, checks: readonly CheckState[]): Alarmed {
  const breached = checks.filter((check) => check.pipeline === pipeline && isBreach(check.verdict));
  const scored = breached.filter(({ kind }) => kind === 'floor' || kind === 'regression');
  const worst = scored.find(({ verdict }) => verdict === 'critical') ?? scored[0];
  return { effects: [...new Set(breached.map(effectOf))], key: worst === undefined ? null : keyOf(worst.measure) };
}

function effectOf({ kind, measure }: CheckState): EffectKind {
  switch (kind) {
    case 'floor':
    case 'regression':
      return 'score';
    case 'stale_labels':
      return 'labels';
    case 'forbidden_results':
      return 'forbidden';
    case 'density_drift':
      return 'density';
    case 'threshold':
      return effectOfMeasure[measure as JudgedMeasureName];
  }
}

function keyOf(measure: string): RunMetricKey | null {
  const { k, ...key } = parseMetricKey(measure);
  return k === null ? null : { ...key, k };
}

/** Firing alerts of a pipeline, as the effects that a cause must explain. */
import type { CheckState } from '../../../checks/rules/check-state.ts';
import { isBreach } from '../../../checks/rules/threshold.ts';
import type { RunMetricKey } from '../../../golden/rules/score-run.ts';
import { parseMetricKey } from '../../../math/ir/metric-key.ts';
import type { ThresholdMeasureName, WatchedMeasureName } from '../../../measures/rules/measure-table.ts';
import type { EffectKind } from './effects.ts';

/** Effects, keyed by measure, for checks with a fixed threshold and for change detection. */
const effectOfMeasure: Readonly<Record<ThresholdMeasureName | WatchedMeasureName, EffectKind>> = {
  zero_results_ratio: 'live_empty',
  error_ratio: 'live_errors',
  latency_p95_seconds: 'latency',
  results_per_answer: 'results',
  context_characters: 'context',
  context_repeated_ratio: 'repeats',
  top_query_ratio: 'traffic',
  repeated_query_ratio: 'traffic',
  main_language_ratio: 'traffic',
  query_characters: 'traffic',
  malformed_query_ratio: 'traffic',
  plain_query_ratio: 'traffic',
  feedback_positive_ratio: 'feedback',
  clicked_query_ratio: 'feedback',
  episode_retrievals: 'episode_calls',
  episode_repeats: 'episode_repeats',
  episode_repeat_ratio: 'episode_repeats',
  episode_new_documents_ratio: 'episode_repeats',
  episode_empty_ratio: 'live_empty',
  rewrite_answer_ratio: 'rewritten_queries',
  click_through_ratio: 'feedback',
  clicked_reciprocal_rank: 'feedback',
  clicks_over_expected_ratio: 'feedback',
  live_ndcg: 'relevance',
  live_precision: 'relevance',
  live_hit_rate: 'relevance',
  live_mrr: 'relevance',
  episode_hit_rate: 'relevance',
  rewrite_gain: 'rewritten_queries',
  index_missing_ratio: 'index_missing',
  index_not_retrievable_ratio: 'index_retrieval',
  index_orphaned_ratio: 'index_orphans',
  index_superseded_ratio: 'index_orphans',
  index_lag_seconds: 'index_late',
  index_lag_median_seconds: 'index_late',
  index_other_model_ratio: 'index_models',
  query_density: 'density',
  query_uncovered_excess_ratio: 'density',
  repeat_density: 'density',
  ann_recall: 'recall',
  store_queries_apart_ratio: 'density',
  store_chunks_unqueried_ratio: 'density',
  store_query_divergence: 'density',
  store_centroid_shift: 'store',
  store_length_ratio: 'store',
  store_duplicates_ratio: 'repeats',
  store_sample_age_seconds: 'runs',
  retriever_error_ratio: 'failures',
  retriever_latency_p95_seconds: 'latency',
  rbo: 'score',
  false_answer_ratio: 'score',
  candidates_recall: 'score',
  golden_context_characters: 'context',
  golden_context_repeated_ratio: 'repeats',
  golden_representativeness: 'density',
  golden_run_age_seconds: 'runs',
};

const effectsOfChanges: Readonly<Record<string, EffectKind | undefined>> = effectOfMeasure;

export type FiringSummary = ReturnType<typeof summarizeFiring>;

/**
 * @param checks check states of all pipelines
 * @param withoutData names of alerts that still fire although their check has no data now
 * @param changed names of measures of the pipeline that left their normal range, or that have a separate alert for a
 *   drop
 */
export function summarizeFiring(
  pipeline: string,
  checks: readonly CheckState[],
  changed: readonly string[],
  withoutData: readonly string[] = [],
) {
  const own = checks.filter((check) => check.pipeline === pipeline);
  const breached = own.filter(({ verdict }) => isBreach(verdict));
  const kept = own.filter(({ name, verdict }) => verdict === 'no_data' && withoutData.includes(name));
  const scored = breached.filter(({ kind }) => kind === 'floor' || kind === 'regression');
  const worst = scored.find(({ verdict }) => verdict === 'critical') ?? scored[0];
  const effects = [...breached, ...kept]
    .map(effectOf)
    .concat(changed.flatMap((measure) => effectsOfChanges[measure] ?? []));
  return {
    effects: [...new Set(effects)],
    /** Key of the failing measure of a golden run, preferably of a critical one; null if no measure fails. */
    key: worst === undefined ? null : keyOf(worst.measure),
    /** The threshold of the check if the measure is below it; otherwise null. */
    floor: worst?.kind === 'floor' ? worst.threshold : null,
  };
}

function effectOf({ kind, measure }: CheckState): EffectKind {
  switch (kind) {
    case 'floor':
    case 'regression':
      return 'score';
    case 'stale_labels':
      return 'labels';
    case 'forbidden_results':
    case 'isolation':
      return 'forbidden';
    case 'density_drift':
      return 'density';
    case 'threshold':
      return effectOfMeasure[measure as ThresholdMeasureName];
  }
}

function keyOf(measure: string): RunMetricKey | null {
  const { k, ...key } = parseMetricKey(measure);
  return k === null ? null : { ...key, k };
}

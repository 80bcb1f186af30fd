/** Alerts on the store, embedder and index of a pipeline, and alerts that fire if measurements are missing. */
import { type AlertRule, increaseBy, maxBy, type RuleGroup } from '../../platform/metrics/alert-rules.ts';

const pipeline = ['pipeline'] as const;
const name = '{{ $labels.pipeline }}';

/**
 * Measures that are updated every six hours or less often, because they come from a store sample, a density baseline or
 * a golden run.
 */
const rareMeasures =
  'store_(sample_vectors|centroid_shift|query_divergence|agreement|.+_ratio)|missed_(foreign|changed)_ratio|returned_absent_ratio|repeat_density';

/** An alert fires if the index returns less than this share of the exact nearest neighbors. */
export const MIN_ANN_RECALL = 0.9;

/** Density threshold of the alert level `page`. */
const MIN_REPEAT_DENSITY = 0.95;

const alerts: readonly AlertRule[] = [
  {
    alert: 'RecalldStoreShrank',
    severity: 'warning',
    expr: `${maxBy(pipeline, 'recalld_store_vectors')}
< 0.8 * ${maxBy(pipeline, 'recalld_store_vectors', {}, '1d')}`,
    for: '10m',
    keepFiringFor: '30m',
    by: pipeline,
    dashboard: 'store',
    summary: `${name}: vector store shrank`,
    description: `The vector store of ${name} has {{ $value | humanize }} vectors, less than 80 % of the number one day ago.`,
  },
  {
    alert: 'RecalldIndexRecallLow',
    severity: 'warning',
    expr: `${maxBy(['pipeline', 'k'], 'recalld_ann_recall_ratio_ci_high')} < ${MIN_ANN_RECALL}`,
    for: '5m',
    keepFiringFor: '2h',
    by: ['pipeline', 'k'],
    dashboard: 'store',
    summary: `${name}: low index recall`,
    description: `The index of ${name} returns at most {{ $value | humanizePercentage }} (upper bound of the 95 % CI) of the {{ $labels.k }} exact nearest neighbors; the minimum is 90 %.`,
  },
  {
    alert: 'RecalldStoreLostContent',
    severity: 'warning',
    expr: `${maxBy(pipeline, 'recalld_repeat_density_ci_high')} < ${MIN_REPEAT_DENSITY}`,
    for: '10m',
    keepFiringFor: '30m',
    by: pipeline,
    dashboard: 'density',
    summary: `${name}: vector store lost content that users ask for`,
    description: `The store covers replayed baseline queries at most {{ $value | humanizePercentage }} as well as before (upper bound of the 95 % CI). The queries are the same, so content is missing.`,
  },
  {
    alert: 'RecalldEmbedderChanged',
    severity: 'warning',
    expr: `${maxBy(pipeline, 'recalld_embedding_canary_median_similarity')} < 0.995
or ${maxBy(pipeline, 'recalld_embedding_canary_min_similarity')} < 0.98`,
    for: '5m',
    keepFiringFor: '30m',
    by: pipeline,
    dashboard: 'store',
    summary: `${name}: embedding canary changed`,
    description: `The embedder of ${name} now returns different vectors for the canary texts: cosine {{ printf "%.2g" $value }} to the first vectors (1 for an unchanged model). The embedding model has probably changed.`,
  },
  {
    alert: 'RecalldProbesStopped',
    severity: 'warning',
    expr: `time() - ${maxBy(['pipeline', 'measure'], 'recalld_probe_last_success_timestamp_seconds', { measure: { differsFrom: rareMeasures } })} > 10800`,
    for: '10m',
    by: ['pipeline', 'measure'],
    dashboard: 'itself',
    summary: `${name}: a probe has stopped`,
    description: `The probe {{ $labels.measure }} of ${name} has not returned a value for {{ $value | humanizeDuration }}.`,
  },
  {
    alert: 'RecalldStoreSampleOld',
    severity: 'warning',
    // `recalld_store_sample_age_seconds` is withheld once the sample is stale, so the rule uses the timestamp.
    expr: `time() - ${maxBy(pipeline, 'recalld_probe_last_success_timestamp_seconds', { measure: 'store_sample_vectors' })} > 46800`,
    for: '10m',
    by: pipeline,
    dashboard: 'store',
    summary: `${name}: vector store sample is stale`,
    description: `The latest sample of the store of ${name} is {{ $value | humanizeDuration }} old; it should be renewed every 6 hours. Measures of the store content may be outdated.`,
  },
  {
    alert: 'RecalldLiveMeasuresStopped',
    severity: 'warning',
    expr: `time() - ${maxBy(pipeline, 'recalld_live_measure_last_success_timestamp_seconds')} > 3600`,
    for: '10m',
    by: pipeline,
    dashboard: 'itself',
    summary: `${name}: live traffic is no longer measured`,
    description: `Samples of live traffic for ${name} were last measured {{ $value | humanizeDuration }} ago.`,
  },
  {
    alert: 'RecalldRedactionFailing',
    severity: 'warning',
    expr: `${increaseBy(['pipeline', 'outcome'], 'recalld_redaction_service_total', '15m', { outcome: ['failed', 'timeout', 'malformed'] })} >= 10`,
    for: '5m',
    keepFiringFor: '15m',
    by: ['pipeline', 'outcome'],
    dashboard: 'itself',
    summary: `${name}: redaction service failing`,
    description: `The redaction service failed for {{ $value | humanize }} texts of ${name} in the last 15 minutes ({{ $labels.outcome }}). recalld stores only a hash of each of these texts.`,
  },
];

export function probesGroup(): RuleGroup {
  return { name: 'recalld-probes', recordings: [], alerts };
}

/** Alerts on the parts of a pipeline: its store, its embedder, its index, and the measures that look at them. */
import { type AlertRule, increaseBy, maxBy, type RuleGroup } from '../../platform/metrics/alert-rules.ts';

const pipeline = ['pipeline'] as const;
const name = '{{ $labels.pipeline }}';

/** Taken from a sample of the store, every six hours; or only while there is a baseline of query density. */
const rareMeasures = 'store_(sample_vectors|centroid_shift|query_divergence|.+_ratio)|repeat_density';

/** Share of the exact nearest neighbours that the index returns at least. */
export const MIN_ANN_RECALL = 0.9;

/** As the floor of a page of query density. */
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
    dashboard: 'density',
    summary: `The vector store of ${name} lost many vectors.`,
    description: `The store of ${name} holds {{ $value | humanize }} vectors, less than 80 % of what it held a day ago.`,
  },
  {
    alert: 'RecalldIndexRecallLow',
    severity: 'warning',
    expr: `${maxBy(['pipeline', 'k'], 'recalld_ann_recall_ratio_ci_high')} < ${MIN_ANN_RECALL}`,
    for: '5m',
    keepFiringFor: '2h',
    by: ['pipeline', 'k'],
    dashboard: 'density',
    summary: `The index of ${name} missed near neighbours.`,
    description: `The index of ${name} returns at most {{ $value | humanizePercentage }} (upper 95 % bound) of the {{ $labels.k }} exact nearest neighbours.`,
  },
  {
    alert: 'RecalldStoreLostContent',
    severity: 'warning',
    expr: `${maxBy(pipeline, 'recalld_repeat_density_ci_high')} < ${MIN_REPEAT_DENSITY}`,
    for: '10m',
    keepFiringFor: '30m',
    by: pipeline,
    dashboard: 'density',
    summary: `The vector store of ${name} lost what its users ask for.`,
    description: `Questions of the baseline, asked again, are covered {{ $value | printf "%.2f" }} times as well as then at most (upper 95 % bound); the store answers the same questions worse.`,
  },
  {
    alert: 'RecalldEmbedderChanged',
    severity: 'warning',
    expr: `${maxBy(pipeline, 'recalld_embedding_canary_median_similarity')} < 0.995
or ${maxBy(pipeline, 'recalld_embedding_canary_min_similarity')} < 0.98`,
    for: '5m',
    keepFiringFor: '30m',
    by: pipeline,
    dashboard: 'density',
    summary: `Another embedding model answered for ${name}.`,
    description: `Fixed texts have a cosine of {{ printf "%.3f" $value }} to the vectors that the embedder of ${name} first gave for them; the same model gives 1.`,
  },
  {
    alert: 'RecalldProbesStopped',
    severity: 'warning',
    expr: `time() - ${maxBy(['pipeline', 'measure'], 'recalld_probe_last_success_timestamp_seconds', { measure: { differsFrom: rareMeasures } })} > 10800`,
    for: '10m',
    by: ['pipeline', 'measure'],
    dashboard: 'itself',
    summary: `A probe of ${name} finds nothing any more.`,
    description: `The probe {{ $labels.measure }} of ${name} last came to a value {{ $value | humanizeDuration }} ago.`,
  },
  {
    alert: 'RecalldStoreSampleOld',
    severity: 'warning',
    // The age itself is withheld where it is too large to trust the sample.
    expr: `time() - ${maxBy(pipeline, 'recalld_probe_last_success_timestamp_seconds', { measure: 'store_sample_vectors' })} > 46800`,
    for: '10m',
    by: pipeline,
    dashboard: 'density',
    summary: `The vector store of ${name} is no longer sampled.`,
    description: `The latest uniform sample of the store of ${name} is {{ $value | humanizeDuration }} old; one is due every 6 hours. What is known of its content may no longer hold.`,
  },
  {
    alert: 'RecalldLiveMeasuresStopped',
    severity: 'warning',
    expr: `time() - ${maxBy(pipeline, 'recalld_live_measure_last_success_timestamp_seconds')} > 3600`,
    for: '10m',
    by: pipeline,
    dashboard: 'itself',
    summary: `Live traffic of ${name} is no longer measured.`,
    description: `The samples of live traffic of ${name} were last measured {{ $value | humanizeDuration }} ago.`,
  },
  {
    alert: 'RecalldRedactionFailing',
    severity: 'warning',
    expr: `${increaseBy(['pipeline', 'outcome'], 'recalld_redaction_service_total', '15m', { outcome: ['failed', 'timeout', 'malformed', 'overloaded'] })} >= 10`,
    for: '5m',
    keepFiringFor: '15m',
    by: ['pipeline', 'outcome'],
    dashboard: 'itself',
    summary: `The redaction service did not serve ${name}.`,
    description: `{{ $value | humanize }} texts of ${name} within 15 minutes could not be redacted by the service ({{ $labels.outcome }}); of each only a hash is kept.`,
  },
];

export function partsGroup(): RuleGroup {
  return { name: 'recalld-parts', recordings: [], alerts };
}

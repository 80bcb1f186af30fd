import { type MetricDefinition, storedGauge } from '../../platform/metrics/definition.ts';

const searched = ['pipeline', 'k'] as const;

export const probeMetrics = {
  recalld_store_sample_age_seconds: storedGauge('Age of the latest uniform sample of the vector store.', ['pipeline']),
  recalld_ann_recall_queries: storedGauge(
    'Number of live queries from which recalld_ann_recall_ratio is computed (n).',
    searched,
  ),
  recalld_index_info: storedGauge(
    'Fingerprint of the vector store: its kind, index, settings and size class. Always 1.',
    ['pipeline', 'fingerprint'],
  ),
  recalld_embedder_info: storedGauge('Fingerprint of the embedder: its model, dimension and canary. Always 1.', [
    'pipeline',
    'fingerprint',
  ]),
  recalld_probe_no_data: storedGauge(
    '1 if the latest probe did not return a value; the label `reason` gives the reason.',
    ['pipeline', 'measure', 'reason'],
  ),
  recalld_probe_last_success_timestamp_seconds: storedGauge('Time when the probe last returned a value.', [
    'pipeline',
    'measure',
  ]),
} as const satisfies Record<string, MetricDefinition>;

/** Metrics of the probes of stores and embedders. */
import { type MetricDefinition, storedGauge } from '../../platform/metrics/definition.ts';

const searched = ['pipeline', 'k'] as const;

export const probeMetrics = {
  recalld_store_sample_age_seconds: storedGauge('Age of the latest uniform sample of the vector store.', ['pipeline']),
  recalld_ann_recall_queries: storedGauge('Live queries in recalld_ann_recall_ratio (its n).', searched),
  recalld_index_info: storedGauge(
    'Fingerprint of the vector store: its kind, index, settings and size class. The value is always 1.',
    ['pipeline', 'fingerprint'],
  ),
  recalld_embedder_info: storedGauge(
    'Fingerprint of the embedder: its model, dimension and canary. The value is always 1.',
    ['pipeline', 'fingerprint'],
  ),
  recalld_probe_no_data: storedGauge('1 if the latest probe returned no value, with the reason.', [
    'pipeline',
    'measure',
    'reason',
  ]),
  recalld_probe_last_success_timestamp_seconds: storedGauge('Time of the last value of a probe.', [
    'pipeline',
    'measure',
  ]),
} as const satisfies Record<string, MetricDefinition>;

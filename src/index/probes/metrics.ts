/** The metrics of what the parts of a pipeline are made of and how they hold, as part of the catalogue. */
import { type MetricDefinition, storedGauge } from '../../platform/metrics/definition.ts';

const searched = ['pipeline', 'k'] as const;

export const probeMetrics = {
  recalld_store_sample_age_seconds: storedGauge('Age of the latest uniform sample of the vector store.', ['pipeline']),
  recalld_ann_recall_queries: storedGauge('Live queries behind recalld_ann_recall_ratio (its n).', searched),
  recalld_index_info: storedGauge(
    'What the vector store is made of, as a fingerprint of its kind, index, settings and size class; always 1.',
    ['pipeline', 'fingerprint'],
  ),
  recalld_embedder_info: storedGauge(
    'What the embedder is, as a fingerprint of its model, dimension and canary; always 1.',
    ['pipeline', 'fingerprint'],
  ),
  recalld_probe_no_data: storedGauge('1 when the latest probe came to no value, with the reason.', [
    'pipeline',
    'measure',
    'reason',
  ]),
  recalld_probe_last_success_timestamp_seconds: storedGauge('When a probe last came to a value.', [
    'pipeline',
    'measure',
  ]),
} as const satisfies Record<string, MetricDefinition>;

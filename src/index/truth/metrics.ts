/** Metrics of index checks. Their measures are rows of the measure table instead. */
import { type MetricDefinition, storedGauge } from '../../platform/metrics/definition.ts';

export const indexMetrics = {
  recalld_index_documents: storedGauge('Documents of the manifest that should be in the vector store.', ['pipeline']),
  recalld_index_findings: storedGauge(
    'Documents found to be missing, not retrievable, orphaned, superseded or embedded by another model. If only a sample is checked, there are more.',
    ['pipeline', 'kind'],
  ),
  recalld_index_late_after_seconds: storedGauge(
    'Configured maximum time for a change to arrive in the vector store (late_after).',
    ['pipeline'],
  ),
  recalld_index_changes_overdue: storedGauge(
    'Changes of the last day that have not arrived in the vector store within late_after.',
    ['pipeline'],
  ),
  recalld_index_check_last_success_timestamp_seconds: storedGauge(
    'Time of the last complete check of the index against its manifest.',
    ['pipeline'],
  ),
} as const satisfies Record<string, MetricDefinition>;

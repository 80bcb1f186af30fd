/** The metrics of looks into an index; the measures themselves are rows of the measure table. */
import { type MetricDefinition, storedGauge } from '../../platform/metrics/definition.ts';

export const indexMetrics = {
  recalld_index_documents: storedGauge('Documents that the manifest says should be in the vector store.', ['pipeline']),
  recalld_index_findings: storedGauge(
    'Documents that are known by their ids to be missing, not retrievable, orphaned, superseded or of another model; where some are looked at and not all, there are more.',
    ['pipeline', 'kind'],
  ),
  recalld_index_late_after_seconds: storedGauge(
    'How long a change may take to arrive in the vector store, as the config says (late_after).',
    ['pipeline'],
  ),
  recalld_index_changes_overdue: storedGauge(
    'Changes of the last day that wait for longer than late_after to arrive in the vector store.',
    ['pipeline'],
  ),
  recalld_index_check_last_success_timestamp_seconds: storedGauge(
    'When the index was last held against its manifest as a whole round.',
    ['pipeline'],
  ),
} as const satisfies Record<string, MetricDefinition>;

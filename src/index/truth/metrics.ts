/** Metrics of index checks, except the gauges of measures, which are defined in the measure table. */
import { type MetricDefinition, storedGauge } from '../../platform/metrics/definition.ts';

export const indexMetrics = {
  recalld_index_documents: storedGauge(
    'Number of documents that should be in the vector store according to the manifest.',
    ['pipeline'],
  ),
  recalld_index_findings: storedGauge(
    'Number of documents found to be missing, not retrievable, orphaned, superseded or embedded by another model. If recalld checks only a sample, the actual number is higher.',
    ['pipeline', 'kind'],
  ),
  recalld_index_late_after_seconds: storedGauge(
    'Configured maximum time for a change to reach the vector store (late_after).',
    ['pipeline'],
  ),
  recalld_index_changes_overdue: storedGauge(
    'Number of changes in the last day that did not reach the vector store within late_after.',
    ['pipeline'],
  ),
  recalld_index_check_last_success_timestamp_seconds: storedGauge(
    'Time of the last complete check of the index against its manifest.',
    ['pipeline'],
  ),
} as const satisfies Record<string, MetricDefinition>;

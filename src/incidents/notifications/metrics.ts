/** The metrics of what recalld itself tells of incidents, as part of the catalogue. */
import type { MetricDefinition } from '../../platform/metrics/definition.ts';

export const notificationMetrics = {
  recalld_notifications_total: {
    type: 'counter',
    help: 'Messages about incidents to the receivers of `notify`: sent, failed (to be tried again) or given up after an hour.',
    labels: ['kind', 'outcome'],
    source: 'process',
  },
} as const satisfies Record<string, MetricDefinition>;

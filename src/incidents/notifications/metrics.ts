/** Metrics of notifications. */
import type { MetricDefinition } from '../../platform/metrics/definition.ts';

export const notificationMetrics = {
  recalld_notifications_total: {
    type: 'counter',
    help: 'Notifications to the receivers of `notify`: sent, failed (to be retried) or given up after an hour.',
    labels: ['kind', 'outcome'],
    source: 'process',
  },
} as const satisfies Record<string, MetricDefinition>;

import { type MetricDefinition, storedGauge } from '../../platform/metrics/definition.ts';

export const notificationMetrics = {
  recalld_notifications_total: {
    type: 'counter',
    help: 'Notifications to the receivers of `notify`: sent, failed (will be retried), or abandoned after an hour (`given_up`).',
    labels: ['kind', 'outcome'],
    source: 'process',
  },
  recalld_silenced: storedGauge('1 while a silence suppresses the alerts and messages of a pipeline, otherwise 0.', [
    'pipeline',
  ]),
} as const satisfies Record<string, MetricDefinition>;

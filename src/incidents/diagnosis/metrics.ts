/** The metrics of what is likely behind alarms, as part of the catalogue. */
import { type MetricDefinition, storedGauge } from '../../platform/metrics/definition.ts';

export const diagnosisMetrics = {
  recalld_diagnosis_info: storedGauge(
    'Always 1: the likely cause of the alarms of a pipeline, and how far to trust it. Absent while nothing is in alarm, and until the second look, at most 25 seconds after the first, has confirmed or corrected it.',
    ['pipeline', 'cause', 'confidence'],
  ),
} as const satisfies Record<string, MetricDefinition>;

import { type MetricDefinition, storedGauge } from '../../platform/metrics/definition.ts';

export const diagnosisMetrics = {
  recalld_diagnosis_info: storedGauge(
    'Always 1. The labels name the likely cause of the firing alerts of a pipeline, and the confidence in this cause. Absent while no alert is firing, and until a second diagnosis, at most 25 seconds after the first, confirms or corrects the cause.',
    ['pipeline', 'cause', 'confidence'],
  ),
} as const satisfies Record<string, MetricDefinition>;

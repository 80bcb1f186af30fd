import { type MetricDefinition, storedGauge } from '../../platform/metrics/definition.ts';

export const diagnosisMetrics = {
  recalld_diagnosis_info: storedGauge(
    'Always 1. Labels: the likely cause of the firing alerts of a pipeline, and its confidence. Absent while no alert fires, and between the first and the second diagnosis, which confirms or corrects the cause at most 25 seconds later.',
    ['pipeline', 'cause', 'confidence'],
  ),
} as const satisfies Record<string, MetricDefinition>;

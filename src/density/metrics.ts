import { storedGauge } from '../platform/metrics/definition.ts';

const labels = ['pipeline', 'segment'] as const;

export const densityMetrics = {
  recalld_density_drift_evidence_ratio: storedGauge(
    'E-value of density drift (live queries less well covered than in the baseline), divided by the threshold of the alert level. The alert fires at 1.',
    ['pipeline', 'level'],
  ),
  recalld_density_incident: storedGauge('1 while a density alert of this level is firing, otherwise 0.', [
    'pipeline',
    'level',
  ]),
  recalld_repeat_density_queries: storedGauge(
    'Number of replayed baseline queries from which recalld_repeat_density is computed (n).',
    ['pipeline'],
  ),
  recalld_density_sessions: storedGauge(
    'Number of sampled sessions with measured coverage in the latest closed window.',
    labels,
  ),
  recalld_density_unmeasured_queries: storedGauge(
    'Number of sampled queries in the latest closed window whose coverage recalld could not measure, by reason.',
    ['pipeline', 'reason'],
  ),
  recalld_density_admission_ratio: storedGauge(
    'Share of sampled live queries admitted for measurement. The value is below 1 while more queries arrive than recalld can measure, and for some minutes afterwards.',
    ['pipeline'],
  ),
  recalld_density_left_out_total: {
    type: 'counter',
    help: 'Number of sampled live queries that recalld did not measure because they exceeded the search budget.',
    labels: ['pipeline'],
    source: 'process',
  },
  recalld_density_window_end_timestamp_seconds: storedGauge('End of the latest closed window of live queries.', [
    'pipeline',
  ]),
  recalld_topics_uncovered: storedGauge(
    'Number of open uncovered topics: groups of poorly covered live queries that are more frequent than in the baseline. Absent if there is too little traffic.',
    ['pipeline'],
  ),
  recalld_density_baseline_info: storedGauge(
    'Always 1. The labels identify the current density baseline and state whether its alerts can page.',
    ['pipeline', 'version', 'grade'],
  ),
  recalld_density_baseline_age_seconds: storedGauge('Time since the density baseline period ended.', ['pipeline']),
  recalld_density_baseline_sessions: storedGauge(
    'Number of sessions in the density baseline or, while there is no baseline, in the traffic measured so far.',
    ['pipeline'],
  ),
  recalld_density_baseline_span_seconds: storedGauge(
    'Length of the density baseline period or, while there is no baseline, of the traffic measured so far.',
    ['pipeline'],
  ),
} as const;

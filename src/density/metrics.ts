/** Metrics of query density. */
import { storedGauge } from '../platform/metrics/definition.ts';

const labels = ['pipeline', 'segment'] as const;

export const densityMetrics = {
  recalld_density_drift_evidence_ratio: storedGauge(
    'E-value that live queries are covered worse than in the baseline, relative to the threshold of the level. The alert fires at 1.',
    ['pipeline', 'level'],
  ),
  recalld_density_incident: storedGauge('1 while an alert of the level is not resolved, else 0.', [
    'pipeline',
    'level',
  ]),
  recalld_repeat_density_queries: storedGauge('Replayed baseline queries in recalld_repeat_density (its n).', [
    'pipeline',
  ]),
  recalld_density_sessions: storedGauge('Sampled sessions with measured coverage in the latest closed window.', labels),
  recalld_density_unmeasured_queries: storedGauge(
    'Sampled queries of the latest closed window whose coverage could not be measured, by reason.',
    ['pipeline', 'reason'],
  ),
  recalld_density_admission_ratio: storedGauge(
    'Share of sampled live queries admitted for measurement. Below 1 while more arrive than can be searched, and for some minutes after.',
    ['pipeline'],
  ),
  recalld_density_left_out_total: {
    type: 'counter',
    help: 'Sampled live queries not measured because more arrived than can be searched.',
    labels: ['pipeline'],
    source: 'process',
  },
  recalld_density_window_end_timestamp_seconds: storedGauge('End of the latest closed window of live queries.', [
    'pipeline',
  ]),
  recalld_topics_uncovered: storedGauge(
    'Open uncovered topics: groups of poorly covered live queries that are more frequent than in the baseline. Absent with too little traffic.',
    ['pipeline'],
  ),
  recalld_density_baseline_info: storedGauge(
    'The current baseline, and whether it is sufficient for pages. The value is always 1.',
    ['pipeline', 'version', 'grade'],
  ),
  recalld_density_baseline_age_seconds: storedGauge('Time since the end of the baseline period.', ['pipeline']),
  recalld_density_baseline_sessions: storedGauge('Sessions in the baseline, or measured so far while there is none.', [
    'pipeline',
  ]),
  recalld_density_baseline_span_seconds: storedGauge(
    'Length of the baseline, or of the traffic measured so far while there is none.',
    ['pipeline'],
  ),
} as const;

/** The gauges of query density, as part of the catalogue. */
import { storedGauge } from '../platform/metrics/definition.ts';

const labels = ['pipeline', 'segment'] as const;

export const densityMetrics = {
  recalld_density_drift_evidence_ratio: storedGauge(
    'Evidence that live queries are covered worse than in the baseline, over what an alarm of the level takes; one is raised at 1.',
    ['pipeline', 'level'],
  ),
  recalld_density_incident: storedGauge('1 while an alarm of the level is not resolved, else 0.', [
    'pipeline',
    'level',
  ]),
  recalld_repeat_density_queries: storedGauge('Baseline queries behind recalld_repeat_density (its n).', ['pipeline']),
  recalld_density_sessions: storedGauge(
    'Sampled sessions of the latest closed window whose coverage was measured.',
    labels,
  ),
  recalld_density_unmeasured_queries: storedGauge(
    'Sampled queries of the latest closed window whose coverage could not be measured, by reason.',
    ['pipeline', 'reason'],
  ),
  recalld_density_admission_ratio: storedGauge(
    'Share of sampled live queries whose coverage is measured; below 1 while more come than can be searched, and for some minutes after.',
    ['pipeline'],
  ),
  recalld_density_left_out_total: {
    type: 'counter',
    help: 'Sampled live queries whose coverage is not measured, since more came than can be searched.',
    labels: ['pipeline'],
    source: 'process',
  },
  recalld_density_window_end_timestamp_seconds: storedGauge('End of the latest closed window of live queries.', [
    'pipeline',
  ]),
  recalld_topics_uncovered: storedGauge(
    'Uncovered topics that are not closed: groups of live queries that the store covers badly and that the traffic has more of than the baseline. Absent while there is too little traffic to look.',
    ['pipeline'],
  ),
  recalld_density_baseline_info: storedGauge(
    'The baseline that live queries are held against, and whether it is good for pages; always 1.',
    ['pipeline', 'version', 'grade'],
  ),
  recalld_density_baseline_age_seconds: storedGauge('Time since the end of the period of the baseline.', ['pipeline']),
  recalld_density_baseline_sessions: storedGauge(
    'Sessions of the baseline; while there is none, those that were measured so far.',
    ['pipeline'],
  ),
  recalld_density_baseline_span_seconds: storedGauge(
    'Days of the baseline, each of 24 hours; while there is none, those that were measured so far.',
    ['pipeline'],
  ),
} as const;

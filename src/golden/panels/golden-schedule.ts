/** Panels of the schedule of a golden set: what is due, what did not start, where its sentinel stands. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { graph } from '../../dashboards/panels.ts';
import { maxBy } from '../../dashboards/promql.ts';

/** Those of the sentinel are empty for a set that has none. */
export function schedulePanels(): Builder<Panel>[] {
  return [
    graph({
      title: 'Planned runs that did not start',
      description: 'Within the last 24 hours, by reason.',
      unit: 'short',
      min: 0,
      width: 8,
      queries: [
        {
          expr: maxBy(['purpose', 'reason'], 'recalld_golden_ticks_skipped'),
          legend: '{{purpose}}: {{reason}}',
        },
      ],
    }),
    graph({
      title: 'Until a run is overdue',
      description:
        'By the schedule alone. Below 0 no run has completed in time, whether or not a scheduler is alive.',
      unit: 's',
      width: 8,
      queries: [
        {
          expr: `${maxBy([], 'recalld_golden_run_expected_by_timestamp_seconds')} - time()`,
          legend: 'full run',
        },
        {
          expr: `${maxBy([], 'recalld_golden_sentinel_expected_by_timestamp_seconds')} - time()`,
          legend: 'sentinel',
        },
      ],
    }),
    graph({
      title: 'Runs until a new version takes over',
      description: 'Ticks that must still complete on both versions of the set; 0 while there is no new one.',
      unit: 'short',
      min: 0,
      width: 8,
      queries: [{ expr: maxBy([], 'recalld_golden_rotation_runs_remaining'), legend: 'runs' }],
    }),
    graph({
      title: 'Sentinel',
      description:
        'Where the sentinel stands: exactly one of the states is 1. When it falls, a full run starts.',
      unit: 'none',
      min: 0,
      max: 1,
      width: 12,
      queries: [{ expr: maxBy(['state'], 'recalld_golden_sentinel_state'), legend: '{{state}}' }],
    }),
    graph({
      title: 'Since the latest sentinel',
      description: 'After 3 intervals its state is no_data.',
      unit: 's',
      min: 0,
      width: 12,
      queries: [
        {
          expr: `time() - ${maxBy([], 'recalld_golden_sentinel_last_success_timestamp_seconds')}`,
          legend: 'its retriever answered',
        },
        {
          expr: `time() - ${maxBy([], 'recalld_golden_sentinel_last_attempt_timestamp_seconds')}`,
          legend: 'attempt',
        },
        { expr: maxBy([], 'recalld_golden_sentinel_interval_seconds'), legend: 'interval' },
      ],
    }),
  ];
}

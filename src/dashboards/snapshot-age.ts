/** How old what dashboards show is, where a glance must see it. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { stat } from './panels.ts';
import { maxBy } from './promql.ts';

export function snapshotAge(width: number): Builder<Panel> {
  return stat({
    title: 'Age of the snapshot',
    description:
      'Age of the database rows behind the stored gauges; it grows while the database does not answer.',
    unit: 's',
    width,
    steps: [
      { from: null, color: 'green' },
      { from: 120, color: 'yellow' },
      { from: 600, color: 'red' },
    ],
    queries: [{ expr: maxBy([], 'recalld_snapshot_age_seconds') }],
  });
}

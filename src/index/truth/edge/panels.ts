/** Panels of what a store holds against what it should hold, on the dashboard of density. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { type GaugeGraph, gaugeGraphs, graph } from '../../../platform/dashboards/panels.ts';
import { maxBy } from '../../../platform/dashboards/promql.ts';

const share = { unit: 'percentunit', min: 0, width: 6 } as const;
const time = { unit: 's', min: 0, width: 6 } as const;

const measures: readonly GaugeGraph[] = [
  { metric: 'recalld_index_missing_ratio', title: 'Documents that are missing', ...share },
  { metric: 'recalld_index_orphaned_ratio', title: 'What should no longer be there', ...share },
  { metric: 'recalld_index_superseded_ratio', title: 'Documents with old chunks', ...share },
  { metric: 'recalld_index_not_retrievable_ratio', title: 'Documents that are not retrieved', ...share },
  { metric: 'recalld_index_other_model_ratio', title: 'Vectors of another model', ...share },
  { metric: 'recalld_index_lag_seconds', title: 'Index lag, p95', ...time },
  { metric: 'recalld_index_lag_median_seconds', title: 'Index lag, median', ...time },
  { metric: 'recalld_index_late_after_seconds', title: 'Index lag that is allowed', ...time },
  { metric: 'recalld_index_changes_overdue', title: 'Changes overdue in the index', unit: 'short', min: 0, width: 6 },
  { metric: 'recalld_index_documents', title: 'Documents that should be there', unit: 'short', min: 0, width: 6 },
];

export function indexPanels(): Builder<Panel>[] {
  return [
    ...gaugeGraphs(measures),
    graph({
      title: 'Wrong documents that are known by their ids',
      description: 'Where some documents are looked at and not all, there are more.',
      unit: 'short',
      min: 0,
      width: 12,
      queries: [{ expr: maxBy(['kind'], 'recalld_index_findings'), legend: '{{kind}}' }],
    }),
    graph({
      title: 'Since the last whole look',
      description: 'What is too old to trust is withheld.',
      unit: 's',
      min: 0,
      width: 12,
      queries: [{ expr: `time() - ${maxBy([], 'recalld_index_check_last_success_timestamp_seconds')}`, legend: 'age' }],
    }),
  ];
}

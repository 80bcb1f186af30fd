import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { type MeasurePanel, measureGraphs } from '../../../measures/edge/panels.ts';
import { ageGraph, graph } from '../../../platform/dashboards/panels.ts';
import { maxBy } from '../../../platform/dashboards/promql.ts';

const measures: readonly MeasurePanel[] = [
  'recalld_index_missing_ratio',
  'recalld_index_orphaned_ratio',
  'recalld_index_superseded_ratio',
  'recalld_index_not_retrievable_ratio',
  'recalld_index_other_model_ratio',
  'recalld_index_lag_seconds',
  'recalld_index_lag_median_seconds',
  { metric: 'recalld_index_late_after_seconds', title: 'Maximum index lag', unit: 's' },
  { metric: 'recalld_index_changes_overdue', title: 'Overdue index changes', unit: 'short' },
  { metric: 'recalld_index_documents', title: 'Documents in the manifest', unit: 'short', width: 6 },
];

export function indexPanels(): Builder<Panel>[] {
  return [
    ...measureGraphs(measures, { min: 0, width: 6 }),
    graph({
      title: 'Findings by kind',
      description: 'If recalld checks only a sample, the actual number is higher.',
      unit: 'short',
      min: 0,
      width: 12,
      queries: [{ expr: maxBy(['kind'], 'recalld_index_findings'), legend: '{{kind}}' }],
    }),
    ageGraph({
      title: 'Time since the last complete check',
      description: 'Stale values are not exported.',
      width: 12,
      metric: 'recalld_index_check_last_success_timestamp_seconds',
    }),
  ];
}

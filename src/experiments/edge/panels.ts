import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { countPanel } from '../../measures/edge/panels.ts';
import { type GaugeGraph, gaugeGraphs } from '../../platform/dashboards/gauge-panels.ts';
import { graph } from '../../platform/dashboards/panels.ts';
import { increaseBy } from '../../platform/dashboards/promql.ts';

const gauges: readonly GaugeGraph[] = [
  {
    metric: 'recalld_experiment_difference',
    title: 'Difference of each candidate from its baseline',
    unit: 'none',
    width: 12,
    hasBoundLines: true,
  },
  {
    metric: 'recalld_experiment_verdict',
    title: 'Verdicts on candidates',
    unit: 'none',
    width: 6,
    min: 0,
    max: 1,
  },
  { ...countPanel('recalld_experiment_n', 'Queries or sessions (n)'), width: 6 },
  {
    metric: 'recalld_shadow_overlap',
    title: 'Overlap of shadow results with live results',
    note: '1 means identical results.',
    unit: 'none',
    min: 0,
    max: 1,
    hasBoundLines: true,
  },
  {
    metric: 'recalld_shadow_changed_ratio',
    title: 'Queries with different results',
    unit: 'percentunit',
    min: 0,
    max: 1,
    hasBoundLines: true,
  },
  countPanel('recalld_shadow_live_questions', 'Number of live queries with compared results (n)'),
  countPanel('recalld_variant_sessions', 'Sessions per arm (n)'),
  { metric: 'recalld_variant_split', title: 'Session split', unit: 'none', min: 0, max: 1 },
];

export function experimentPanels(): Builder<Panel>[] {
  return [
    ...gaugeGraphs(gauges),
    graph({
      title: 'Live queries sent to shadows',
      description:
        'Number of live queries sent to shadows in each graph interval. recalld sends at most `max_calls_per_day` queries to each shadow, after users have received their results.',
      unit: 'short',
      min: 0,
      width: 8,
      queries: [
        {
          expr: increaseBy(['shadow', 'outcome'], 'recalld_shadow_live_questions_total'),
          legend: '{{shadow}} {{outcome}}',
        },
      ],
    }),
  ];
}

/** Panels of judged live relevance, on the dashboard of live traffic. */

import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { type MeasurePanel, measureGraphs } from '../../measures/edge/panels.ts';
import { graph, metricTable } from '../../platform/dashboards/panels.ts';
import { increaseBy, maxBy } from '../../platform/dashboards/promql.ts';
import { metricCatalogue } from '../../platform/metrics/catalogue.ts';

const scores: readonly MeasurePanel[] = [
  'recalld_live_ndcg',
  'recalld_live_precision',
  'recalld_live_hit_rate',
  'recalld_live_mrr',
  'recalld_live_ndcg_uncorrected',
  'recalld_live_precision_uncorrected',
  'recalld_live_hit_rate_uncorrected',
  'recalld_live_mrr_uncorrected',
];

const behind: readonly MeasurePanel[] = [
  { metric: 'recalld_live_ndcg_drop', without: ['k'] },
  { metric: 'recalld_live_drop_state', title: 'What is said of the fall', unit: 'none', min: 0, max: 1 },
  { metric: 'recalld_live_ndcg_drop_queries', title: 'Queries behind the fall (n)', unit: 'short', min: 0 },
  { metric: 'recalld_live_ndcg_pool_gap', min: 0, without: ['k'] },
  { metric: 'recalld_live_ndcg_pool_gap_queries', title: 'Queries behind the pool gap (n)', unit: 'short', min: 0 },
  'recalld_judge_agreement',
  {
    metric: 'recalld_judge_agreement_sessions',
    title: 'Sessions behind the agreement (n)',
    unit: 'short',
    min: 0,
  },
  'recalld_human_agreement',
  {
    metric: 'recalld_human_agreement_sessions',
    title: 'Sessions that two people graded (n)',
    unit: 'short',
    min: 0,
  },
  { metric: 'recalld_judge_min_agreement', title: 'Agreement that is asked for', unit: 'none', min: 0, max: 1 },
  'recalld_judge_drift',
  { metric: 'recalld_judge_panel_pairs', title: 'Pairs that are graded again (n)', unit: 'short', min: 0 },
  { metric: 'recalld_live_judged_queries', title: 'Queries graded in the window (n)', unit: 'short', min: 0 },
  {
    metric: 'recalld_live_judged_human_sessions',
    title: 'Sessions that people graded',
    unit: 'short',
    min: 0,
    note: 'With fewer than 8, scores are uncorrected.',
  },
  { metric: 'recalld_live_judged_open_queries', title: 'Queries that wait for grades', unit: 'short', min: 0 },
];

export function judgedPanels(): Builder<Panel>[] {
  return [
    ...measureGraphs(scores, { min: 0, max: 1, width: 6, without: ['k'] }),
    ...measureGraphs(behind, { width: 6 }),
    metricTable({
      title: 'Who grades',
      description: `${metricCatalogue.recalld_judge_info.help} Another fingerprint is noted as a deployment.`,
      width: 6,
      height: 4,
      queries: [{ expr: maxBy(['pipeline', 'fingerprint'], 'recalld_judge_info') }],
      show: { pipeline: 'Pipeline', fingerprint: 'Fingerprint' },
    }),
    graph({
      title: 'Since the judge changed',
      description: metricCatalogue.recalld_judge_changed_timestamp_seconds.help,
      unit: 's',
      min: 0,
      width: 6,
      queries: [{ expr: `time() - ${maxBy([], 'recalld_judge_changed_timestamp_seconds')}`, legend: 'age' }],
    }),
    graph({
      title: 'Cost of the judge',
      description: 'US dollars between two points of the graph.',
      unit: 'currencyUSD',
      min: 0,
      width: 6,
      queries: [{ expr: increaseBy([], 'recalld_judge_cost_dollars_total'), legend: 'cost' }],
    }),
    graph({
      title: 'Grades that did not come',
      description: 'Of all replicas, between two points of the graph, and why.',
      unit: 'short',
      min: 0,
      width: 6,
      queries: [{ expr: increaseBy(['reason'], 'recalld_judge_failures_total'), legend: '{{reason}}' }],
    }),
    graph({
      title: 'Not drawn, and taken out',
      description:
        'Queries that the money of the day would not pay for, and documents in which something spoke to the judge.',
      unit: 'short',
      min: 0,
      width: 6,
      queries: [
        { expr: increaseBy([], 'recalld_judge_unaffordable_queries_total'), legend: 'not affordable' },
        { expr: increaseBy([], 'recalld_judge_flagged_total'), legend: 'spoke to the judge' },
      ],
    }),
    graph({
      title: 'Scores sent to the tracing platform',
      description: 'Requests of all replicas, between two points of the graph, and what became of them.',
      unit: 'short',
      min: 0,
      width: 6,
      queries: [{ expr: increaseBy(['outcome'], 'recalld_evaluation_requests_total'), legend: '{{outcome}}' }],
    }),
    graph({
      title: 'Since what was graded was measured',
      description: 'Values older than 3 hours are withheld.',
      unit: 's',
      min: 0,
      width: 6,
      queries: [{ expr: `time() - ${maxBy([], 'recalld_live_judged_last_success_timestamp_seconds')}`, legend: 'age' }],
    }),
  ];
}

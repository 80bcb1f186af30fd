/** Live traffic and feedback of one pipeline. */

import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { experimentPanels } from '../../experiments/edge/panels.ts';
import { deploymentsTable, measurementsTable } from '../../golden/edge/panels/drill-down.ts';
import { judgedPanels } from '../../judging/edge/panels.ts';
import { type MeasurePanel, measureGraphs } from '../../measures/edge/panels.ts';
import { frame, onePipeline, segmentOf } from '../../platform/dashboards/frame.ts';
import { graph, heatmap } from '../../platform/dashboards/panels.ts';
import {
  bucketsOf,
  type DashboardSettings,
  increaseBy,
  maxBy,
  orNone,
  quantileBy,
  rateBy,
} from '../../platform/dashboards/promql.ts';
import { dashboardUids } from '../../platform/metrics/alert-rules.ts';

function traffic(): Builder<Panel>[] {
  return [
    graph({
      title: 'Live queries by outcome',
      description: 'Live queries a second that all replicas received, sampled or not.',
      unit: 'reqps',
      min: 0,
      width: 8,
      isStacked: true,
      queries: [{ expr: rateBy(['outcome'], 'recalld_queries_total'), legend: '{{outcome}}' }],
    }),
    graph({
      title: 'Queries without results',
      description: 'Live queries a second that were answered without any document.',
      unit: 'reqps',
      min: 0,
      width: 8,
      queries: [{ expr: rateBy([], 'recalld_query_zero_results_total'), legend: 'no result' }],
    }),
    graph({
      title: 'Latency',
      description: 'Quantiles of the retrieval latency of live queries, as their service reports it.',
      unit: 's',
      min: 0,
      width: 8,
      queries: ([0.5, 0.95, 0.99] as const).map((quantile) => ({
        expr: quantileBy(quantile, [], 'recalld_query_latency_seconds'),
        legend: `${quantile * 100} %`,
      })),
    }),
    heatmap({
      title: 'Latency of live queries',
      description: 'Live queries by their retrieval latency.',
      unit: 's',
      width: 12,
      expr: bucketsOf('recalld_query_latency_seconds'),
    }),
    heatmap({
      title: 'Score of the best document',
      description:
        'Live queries by the score of their best document, where the retriever gives one between -1 and 1. A second cloud below the first is a topic that the store does not hold.',
      unit: 'none',
      width: 12,
      expr: bucketsOf('recalld_query_top1_similarity'),
    }),
  ];
}

const measures: readonly MeasurePanel[] = [
  'recalld_query_volume',
  'recalld_query_zero_results_ratio',
  'recalld_query_error_ratio',
  'recalld_query_results',
  'recalld_query_context_characters',
  'recalld_query_context_repeated_ratio',
  {
    metric: 'recalld_query_top_ratio',

    max: 1,
  },
  {
    metric: 'recalld_query_main_language_ratio',

    max: 1,
  },
];

const opinions: readonly MeasurePanel[] = [
  {
    metric: 'recalld_feedback_positive_ratio',
    title: 'Positive feedback',
    unit: 'percentunit',
    min: 0,
    max: 1,
    where: { basis: 'all' },
  },
  {
    metric: 'recalld_feedback_opinions',
    title: 'Opinions (n)',
    unit: 'short',
    min: 0,
    note: 'Few opinions make wide bounds.',
  },
  {
    metric: 'recalld_feedback_latest_positive_ratio',
    title: 'Positive feedback, latest opinions',
    unit: 'percentunit',
    min: 0,
    max: 1,
  },
  {
    metric: 'recalld_feedback_baseline_positive_ratio',
    title: 'Positive feedback, baseline',
    unit: 'percentunit',
    min: 0,
    max: 1,
  },
  {
    metric: 'recalld_feedback_drop_evidence_ratio',
    title: 'Evidence of a drop',
    unit: 'none',
    min: 0,
    note: '1 and more is an alert.',
  },
];

const clicks: readonly MeasurePanel[] = [
  'recalld_feedback_clicked_query_ratio',
  'recalld_feedback_click_through_ratio',
  {
    metric: 'recalld_feedback_clicked_reciprocal_rank',

    max: 1,
  },
  'recalld_feedback_clicks_over_expected_ratio',
];

const stages: readonly MeasurePanel[] = [
  { metric: 'recalld_live_stage_latency_p95_seconds', title: 'Time of a stage, p95', unit: 's', min: 0 },
  { metric: 'recalld_live_stage_documents', title: 'Documents handed on', unit: 'short', min: 0 },
  { metric: 'recalld_live_stage_emptied_ratio', title: 'Left with nothing by a stage', unit: 'percentunit', min: 0 },
  {
    metric: 'recalld_live_stage_answered_ratio',
    title: 'Of the answer among the first of a stage',
    unit: 'percentunit',
    min: 0,
    max: 1,
  },
  { metric: 'recalld_live_stage_queries', title: 'Queries that tell of a stage (n)', unit: 'short', min: 0 },
];

const watched: readonly MeasurePanel[] = [
  { metric: 'recalld_measure_changed', title: 'Outside the normal range', unit: 'none', min: 0, max: 1, width: 8 },
  { metric: 'recalld_measure_value', title: 'Value', unit: 'short', width: 8 },
  { metric: 'recalld_measure_normal', title: 'Normal value', unit: 'short', width: 8 },
];

const upkeep: readonly MeasurePanel[] = [
  { metric: 'recalld_live_measure_samples', title: 'Samples behind each measure (n)', unit: 'short', min: 0 },
  {
    metric: 'recalld_live_measure_samples_read_ratio',
    title: 'Share of the samples read',
    unit: 'percentunit',
    min: 0,
    max: 1,
  },
];

function received(): Builder<Panel> {
  return graph({
    title: 'Feedback received',
    description: 'Feedback by kind and sentiment that all replicas received between two points of the graph.',
    unit: 'short',
    min: 0,
    width: 8,
    isStacked: true,
    queries: [
      {
        expr: increaseBy(['kind', 'sentiment'], 'recalld_feedback_total'),
        legend: '{{kind}}, {{sentiment}}',
      },
    ],
  });
}

export function liveTrafficDashboard(settings: DashboardSettings): Dashboard {
  return frame(
    {
      uid: dashboardUids.live,
      title: 'recalld: live traffic and feedback',
      description: 'What users of one pipeline ask, what they are given, and what they think of it.',
      variables: [onePipeline(), segmentOf('recalld_query_volume{job=~"$job", pipeline=~"$pipeline"}')],
      hasDeployments: true,
      sections: [
        { title: 'Traffic', panels: traffic() },
        { title: 'Measures of the sampled window', panels: measureGraphs(measures, { min: 0 }) },
        {
          title: 'Stages of the retriever',
          panels: measureGraphs(stages, { hasBoundLines: true }),
        },
        { title: 'Opinions', panels: [...measureGraphs(opinions), received()] },
        { title: 'Clicks', panels: measureGraphs(clicks, { min: 0, width: 6 }) },
        { title: 'Measures watched for a change', panels: measureGraphs(watched) },
        { title: 'Judged live relevance', panels: judgedPanels() },
        { title: 'Experiments', panels: experimentPanels() },
        { title: 'Behind the measures', panels: [...measureGraphs(upkeep), withoutData(), measured()] },
        { title: 'Drill-down', panels: [measurementsTable(14), deploymentsTable(10)] },
      ],
    },
    settings,
  );
}

function withoutData(): Builder<Panel> {
  return graph({
    title: 'Measures without data, and why',
    description: '1 while a measure of live traffic cannot be taken, of any segment, with the reason.',
    unit: 'none',
    min: 0,
    width: 8,
    queries: [
      {
        expr: orNone(maxBy(['segment', 'measure', 'reason'], 'recalld_live_measure_no_data'), 'reason'),
        legend: '{{segment}} {{measure}}: {{reason}}',
      },
    ],
  });
}

function measured(): Builder<Panel> {
  return graph({
    title: 'Since the last measurement',
    description: 'Values older than 3 intervals of the job are withheld.',
    unit: 's',
    min: 0,
    width: 24,
    height: 6,
    queries: [
      {
        expr: `time() - ${maxBy([], 'recalld_live_measure_last_success_timestamp_seconds')}`,
        legend: 'age',
      },
    ],
  });
}

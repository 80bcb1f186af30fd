/** Two Grafana dashboards for a pipeline: one for live traffic, and one for feedback and experiments. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { experimentPanels } from '../../experiments/edge/panels.ts';
import { deploymentsTable, measurementsTable } from '../../golden/edge/panels/drill-down.ts';
import { type MeasurePanel, measureGraphs } from '../../measures/edge/panels.ts';
import { measureTable } from '../../measures/rules/measure-table.ts';
import { frame, onePipeline, segmentOf } from '../../platform/dashboards/frame.ts';
import { graph, heatmap, metricTable } from '../../platform/dashboards/panels.ts';
import {
  bucketsOf,
  type DashboardSettings,
  increaseBy,
  maxBy,
  quantileBy,
  rateBy,
} from '../../platform/dashboards/promql.ts';
import { dashboardUids } from '../../platform/metrics/alert-rules.ts';

function perSecond(title: string, description: string, expr: string, legend: string, isStacked = false) {
  return graph({
    title,
    description,
    unit: 'reqps',
    min: 0,
    width: 8,
    isStacked,
    hasOutcomes: isStacked,
    queries: [{ expr, legend }],
  });
}

function isolation(): Builder<Panel>[] {
  return [
    graph({
      title: 'Isolation violations',
      description:
        'Live queries in the last hour whose results violate an isolation rule. All live queries are checked, whether sampled or not. The expected number is 0.',
      unit: 'short',
      min: 0,
      width: 8,
      queries: [{ expr: maxBy(['rule'], 'recalld_live_isolation_violations'), legend: '{{rule}}' }],
    }),
    graph({
      title: 'Isolation violations and unchecked queries per second',
      description:
        'Live queries per second whose results violate an isolation rule, and live queries per second that a rule could not check. A rule cannot check a query if the query lacks the segment of the rule, or if a document lacks an id or the field of the rule.',
      unit: 'reqps',
      min: 0,
      width: 16,
      queries: [
        { expr: rateBy(['rule'], 'recalld_live_isolation_violations_total'), legend: '{{rule}}: violations' },
        {
          expr: rateBy(['rule', 'reason'], 'recalld_live_isolation_unchecked_total'),
          legend: '{{rule}}: unchecked, {{reason}}',
        },
      ],
    }),
  ];
}

function traffic(): Builder<Panel>[] {
  return [
    perSecond(
      'Live queries by outcome',
      'Live queries that all replicas together receive per second, whether sampled or not.',
      rateBy(['outcome'], 'recalld_queries_total'),
      '{{outcome}}',
      true,
    ),
    perSecond(
      'Live queries with no results',
      'Live queries per second that returned no documents.',
      rateBy([], 'recalld_query_zero_results_total'),
      'no results',
    ),
    graph({
      title: 'Latency percentiles',
      description: 'Percentiles of the live retrieval latency reported by the service.',
      unit: 's',
      min: 0,
      width: 8,
      queries: ([0.5, 0.95, 0.99] as const).map((quantile) => ({
        expr: quantileBy(quantile, [], 'recalld_query_latency_seconds'),
        legend: `p${quantile * 100}`,
      })),
    }),
    heatmap({
      title: 'Score of the top document',
      description:
        'Number of live queries by the score of their top document, if the retriever returns scores from -1 to 1. A separate group of low scores suggests a topic that the store does not cover.',
      unit: 'none',
      width: 24,
      expr: bucketsOf('recalld_query_top1_similarity'),
    }),
  ];
}

const measures: readonly MeasurePanel[] = [
  'recalld_query_volume',
  'recalld_query_zero_results_ratio',
  'recalld_query_error_ratio',
  'recalld_query_latency_p95_seconds',
  'recalld_query_results',
  'recalld_query_context_characters',
  'recalld_query_context_repeated_ratio',
  { metric: 'recalld_query_top_ratio', max: 1 },
  { metric: 'recalld_query_main_language_ratio', max: 1 },
];

const share = { unit: 'percentunit', min: 0, max: 1 } as const;

const textShares = [
  measureTable.malformed_query_ratio,
  measureTable.plain_query_ratio,
  measureTable.repeated_query_ratio,
];

function queryTexts(): Builder<Panel> {
  return graph({
    title: 'Malformed, plain and repeated queries',
    description: textShares.map(({ title, note }) => `${title}: ${note}`).join('\n\n'),
    ...share,
    width: 8,
    queries: textShares.map(({ title, gauge }) => ({ expr: maxBy([], gauge), legend: title })),
  });
}

const samples = { unit: 'short', min: 0 } as const;

const feedback: readonly MeasurePanel[] = [
  {
    metric: 'recalld_feedback_positive_ratio',
    title: 'Positive feedback',
    ...share,
    where: { basis: 'all' },
  },
  {
    metric: 'recalld_feedback_opinions',
    title: 'Feedback items (n)',
    ...samples,
    note: 'The less feedback there is, the wider the confidence intervals are.',
  },
  {
    metric: 'recalld_feedback_latest_positive_ratio',
    title: 'Positive feedback, most recent',
    ...share,
  },
  {
    metric: 'recalld_feedback_baseline_positive_ratio',
    title: 'Positive feedback, baseline',
    ...share,
  },
  {
    metric: 'recalld_feedback_drop_evidence_ratio',
    title: 'Drop in positive feedback, relative to the alert threshold',
    unit: 'none',
    isLog: true,
    floor: 0.01,
    limit: 1,
    note: 'At 1 or above, the drop is confirmed and the check fails. Values below 0.01 are shown as 0.01.',
  },
];

const clicks: readonly MeasurePanel[] = [
  'recalld_feedback_clicked_query_ratio',
  'recalld_feedback_click_through_ratio',
  { metric: 'recalld_feedback_clicked_reciprocal_rank', max: 1 },
  'recalld_feedback_clicks_over_expected_ratio',
];

const stages: readonly MeasurePanel[] = [
  { metric: 'recalld_live_stage_latency_p95_seconds', title: 'Stage latency, p95', unit: 's', min: 0 },
  { metric: 'recalld_live_stage_documents', title: 'Documents returned by each stage', ...samples },
  {
    metric: 'recalld_live_stage_emptied_ratio',
    title: 'Queries without documents after each stage',
    unit: 'percentunit',
    min: 0,
  },
  {
    metric: 'recalld_live_stage_answered_ratio',
    title: "Share of final results in each stage's top results",
    ...share,
  },
  { metric: 'recalld_live_stage_queries', title: 'Queries that report stages (n)', ...samples },
];

const sampleCounts: readonly MeasurePanel[] = [
  { metric: 'recalld_live_measure_samples', title: 'Samples behind each measure (n)', ...samples },
  {
    metric: 'recalld_live_measure_samples_read_ratio',
    title: 'Share of samples read',
    ...share,
  },
];

function received(): Builder<Panel> {
  return graph({
    title: 'Feedback received',
    description: 'Feedback received by all replicas per graph interval, by sentiment.',
    unit: 'short',
    min: 0,
    width: 8,
    isStacked: true,
    hasOutcomes: true,
    queries: [{ expr: increaseBy(['sentiment'], 'recalld_feedback_total'), legend: '{{sentiment}}' }],
  });
}

const segmentOfTraffic = () => segmentOf('recalld_query_volume{job=~"$job", pipeline=~"$pipeline"}');

export function liveTrafficDashboard(settings: DashboardSettings): Dashboard {
  return frame(
    {
      uid: dashboardUids.live,
      title: 'recalld: live traffic',
      description:
        'How many queries arrive, and does the retriever return documents for them? Volume, failures, latency, results.',
      variables: [onePipeline(), segmentOfTraffic()],
      hasDeployments: true,
      sections: [
        { title: 'Traffic', panels: traffic() },
        { title: 'Results', panels: [...measureGraphs(measures, { min: 0 }), queryTexts()] },
        { title: 'Isolation', panels: isolation(), noData: 'No isolation rule is configured' },
        {
          title: 'Stages of the retriever',
          panels: measureGraphs(stages, { hasBoundLines: true }),
          noData: 'The service reports no stages',
        },
        { title: 'Values and deployments', panels: [measurementsTable(14), deploymentsTable(10), measured()] },
      ],
    },
    settings,
  );
}

export function feedbackDashboard(settings: DashboardSettings): Dashboard {
  return frame(
    {
      uid: dashboardUids.feedback,
      title: 'recalld: feedback and experiments',
      description: 'Are users satisfied? Feedback, clicks, changed measures, experiments, and the data behind them.',
      variables: [onePipeline(), segmentOfTraffic()],
      hasDeployments: true,
      sections: [
        {
          title: 'Feedback',
          panels: [...measureGraphs(feedback), received()],
          noData: 'No feedback received, or too little',
        },
        {
          title: 'Clicks',
          panels: measureGraphs(clicks, { min: 0, width: 6 }),
          noData: 'No clicks received, or too few',
        },
        {
          title: 'Measures outside their normal range',
          panels: changes(),
          noData: 'No measure has a normal range yet',
        },
        { title: 'Experiments', panels: experimentPanels(), noData: 'No experiment or shadow is running' },
        { title: 'Data behind the measures', panels: [...measureGraphs(sampleCounts), withoutData()] },
      ],
    },
    settings,
  );
}

function changes(): Builder<Panel>[] {
  const by = ['measure'] as const;
  const where = { segment: '$segment' };
  return [
    ...measureGraphs([
      { metric: 'recalld_measure_changed', title: 'Outside the normal range', unit: 'none', min: 0, max: 1, width: 8 },
    ]),
    metricTable({
      title: 'Latest value and normal range',
      description:
        'For each measure that has no alert: the latest value, the normal value, and the limits of the normal range.',
      width: 16,
      queries: [
        { expr: maxBy(by, 'recalld_measure_value', where) },
        { expr: maxBy(by, 'recalld_measure_normal', where) },
        ...(['low', 'high'] as const).map((bound) => ({
          expr: maxBy(by, 'recalld_normal_range', { ...where, bound }),
        })),
      ],
      show: {
        measure: 'Measure',
        'Value #A': 'Latest value',
        'Value #B': 'Normal value',
        'Value #C': 'Lower limit',
        'Value #D': 'Upper limit',
      },
      noData: 'No measure has a normal range yet',
    }),
  ];
}

function withoutData(): Builder<Panel> {
  return metricTable({
    title: 'Measures without data',
    description: 'Measures of live traffic that have no data now, by segment, with the reason.',
    width: 8,
    queries: [{ expr: `${maxBy(['segment', 'measure', 'reason'], 'recalld_live_measure_no_data')} == 1` }],
    show: { segment: 'Segment', measure: 'Measure', reason: 'Reason' },
    columns: [{ name: 'Segment', width: 90 }],
    noData: 'All measures have data',
  });
}

function measured(): Builder<Panel> {
  return graph({
    title: 'Time since live traffic was last measured',
    description: 'recalld does not export values older than 3 job intervals.',
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

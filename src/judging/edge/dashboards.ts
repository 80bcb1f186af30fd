import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { countPanel, type MeasurePanel, measureGraphs } from '../../measures/edge/panels.ts';
import { frame, onePipeline, segmentOf } from '../../platform/dashboards/frame.ts';
import { ageGraph, graph, metricTable } from '../../platform/dashboards/panels.ts';
import { type DashboardSettings, increaseBy, maxBy } from '../../platform/dashboards/promql.ts';
import { dashboardUids } from '../../platform/metrics/alert-rules.ts';
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

const drop: readonly MeasurePanel[] = [
  { metric: 'recalld_live_ndcg_drop', without: ['k'] },
  { metric: 'recalld_live_drop_state', title: 'State of the nDCG drop', unit: 'none', min: 0, max: 1 },
  countPanel('recalld_live_ndcg_drop_queries', 'Queries in recent days (n)'),
];

const behind: readonly MeasurePanel[] = [
  { metric: 'recalld_live_ndcg_pool_gap', min: 0, without: ['k'] },
  countPanel('recalld_live_ndcg_pool_gap_queries', 'Queries with graded pools (n)'),
  countPanel('recalld_live_judged_queries', 'Graded queries in the window (n)'),
  countPanel('recalld_live_judged_human_sessions', 'Human-graded sessions'),
  countPanel('recalld_live_judged_open_queries', 'Queries waiting for grades'),
];

const agreement: readonly MeasurePanel[] = [
  { metric: 'recalld_judge_agreement', limit: 'recalld_judge_min_agreement' },
  countPanel('recalld_judge_agreement_sessions', 'Sessions graded by both the judge and people (n)'),
  'recalld_human_agreement',
  countPanel('recalld_human_agreement_sessions', 'Sessions graded by two people (n)'),
  'recalld_judge_drift',
  countPanel('recalld_judge_panel_pairs', 'Drift panel pairs (n)'),
];

function sinceMeasured(): Builder<Panel> {
  return ageGraph({
    title: 'Time since the last measurement',
    description: 'Values older than 3 hours are not exported.',
    width: 6,
    metric: 'recalld_live_judged_last_success_timestamp_seconds',
  });
}

const segmentOfScores = () => segmentOf('recalld_live_ndcg{job=~"$job", pipeline=~"$pipeline"}');

export function judgedDashboard(settings: DashboardSettings): Dashboard {
  return frame(
    {
      uid: dashboardUids.judged,
      title: 'recalld: judged live relevance',
      description:
        'Do live queries get relevant documents? Scores of graded live queries, corrected by human judgments.',
      variables: [onePipeline(), segmentOfScores()],
      hasDeployments: true,
      from: 'now-7d',
      sections: [
        {
          title: 'Scores',
          panels: measureGraphs(scores, { min: 0, max: 1, width: 6, without: ['k'] }),
          noData: 'No graded queries',
        },
        { title: 'Drop of nDCG', panels: measureGraphs(drop), noData: 'Not measured yet' },
        { title: 'Data behind the scores', panels: [...measureGraphs(behind, { width: 6 }), sinceMeasured()] },
      ],
    },
    settings,
  );
}

export function judgeDashboard(settings: DashboardSettings): Dashboard {
  return frame(
    {
      uid: dashboardUids.judge,
      title: 'recalld: the judge',
      description: 'Can the judge be trusted, and what does it cost? Agreement with people, drift, failures, cost.',
      variables: [onePipeline()],
      hasDeployments: true,
      from: 'now-7d',
      sections: [
        {
          title: 'Agreement and drift',
          panels: measureGraphs(agreement, { width: 6 }),
          noData: 'Not measured yet',
        },
        { title: 'Work and cost', panels: work(), noData: 'None in this time range' },
      ],
    },
    settings,
  );
}

function work(): Builder<Panel>[] {
  return [
    metricTable({
      title: 'Current judge',
      description: `${metricCatalogue.recalld_judge_info.help} A new fingerprint is recorded as a deployment.`,
      width: 6,
      queries: [{ expr: maxBy(['pipeline', 'fingerprint'], 'recalld_judge_info') }],
      show: { pipeline: 'Pipeline', fingerprint: 'Fingerprint' },
    }),
    ageGraph({
      title: 'Time since the judge changed',
      description: metricCatalogue.recalld_judge_changed_timestamp_seconds.help,
      width: 6,
      metric: 'recalld_judge_changed_timestamp_seconds',
    }),
    graph({
      title: 'Judge cost',
      description: 'US dollars per graph interval.',
      unit: 'currencyUSD',
      min: 0,
      width: 6,
      queries: [{ expr: increaseBy([], 'recalld_judge_cost_dollars_total'), legend: 'cost' }],
    }),
    graph({
      title: 'Failed grades',
      description: 'Failed grading attempts across all replicas, by reason, per graph interval.',
      unit: 'short',
      min: 0,
      width: 6,
      queries: [{ expr: increaseBy(['reason'], 'recalld_judge_failures_total'), legend: '{{reason}}' }],
    }),
    graph({
      title: 'Queries over budget and flagged documents',
      description: 'Queries that the daily budget left ungraded, and documents whose text addresses the judge.',
      unit: 'short',
      min: 0,
      width: 6,
      queries: [
        { expr: increaseBy([], 'recalld_judge_unaffordable_queries_total'), legend: 'unaffordable queries' },
        { expr: increaseBy([], 'recalld_judge_flagged_total'), legend: 'flagged documents' },
      ],
    }),
    graph({
      title: 'Scores sent to the tracing platform',
      description: 'Requests from all replicas by outcome, per graph interval.',
      unit: 'short',
      min: 0,
      width: 6,
      queries: [{ expr: increaseBy(['outcome'], 'recalld_evaluation_requests_total'), legend: '{{outcome}}' }],
    }),
  ];
}

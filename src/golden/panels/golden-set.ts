/** Golden set detail: one golden set of one pipeline, from its scores down to single queries. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { cutoff, frame, oneGoldenSet, onePipeline, segmentOf } from '../../dashboards/frame.ts';
import { graph, metricTable, stat } from '../../dashboards/panels.ts';
import { maxBy } from '../../dashboards/promql.ts';
import type { DashboardSettings } from '../../dashboards/settings.ts';
import { dashboardUids } from '../../metrics/alert-rules.ts';
import { goldenMeasures } from '../rules/score-run.ts';
import {
  comparisonsTable,
  mostRegressedTable,
  runsTable,
  staleLabelsTable,
  verdictsTable,
  worstQueriesTable,
} from './drill-down.ts';
import {
  differenceGraph,
  liveMixPanels,
  measureTitles,
  schedulePanels,
  scoreGraph,
  stabilityGraph,
} from './golden-panels.ts';

const inSegment = { segment: '$segment', k: '$k' } as const;

function glance(): Builder<Panel>[] {
  return [
    ...(['ndcg', 'hit_rate', 'mrr', 'recall'] as const).map((measure) =>
      stat({
        title: `Latest ${measureTitles[measure]}`,
        description: 'At the chosen cut-off, of the latest completed run.',
        unit: 'none',
        decimals: 3,
        width: 3,
        queries: [{ expr: maxBy([], `recalld_golden_${measure}`, inSegment) }],
      }),
    ),
    stat({
      title: 'Queries (n)',
      description: 'Judged queries behind every mean of the segment.',
      unit: 'short',
      width: 3,
      queries: [{ expr: maxBy([], 'recalld_golden_scored_queries', { segment: '$segment' }) }],
    }),
    stat({
      title: 'Since the latest completed run',
      description: 'A run that is void or failed does not count.',
      unit: 's',
      width: 3,
      queries: [{ expr: `time() - ${maxBy([], 'recalld_golden_run_last_success_timestamp_seconds')}` }],
    }),
    stat({
      title: 'Since the latest attempt',
      description: 'Time since the latest run of any status started.',
      unit: 's',
      width: 3,
      queries: [{ expr: `time() - ${maxBy([], 'recalld_golden_run_last_attempt_timestamp_seconds')}` }],
    }),
    stat({
      title: 'Interval',
      description: 'Longest gap between two runs by the schedule.',
      unit: 's',
      width: 3,
      queries: [{ expr: maxBy([], 'recalld_golden_run_interval_seconds') }],
    }),
  ];
}

const bySegment = (suffix: '' | '_ci_low' | '_ci_high') =>
  maxBy(['segment'], `recalld_golden_ndcg${suffix}`, { k: '$k' });

function segments(): Builder<Panel>[] {
  return [
    graph({
      title: 'nDCG at $k by segment',
      description: 'All segments of the golden set; small ones move by luck, see their bounds beside.',
      unit: 'none',
      min: 0,
      max: 1,
      width: 12,
      queries: [{ expr: bySegment(''), legend: '{{segment}}' }],
    }),
    metricTable({
      title: 'Segments of the latest run',
      description: 'nDCG at the chosen cut-off with its 95 % bounds and the number of queries.',
      width: 9,
      queries: [
        { expr: bySegment('') },
        { expr: bySegment('_ci_low') },
        { expr: bySegment('_ci_high') },
        { expr: maxBy(['segment'], 'recalld_golden_scored_queries') },
      ],
      show: {
        segment: 'Segment',
        'Value #A': 'nDCG',
        'Value #B': 'Low',
        'Value #C': 'High',
        'Value #D': 'n',
      },
    }),
    stat({
      title: 'Segments folded into other',
      description: 'Segments beyond the most that the config allows.',
      unit: 'short',
      width: 3,
      height: 8,
      queries: [{ expr: maxBy([], 'recalld_golden_segments_overflow') }],
    }),
  ];
}

function baseline(): Builder<Panel>[] {
  const where = { segment: '$segment', k: '$k' } as const;
  return [
    differenceGraph('ndcg', 12),
    differenceGraph('hit_rate', 12),
    stabilityGraph(),
    graph({
      title: 'Luck: p of the differences',
      description: 'Two-sided p that a difference to the baseline is luck, by which regressions are judged.',
      unit: 'none',
      min: 0,
      max: 1,
      width: 12,
      queries: [{ expr: maxBy(['measure'], 'recalld_golden_baseline_p_value', where), legend: '{{measure}}@$k' }],
    }),
    graph({
      title: 'Queries compared',
      description:
        'Queries behind the differences, without those with a stale label, and questions behind the stability of answers.',
      unit: 'short',
      min: 0,
      width: 12,
      queries: [
        { expr: maxBy(['measure'], 'recalld_golden_baseline_queries', where), legend: '{{measure}}@$k' },
        { expr: maxBy(['k'], 'recalld_golden_rbo_queries'), legend: 'stability, rbo@{{k}}' },
      ],
    }),
  ];
}

function labelsAndRuns(): Builder<Panel>[] {
  return [
    graph({
      title: 'Stale labels',
      description:
        'Share of the judged documents that are gone from the store; absent when nobody could look. A fall of scores with a rise here is a matter of the labels first.',
      unit: 'percentunit',
      min: 0,
      width: 8,
      queries: [
        { expr: maxBy([], 'recalld_golden_stale_labels_ratio'), legend: 'stale' },
        {
          expr: maxBy(['check', 'severity'], 'recalld_threshold', {
            check: { like: 'stale labels above .* on $golden_set' },
          }),
          legend: 'threshold: {{check}} ({{severity}})',
        },
      ],
    }),
    graph({
      title: 'Forbidden documents',
      description:
        'Documents that must not come back and did, asked twice; absent when the set forbids none. One is too many.',
      unit: 'none',
      min: 0,
      width: 8,
      queries: [{ expr: maxBy([], 'recalld_golden_forbidden_results'), legend: 'came back' }],
    }),
    graph({
      title: 'Judged share of the top $k',
      description: 'A fall means new documents without a judgment, not necessarily worse ones.',
      unit: 'percentunit',
      min: 0,
      max: 1,
      width: 8,
      queries: [{ expr: maxBy([], 'recalld_golden_judged_ratio', inSegment), legend: 'judged' }],
    }),
    graph({
      title: 'What became of the queries',
      description: 'Queries of the latest ended run by outcome.',
      unit: 'short',
      min: 0,
      width: 8,
      isStacked: true,
      queries: [{ expr: maxBy(['outcome'], 'recalld_golden_queries'), legend: '{{outcome}}' }],
    }),
    graph({
      title: 'Duration of a run',
      description: 'How long the latest ended run took.',
      unit: 's',
      min: 0,
      width: 8,
      queries: [{ expr: maxBy([], 'recalld_golden_run_duration_seconds'), legend: 'duration' }],
    }),
    graph({
      title: 'Stored runs by status',
      description: 'Runs in the history: void ones were beyond the error budget, failed ones came to no end.',
      unit: 'short',
      min: 0,
      width: 8,
      queries: [{ expr: maxBy(['status'], 'recalld_golden_runs'), legend: '{{status}}' }],
    }),
    graph({
      title: 'Scores withheld',
      description: '1 while the latest scores are too old to trust and are therefore not exported.',
      unit: 'none',
      min: 0,
      max: 1,
      width: 8,
      queries: [{ expr: maxBy([], 'recalld_golden_scores_withheld'), legend: 'withheld' }],
    }),
  ];
}

export function goldenSetDashboard(settings: DashboardSettings): Dashboard {
  return frame(
    {
      uid: dashboardUids.golden,
      title: 'recalld: golden set',
      description: 'One golden set of one pipeline: scores, segments, the baseline, labels, single queries.',
      variables: [
        onePipeline(),
        oneGoldenSet(),
        cutoff(),
        segmentOf('recalld_golden_ndcg{job=~"$job", pipeline=~"$pipeline", golden_set=~"$golden_set"}'),
      ],
      hasDeployments: true,
      from: 'now-7d',
      sections: [
        { title: 'At a glance', panels: glance() },
        { title: 'Scores', panels: goldenMeasures.map((measure) => scoreGraph(measure, 12)) },
        { title: 'Segments', panels: segments() },
        { title: 'Against the baseline', panels: baseline() },
        { title: 'Labels and runs', panels: labelsAndRuns() },
        { title: 'Live traffic', panels: liveMixPanels() },
        { title: 'Schedule and sentinel', panels: schedulePanels() },
        {
          title: 'Drill-down',
          panels: [
            worstQueriesTable(12),
            mostRegressedTable(12),
            comparisonsTable(12),
            staleLabelsTable(12),
            verdictsTable(24),
            runsTable(24),
          ],
        },
      ],
    },
    settings,
  );
}

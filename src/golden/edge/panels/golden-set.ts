import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { measureGraphs } from '../../../measures/edge/panels.ts';
import { cutoff, frame, oneGoldenSet, onePipeline, segmentOf } from '../../../platform/dashboards/frame.ts';
import { graph, metricTable, stat } from '../../../platform/dashboards/panels.ts';
import { type DashboardSettings, maxBy } from '../../../platform/dashboards/promql.ts';
import { dashboardUids } from '../../../platform/metrics/alert-rules.ts';
import {
  comparisonsTable,
  missingDocumentsTable,
  mostRegressedTable,
  runsTable,
  verdictsTable,
  worstQueriesTable,
} from './drill-down.ts';
import {
  axes,
  banded,
  differenceGraph,
  inSegment,
  liveMixPanels,
  schedulePanels,
  scoreGraphs,
  stabilityGraph,
  third,
  thresholds,
} from './golden-panels.ts';

const latestTitles = { ndcg: 'nDCG', hit_rate: 'hit rate', mrr: 'MRR', recall: 'recall' } as const;

function glance(): Builder<Panel>[] {
  return [
    ...(['ndcg', 'hit_rate', 'mrr', 'recall'] as const).map((measure) =>
      stat({
        title: `Latest ${latestTitles[measure]}`,
        description: 'Score of the latest completed run at the selected cutoff.',
        unit: 'none',
        decimals: 3,
        width: 3,
        queries: [{ expr: maxBy([], `recalld_golden_${measure}`, inSegment) }],
      }),
    ),
    stat({
      title: 'Queries (n)',
      description: 'Number of judged queries over which the means of the segment are computed.',
      unit: 'short',
      width: 3,
      queries: [{ expr: maxBy([], 'recalld_golden_scored_queries', { segment: '$segment' }) }],
    }),
    stat({
      title: 'Age of last run',
      description: 'Time since the latest run completed. Void and failed runs do not count.',
      unit: 's',
      decimals: 0,
      width: 3,
      queries: [{ expr: `time() - ${maxBy([], 'recalld_golden_run_last_success_timestamp_seconds')}` }],
    }),
    stat({
      title: 'Age of last start',
      description: 'Time since the latest run started, regardless of its status.',
      unit: 's',
      decimals: 0,
      width: 3,
      queries: [{ expr: `time() - ${maxBy([], 'recalld_golden_run_last_attempt_timestamp_seconds')}` }],
    }),
    stat({
      title: 'Interval',
      description: 'Longest scheduled gap between two runs.',
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
      description:
        'All segments of the golden set. The scores of small segments vary by chance; the adjacent table shows the 95 % CI of each segment.',
      ...axes.score,
      width: 12,
      queries: [{ expr: bySegment(''), legend: '{{segment}}' }],
    }),
    metricTable({
      title: 'Segments of the latest run',
      description: 'nDCG at the selected cutoff with its 95 % CI and the number of queries.',
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
      columns: ['nDCG', 'Low', 'High', 'n'].map((name) => ({ name, width: 90 })),
    }),
    stat({
      title: 'Merged segments',
      description:
        'Number of segments in excess of the configured maximum; these segments are measured together as `other`.',
      unit: 'short',
      width: 3,
      height: 8,
      queries: [{ expr: maxBy([], 'recalld_golden_segments_overflow') }],
    }),
  ];
}

function baseline(): Builder<Panel>[] {
  return [
    differenceGraph('ndcg', 12),
    differenceGraph('hit_rate', 12),
    stabilityGraph(),
    graph({
      title: 'p-values of the differences',
      description: 'Two-sided p-value of the difference from the baseline. A small value is evidence of a change.',
      unit: 'none',
      isLog: true,
      max: 1,
      width: 12,
      queries: [{ expr: maxBy(['measure'], 'recalld_golden_baseline_p_value', inSegment), legend: '{{measure}}@$k' }],
    }),
    graph({
      title: 'Queries compared',
      description:
        'Number of queries over which the differences and the result stability are computed. Queries with a stale label are excluded from the differences.',
      ...axes.count,
      width: 12,
      queries: [
        { expr: maxBy(['measure'], 'recalld_golden_baseline_queries', inSegment), legend: '{{measure}}@$k' },
        { expr: maxBy(['k'], 'recalld_golden_rbo_queries'), legend: 'stability, rbo@{{k}}' },
        { expr: maxBy([], 'recalld_golden_no_answer_queries'), legend: 'without an answer' },
        { expr: maxBy([], 'recalld_golden_context_queries'), legend: 'with texts' },
      ],
    }),
  ];
}

function stageGraphs(): Builder<Panel>[] {
  return [
    third({
      title: 'Loss by stage',
      description:
        'Mean share of the relevant documents that each stage of the retriever loses, stacked. The gap between the top of the stack and 1 is the share that is found. Empty if the retriever reports no stages.',
      ...axes.share,
      isStacked: true,
      queries: [{ expr: maxBy(['stage'], 'recalld_golden_stage_lost_ratio'), legend: '{{stage}}' }],
    }),
    third({
      title: 'Recall by stage',
      description:
        'Mean share of the relevant documents that each stage returns, with its 95 % CI. Later stages cannot return documents that the first stage did not return.',
      ...axes.share,
      queries: banded('recalld_golden_stage_recall', '{{stage}}', {}, ['stage']),
    }),
    third({
      title: 'Queries moved by a stage',
      description:
        'Number of queries that a stage, such as a reranker, turned from a miss into a hit (a relevant document in the top k) or vice versa.',
      ...axes.count,
      queries: [
        {
          expr: maxBy(['stage', 'direction'], 'recalld_golden_stage_moved_queries'),
          legend: '{{direction}}: {{stage}}',
        },
        { expr: maxBy([], 'recalld_golden_stage_queries'), legend: 'queries' },
      ],
    }),
    third({
      title: 'Stage duration',
      description: "95th percentile of each stage's own time; absent if the retriever does not report it.",
      ...axes.seconds,
      queries: [{ expr: maxBy(['stage'], 'recalld_golden_stage_latency_p95_seconds'), legend: '{{stage}}' }],
    }),
  ];
}

function contextGraphs(): Builder<Panel>[] {
  return [
    third({
      title: 'Length of the context',
      description:
        'Mean number of characters in the retrieved texts per query, with its 95 % CI; an English token has about four characters. Empty if the retriever returns no texts.',
      ...axes.count,
      queries: banded('recalld_golden_context_characters', 'characters'),
    }),
    third({
      title: 'Repeated context',
      description:
        'Mean share of the retrieved text that repeats an earlier document of the same query, with its 95 % CI.',
      ...axes.share,
      queries: banded('recalld_golden_context_repeated_ratio', 'repeated'),
    }),
  ];
}

function labelsAndRuns(): Builder<Panel>[] {
  return [
    third({
      title: 'Judged documents missing from the store',
      description:
        'Stale: the text has another id (superseded), or the manifest lists the document as deleted, so the judgment is out of date. Lost: no other document has the text, and the manifest does not list the document as deleted, so retrieval got worse.',
      unit: 'percentunit',
      min: 0,
      queries: [
        { expr: maxBy([], 'recalld_golden_lost_documents_ratio'), legend: 'lost' },
        { expr: maxBy([], 'recalld_golden_stale_labels_ratio'), legend: 'stale' },
        thresholds('stale labels above .* on $golden_set'),
      ],
    }),
    ...measureGraphs([{ metric: 'recalld_returned_documents_absent_ratio', width: 8, max: 1 }]),
    third({
      title: 'Forbidden documents',
      description:
        'Forbidden documents that were returned, confirmed by a second request; absent if the set forbids none. Any forbidden result is a failure.',
      ...axes.count,
      queries: [{ expr: maxBy([], 'recalld_golden_forbidden_results'), legend: 'returned' }],
    }),
    third({
      title: 'False answers',
      description:
        'Share of unanswerable queries for which the retriever returned documents or failed, with its 95 % CI; absent if the set has none.',
      ...axes.share,
      queries: banded('recalld_golden_false_answer_ratio', 'answered'),
    }),
    ...contextGraphs(),
    third({
      title: 'Judged share of the top $k',
      description: 'A drop means that the retriever returns new, unjudged documents, which are not necessarily worse.',
      ...axes.share,
      queries: [{ expr: maxBy([], 'recalld_golden_judged_ratio', inSegment), legend: 'judged' }],
    }),
    third({
      title: 'Queries by outcome',
      description: 'Queries of the latest finished run by outcome.',
      ...axes.count,
      isStacked: true,
      hasOutcomes: true,
      queries: [{ expr: maxBy(['outcome'], 'recalld_golden_queries'), legend: '{{outcome}}' }],
    }),
    third({
      title: 'Run duration',
      description: 'Duration of the latest finished run.',
      ...axes.seconds,
      queries: [{ expr: maxBy([], 'recalld_golden_run_duration_seconds'), legend: 'duration' }],
    }),
    third({
      title: 'Stored runs by status',
      description:
        'Number of stored runs by status. In void runs, too many queries failed; failed runs did not finish.',
      ...axes.count,
      hasOutcomes: true,
      queries: [{ expr: maxBy(['status'], 'recalld_golden_runs'), legend: '{{status}}' }],
    }),
    third({
      title: 'Scores withheld',
      description: '1 while the latest scores are too old to trust and therefore not exported.',
      ...axes.score,
      queries: [{ expr: maxBy([], 'recalld_golden_scores_withheld'), legend: 'withheld' }],
    }),
  ];
}

function dashboardOfSet(
  spec: Pick<Parameters<typeof frame>[0], 'uid' | 'title' | 'description' | 'sections'>,
  settings: DashboardSettings,
  segments: readonly ReturnType<typeof segmentOf>[] = [],
): Dashboard {
  const variables = [onePipeline(), oneGoldenSet(), cutoff(), ...segments];
  return frame({ ...spec, variables, hasDeployments: true, from: 'now-7d' }, settings);
}

const segmentOfScores = () =>
  segmentOf('recalld_golden_ndcg{job=~"$job", pipeline=~"$pipeline", golden_set=~"$golden_set"}');

export function goldenSetDashboard(settings: DashboardSettings): Dashboard {
  return dashboardOfSet(
    {
      uid: dashboardUids.golden,
      title: 'recalld: golden set',
      description:
        'Is retrieval as good as before? Scores of one golden set, by segment and compared with the baseline.',
      sections: [
        { title: 'At a glance', panels: glance() },
        { title: 'Scores', panels: scoreGraphs(12) },
        {
          title: 'Comparison with the baseline',
          panels: baseline(),
          noData: 'No comparison: pin a run with `recalld baselines pin`',
        },
        { title: 'Segments', panels: segments() },
      ],
    },
    settings,
    [segmentOfScores()],
  );
}

export function goldenRunsDashboard(settings: DashboardSettings): Dashboard {
  return dashboardOfSet(
    {
      uid: dashboardUids.runs,
      title: 'recalld: golden runs and judgments',
      description:
        'Can the scores be trusted? Runs, schedule, judgments, and how well the set represents live traffic.',
      sections: [
        { title: 'Judgments and runs', panels: labelsAndRuns() },
        { title: 'Schedule and sentinel', panels: schedulePanels(), noData: 'No sentinel is configured' },
        {
          title: 'Compared with live traffic',
          panels: liveMixPanels(),
          noData: 'Not measured yet: needs an embedder and a week of live queries',
        },
      ],
    },
    settings,
    [segmentOfScores()],
  );
}

export function goldenQueriesDashboard(settings: DashboardSettings): Dashboard {
  return dashboardOfSet(
    {
      uid: dashboardUids.queries,
      title: 'recalld: golden queries and stages',
      description:
        'Where are relevant documents lost? Individual queries of one golden set, and stages of the retriever.',
      sections: [
        {
          title: 'Queries',
          panels: [
            worstQueriesTable(12),
            mostRegressedTable(12),
            comparisonsTable(12),
            missingDocumentsTable(12),
            verdictsTable(24),
            runsTable(24),
          ],
        },
        {
          title: 'Stages of the retriever',
          panels: stageGraphs(),
          noData: 'The retriever reports no stages',
        },
      ],
    },
    settings,
  );
}

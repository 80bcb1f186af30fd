/** Grafana dashboard for agents: the retrievals of each turn, and grades of the combined results of a turn. */
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { type MeasurePanel, measureGraphs } from '../../measures/edge/panels.ts';
import { frame, onePipeline, segmentOf } from '../../platform/dashboards/frame.ts';
import type { DashboardSettings } from '../../platform/dashboards/promql.ts';
import { dashboardUids } from '../../platform/metrics/alert-rules.ts';

const retrievals: readonly MeasurePanel[] = [
  'recalld_episode_retrievals',
  'recalld_episode_repeats',
  { metric: 'recalld_episode_repeat_ratio', max: 1 },
  { metric: 'recalld_episode_new_documents_ratio', max: 1 },
  'recalld_episode_empty_ratio',
  { metric: 'recalld_rewrite_answer_ratio', max: 1 },
];

const judged: readonly MeasurePanel[] = [
  'recalld_episode_hit_rate',
  { metric: 'recalld_episode_judged', title: 'Graded episodes (n)', unit: 'short', min: 0 },
  { metric: 'recalld_rewrite_gain', min: -1, max: 1 },
  { metric: 'recalld_rewrite_judged', title: 'Graded episodes with a rewritten query (n)', unit: 'short', min: 0 },
];

export function agentDashboard(settings: DashboardSettings): Dashboard {
  return frame(
    {
      uid: dashboardUids.agents,
      title: 'recalld: agents',
      description:
        'How do agents retrieve? Retrievals per turn, repeated retrievals, new documents, rewritten queries, and grades.',
      variables: [onePipeline(), segmentOf('recalld_episode_retrievals{job=~"$job", pipeline=~"$pipeline"}')],
      hasDeployments: true,
      sections: [
        {
          title: 'Retrievals per turn',
          panels: measureGraphs(retrievals, { min: 0 }),
          noData: 'No agent reports turns',
        },
        {
          title: 'Graded turns',
          panels: measureGraphs(judged, { width: 6, without: ['k'] }),
          noData: 'No turns are graded',
        },
      ],
    },
    settings,
  );
}

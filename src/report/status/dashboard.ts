/** Retrieval health: is everything well, at one glance, over all pipelines. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import {
  type Dashboard,
  DashboardLinkBuilder,
  DashboardLinkType,
  type Panel,
} from '@grafana/grafana-foundation-sdk/dashboard';
import type { Verdict } from '../../core/model.ts';
import { comparisonsTable, deploymentsTable, verdictsTable } from '../../golden/edge/panels/drill-down.ts';
import { floorMargins, worstSetGraph } from '../../golden/edge/panels/golden-panels.ts';
import { cutoff, frame, manyGoldenSets, manyPipelines } from '../../platform/dashboards/frame.ts';
import {
  graph,
  metricTable,
  type Step,
  snapshotAge,
  stat,
  stateTimeline,
  verdictNumbers,
  verdictTexts,
} from '../../platform/dashboards/panels.ts';
import { type DashboardSettings, maxBy, rateBy, runbookUrl } from '../../platform/dashboards/promql.ts';
import { dashboardUids } from '../../platform/metrics/alert-rules.ts';

const set = ['pipeline', 'golden_set'] as const;
const check = ['pipeline', 'check'] as const;

const anyIsBad: readonly Step[] = [
  { from: null, color: 'green' },
  { from: 1, color: 'red' },
];
const anyIsDoubtful: readonly Step[] = [
  { from: null, color: 'green' },
  { from: 1, color: 'yellow' },
];

function checksIn(state: Verdict): string {
  return `sum(${maxBy(check, 'recalld_check_state', { state })})`;
}

/** Without those whose config takes silence as no alarm. */
const unjudged = `sum(${maxBy(check, 'recalld_check_state', { state: 'no_data' })} unless on (pipeline, check) ${maxBy(check, 'recalld_check_quiet')} == 1)`;

const lastSuccess = maxBy(set, 'recalld_golden_run_last_success_timestamp_seconds');
const interval = maxBy(set, 'recalld_golden_run_interval_seconds');

const verdictOverTime = (['critical', 'no_data', 'warning'] as const)
  .map((state) => `${verdictNumbers[state]} * ${maxBy(check, 'recalld_check_state', { state })}`)
  .join(' + ');

function glance(): Builder<Panel>[] {
  return [
    stat({
      title: 'Critical checks',
      description: 'Checks whose latest verdict is critical.',
      unit: 'short',
      width: 4,
      steps: anyIsBad,
      queries: [{ expr: checksIn('critical') }],
    }),
    stat({
      title: 'Checks at warning',
      description: 'Checks whose latest verdict is a warning.',
      unit: 'short',
      width: 4,
      steps: anyIsDoubtful,
      queries: [{ expr: checksIn('warning') }],
    }),
    stat({
      title: 'Checks without data, or blind',
      description:
        'Checks that could not fail, whatever happens: those without data (not those that only wait for traffic), and regression checks that would not find a drop of twice their size.',
      unit: 'short',
      width: 4,
      steps: anyIsDoubtful,
      queries: [{ expr: `(${unjudged} or vector(0)) + (sum(${maxBy(check, 'recalld_check_blind')}) or vector(0))` }],
    }),
    stat({
      title: 'Oldest scores, in intervals',
      description:
        'Time since the latest completed run of each golden set, in intervals of its schedule. From 3 on its scores are withheld.',
      unit: 'none',
      decimals: 1,
      width: 4,
      steps: [
        { from: null, color: 'green' },
        { from: 1.5, color: 'yellow' },
        { from: 3, color: 'red' },
      ],
      queries: [{ expr: `max((time() - ${lastSuccess}) / ${interval})` }],
    }),
    stat({
      title: 'Golden sets with scores withheld',
      description: 'Golden sets whose latest scores are too old to trust and are therefore not shown.',
      unit: 'short',
      width: 4,
      steps: anyIsBad,
      queries: [{ expr: `sum(${maxBy(set, 'recalld_golden_scores_withheld')})` }],
    }),
    snapshotAge(4),
    stat({
      title: 'Margin above the floors',
      description:
        'Latest score minus the highest floor that a check holds it to. Below 0 the mean is below the floor, which is a warning at least; it is critical when the upper 95 % bound is below a critical floor.',
      unit: 'none',
      decimals: 3,
      width: 24,
      height: 5,
      steps: [
        { from: null, color: 'red' },
        { from: 0, color: 'yellow' },
        { from: 0.01, color: 'green' },
      ],
      queries: floorMargins(),
    }),
  ];
}

/** Alerts carry the labels that keep deployments apart, and no others of a target. */
function firing(groupLabels: readonly string[]): string {
  return `ALERTS{${[...groupLabels.map((label) => `${label}=~"$${label}"`), 'alertname=~"Recalld.+"'].join(', ')}}`;
}

function states(settings: DashboardSettings): Builder<Panel>[] {
  const page = runbookUrl(settings, '${__value.text}');
  const runbooks =
    page === null
      ? []
      : [new DashboardLinkBuilder('Runbook').type(DashboardLinkType.Link).url(page).targetBlank(true).build()];
  return [
    stateTimeline({
      title: 'Verdicts of the checks',
      description: 'What each check said over time. The reason of each verdict stands in the table of verdicts below.',
      unit: 'none',
      width: 16,
      height: 9,
      mappings: verdictTexts,
      queries: [{ expr: verdictOverTime, legend: '{{pipeline}}: {{check}}' }],
    }),
    metricTable({
      title: 'Alerts that fire',
      description:
        'Alerts of recalld that Prometheus has pending or firing. The name leads to the runbook; the watchdog always fires.',
      width: 8,
      height: 9,
      queries: [{ expr: `max by (alertname, alertstate, severity, pipeline) (${firing(settings.groupLabels)})` }],
      show: { alertname: 'Alert', alertstate: 'State', severity: 'Severity', pipeline: 'Pipeline' },
      columns: [{ name: 'Alert', links: runbooks }],
    }),
    metricTable({
      title: 'Likely causes',
      description: 'What is likely behind what is in alarm; `recalld diagnose` shows the evidence.',
      width: 24,
      height: 5,
      queries: [{ expr: maxBy(['pipeline', 'cause', 'confidence'], 'recalld_diagnosis_info') }],
      show: { pipeline: 'Pipeline', cause: 'Likely cause', confidence: 'Confidence' },
    }),
  ];
}

function liveTraffic(): Builder<Panel>[] {
  return [
    graph({
      title: 'Live queries',
      description: 'Live queries a second that all replicas received, sampled or not.',
      unit: 'reqps',
      min: 0,
      width: 8,
      queries: [{ expr: rateBy(['pipeline'], 'recalld_queries_total'), legend: '{{pipeline}}' }],
    }),
    graph({
      title: 'Queries without results or failed',
      description:
        'Share of live queries without any document, and of those that failed or timed out, in the trailing window.',
      unit: 'percentunit',
      min: 0,
      width: 8,
      queries: [
        {
          expr: maxBy(['pipeline'], 'recalld_query_zero_results_ratio', { segment: 'all' }),
          legend: '{{pipeline}}: no result',
        },
        {
          expr: maxBy(['pipeline'], 'recalld_query_error_ratio', { segment: 'all' }),
          legend: '{{pipeline}}: failed',
        },
      ],
    }),
    graph({
      title: 'Positive feedback',
      description: 'Share of positive opinions among the positive and negative ones of the trailing window.',
      unit: 'percentunit',
      min: 0,
      max: 1,
      width: 8,
      queries: [
        {
          expr: maxBy(['pipeline'], 'recalld_feedback_positive_ratio', { segment: 'all', basis: 'all' }),
          legend: '{{pipeline}}',
        },
      ],
    }),
  ];
}

function sinceJudged(): Builder<Panel> {
  const judgedAt = maxBy(check, 'recalld_check_last_evaluation_timestamp_seconds');
  return graph({
    title: 'Since each check was judged',
    description: 'A verdict is as old as the data that it was judged by.',
    unit: 's',
    min: 0,
    width: 8,
    queries: [{ expr: `time() - ${judgedAt}`, legend: '{{pipeline}}: {{check}}' }],
  });
}

export function healthDashboard(settings: DashboardSettings): Dashboard {
  return frame(
    {
      uid: dashboardUids.health,
      title: 'recalld: retrieval health',
      description: 'Is retrieval as good as it should be, and is anybody looking?',
      variables: [manyPipelines(), manyGoldenSets(), cutoff()],
      hasDeployments: true,
      sections: [
        { title: 'At a glance', panels: glance() },
        { title: 'Checks and alerts', panels: states(settings) },
        {
          title: 'Golden trends',
          panels: (['ndcg', 'hit_rate', 'mrr'] as const).map((measure) => worstSetGraph(measure)),
        },
        { title: 'Live traffic', panels: liveTraffic() },
        {
          title: 'What changed',
          panels: [deploymentsTable(12), comparisonsTable(12), verdictsTable(16), sinceJudged()],
        },
      ],
    },
    settings,
  );
}

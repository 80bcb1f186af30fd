/** The Grafana dashboard "retrieval health": the status of all pipelines. */
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
  severityColors,
  snapshotAge,
  stat,
  stateTimeline,
  verdictNumbers,
  verdictTexts,
} from '../../platform/dashboards/panels.ts';
import { type DashboardSettings, maxBy, rateBy } from '../../platform/dashboards/promql.ts';
import { dashboardUids, runbookUrl } from '../../platform/metrics/alert-rules.ts';

const set = ['pipeline', 'golden_set'] as const;
const check = ['pipeline', 'check'] as const;

/** A number that should be 0; any other number has the given color. */
function problemCount(title: string, description: string, color: Step['color'], expr: string): Builder<Panel> {
  const steps: readonly Step[] = [
    { from: null, color: 'green' },
    { from: 1, color },
  ];
  return stat({ title, description, unit: 'short', width: 4, steps, queries: [{ expr }] });
}

function checksIn(state: Verdict): string {
  return `sum(${maxBy(check, 'recalld_check_state', { state })})`;
}

/** Counts checks without data, except checks whose config accepts missing data. */
const withoutData = `sum(${maxBy(check, 'recalld_check_state', { state: 'no_data' })} unless on (pipeline, check) ${maxBy(check, 'recalld_check_quiet')} == 1)`;

const lastSuccess = maxBy(set, 'recalld_golden_run_last_success_timestamp_seconds');
const interval = maxBy(set, 'recalld_golden_run_interval_seconds');

const verdictOverTime = (['critical', 'no_data', 'warning'] as const)
  .map((state) => `${verdictNumbers[state]} * ${maxBy(check, 'recalld_check_state', { state })}`)
  .join(' + ');

function glance(): Builder<Panel>[] {
  return [
    problemCount('Critical checks', 'Checks whose latest verdict is critical.', 'red', checksIn('critical')),
    problemCount('Warning checks', 'Checks whose latest verdict is a warning.', 'yellow', checksIn('warning')),
    problemCount(
      'No data, or blind',
      'Checks that cannot currently detect a problem: checks without data, and blind regression checks. A check that is only waiting for traffic is not counted. A regression check is blind if it has too few queries to detect a drop of twice its threshold.',
      'yellow',
      `(${withoutData} or vector(0)) + (sum(${maxBy(check, 'recalld_check_blind')}) or vector(0))`,
    ),
    stat({
      title: 'Age of the oldest scores',
      description:
        'Age of the oldest golden scores, in intervals between scheduled runs. Scores older than 3 intervals are not exported.',
      unit: 'suffix: intervals',
      decimals: 1,
      width: 4,
      steps: [
        { from: null, color: 'green' },
        { from: 1.5, color: 'yellow' },
        { from: 3, color: 'red' },
      ],
      queries: [{ expr: `max((time() - ${lastSuccess}) / ${interval})` }],
    }),
    problemCount(
      'Withheld scores',
      'Golden sets whose latest scores are not exported, because they are too old to trust.',
      'red',
      `sum(${maxBy(set, 'recalld_golden_scores_withheld')})`,
    ),
    snapshotAge(4),
    stat({
      title: 'Margin above the threshold',
      description:
        'Latest score minus the highest threshold of its checks. If the margin is negative, at least one check fails. A failing check is critical if its severity is critical and the upper bound of the 95 % CI is also below its threshold; otherwise, it is a warning.',
      unit: 'none',
      decimals: 3,
      width: 24,
      height: 4,
      isNamed: true,
      steps: [
        { from: null, color: 'red' },
        { from: 0, color: 'yellow' },
        { from: 0.01, color: 'green' },
      ],
      queries: floorMargins(),
    }),
  ];
}

/**
 * Selects recalld's alerts. Alerts have the labels that identify a deployment, but no other labels of the scrape
 * target. The watchdog has none of these labels, so each matcher also accepts an empty value.
 */
function firing(groupLabels: readonly string[]): string {
  return `ALERTS{${[...groupLabels.map((label) => `${label}=~"$${label}|"`), 'alertname=~"Recalld.+"'].join(', ')}}`;
}

function states(settings: DashboardSettings): Builder<Panel>[] {
  const page = runbookUrl(settings, '${__value.text}');
  const runbooks =
    page === null
      ? []
      : [new DashboardLinkBuilder('Runbook').type(DashboardLinkType.Link).url(page).targetBlank(true).build()];
  return [
    stateTimeline({
      title: 'Check verdicts',
      description:
        'Verdict of each check over time. The reasons are in the table "Latest verdicts and their reasons" below.',
      unit: 'none',
      width: 16,
      height: 9,
      mappings: verdictTexts,
      queries: [{ expr: verdictOverTime, legend: '{{pipeline}}: {{check}}' }],
    }),
    metricTable({
      title: 'Firing alerts',
      description:
        "recalld's pending and firing alerts in Prometheus. Each alert name links to a runbook. The watchdog is always firing; if the table is empty, Prometheus does not evaluate recalld's rules.",
      width: 8,
      height: 9,
      queries: [{ expr: `max by (alertname, alertstate, severity, pipeline) (${firing(settings.groupLabels)})` }],
      show: { alertname: 'Alert', alertstate: 'State', severity: 'Severity', pipeline: 'Pipeline' },
      columns: [
        { name: 'Alert', links: runbooks },
        { name: 'State', width: 80 },
        { name: 'Severity', width: 90, mappings: severityColors },
        { name: 'Pipeline', width: 110 },
      ],
    }),
    metricTable({
      title: 'Likely causes',
      description: 'Likely causes of open incidents. `recalld diagnose` shows the evidence.',
      width: 16,
      height: 5,
      queries: [{ expr: maxBy(['pipeline', 'cause', 'confidence'], 'recalld_diagnosis_info') }],
      show: { pipeline: 'Pipeline', cause: 'Likely cause', confidence: 'Confidence' },
      noData: 'No open incident with a diagnosis',
    }),
    metricTable({
      title: 'Silenced pipelines',
      description: 'Pipelines whose alerts and messages are suppressed now. `recalld silence list` shows why.',
      width: 8,
      height: 5,
      queries: [{ expr: `${maxBy(['pipeline'], 'recalld_silenced')} == 1` }],
      show: { pipeline: 'Pipeline' },
      noData: 'No pipeline is silenced',
    }),
  ];
}

function liveTraffic(): Builder<Panel>[] {
  return [
    graph({
      title: 'Live queries',
      description: 'Live queries received per second by all replicas, sampled or not.',
      unit: 'reqps',
      min: 0,
      width: 8,
      queries: [{ expr: rateBy(['pipeline'], 'recalld_queries_total'), legend: '{{pipeline}}' }],
    }),
    graph({
      title: 'Queries without results or with errors',
      description:
        'Live queries without results, and live queries with an error or a timeout, as shares of the live queries in the trailing window.',
      unit: 'percentunit',
      min: 0,
      width: 8,
      queries: [
        {
          expr: maxBy(['pipeline'], 'recalld_query_zero_results_ratio', { segment: 'all' }),
          legend: '{{pipeline}}: no results',
        },
        {
          expr: maxBy(['pipeline'], 'recalld_query_error_ratio', { segment: 'all' }),
          legend: '{{pipeline}}: failed',
        },
      ],
    }),
    graph({
      title: 'Positive feedback',
      description: 'Share of positive feedback among positive and negative feedback in the trailing window.',
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

function timeSinceEvaluation(): Builder<Panel> {
  const evaluatedAt = maxBy(check, 'recalld_check_last_evaluation_timestamp_seconds');
  return metricTable({
    title: 'Time since each check was last evaluated',
    description:
      'Time since the latest evaluation of each check. A verdict is only as recent as the data on which it is based.',
    width: 8,
    queries: [{ expr: `sort_desc(time() - ${evaluatedAt})` }],
    show: { pipeline: 'Pipeline', check: 'Check', Value: 'Age' },
    columns: [
      { name: 'Pipeline', width: 110 },
      { name: 'Age', width: 90, unit: 's' },
    ],
  });
}

export function healthDashboard(settings: DashboardSettings): Dashboard {
  return frame(
    {
      uid: dashboardUids.health,
      title: 'recalld: retrieval health',
      description: 'Retrieval quality of all pipelines: checks, alerts, golden scores, live traffic and deployments.',
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
          title: 'Changes',
          panels: [deploymentsTable(12), comparisonsTable(12), verdictsTable(16), timeSinceEvaluation()],
        },
      ],
    },
    settings,
  );
}

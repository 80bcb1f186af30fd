/** Every dashboard of recalld, that of recalld itself among them, and the metrics that are on none of them. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { densityDashboard } from '../../density/edge/dashboard.ts';
import { goldenSetDashboard } from '../../golden/edge/panels/golden-set.ts';
import { liveTrafficDashboard } from '../../live/edge/dashboard.ts';
import { frame } from '../../platform/dashboards/frame.ts';
import { graph, metricTable, type Step, snapshotAge, stat } from '../../platform/dashboards/panels.ts';
import {
  type DashboardSettings,
  maxBy,
  orNone,
  processMetric,
  quantileBy,
  rateBy,
  selector,
} from '../../platform/dashboards/promql.ts';
import { dashboardUids } from '../../platform/metrics/alert-rules.ts';
import type { MetricName, MetricsOfType } from '../../platform/metrics/catalogue.ts';
import { healthDashboard } from '../../report/status/dashboard.ts';

/** Of all pipelines: this dashboard is narrowed to replicas only. */
const anyPipeline = { pipeline: { like: '.*' } } as const;

const neverAny: readonly Step[] = [
  { from: null, color: 'green' },
  { from: 1e-9, color: 'red' },
];

function glance(): Builder<Panel>[] {
  return [
    stat({
      title: 'Replicas',
      description: 'Targets of the chosen job that answer.',
      unit: 'short',
      width: 4,
      steps: [
        { from: null, color: 'red' },
        { from: 1, color: 'green' },
      ],
      queries: [{ expr: 'sum(up{job=~"$job", instance=~"$instance"})' }],
    }),
    snapshotAge(5),
    stat({
      title: 'Failed snapshots',
      description: 'Readings within the time shown of the rows behind the stored gauges that failed.',
      unit: 'short',
      width: 5,
      steps: neverAny,
      queries: [{ expr: countedInRange('recalld_snapshot_errors_total') }],
    }),
    stat({
      title: 'Dropped samples',
      description: 'Values within the time shown that were not finite numbers. Any is a bug in recalld.',
      unit: 'short',
      width: 5,
      steps: neverAny,
      queries: [{ expr: countedInRange('recalld_dropped_samples_total') }],
    }),
    metricTable({
      title: 'Versions',
      description: 'What each replica runs.',
      width: 5,
      height: 4,
      queries: [{ expr: `max by (instance, version, nodejs) (${selector('recalld_build_info', '', {})})` }],
      show: { instance: 'Instance', version: 'recalld', nodejs: 'Node.js' },
    }),
  ];
}

function countedInRange(name: MetricsOfType<'counter'>): string {
  return `sum(increase(${selector(name, '', {})}[$__range]))`;
}

function jobs(): Builder<Panel>[] {
  return [
    graph({
      title: 'Jobs that ended',
      description: 'Jobs a second by outcome: failed ones are tried again, dead ones are not.',
      unit: 'ops',
      min: 0,
      width: 5,
      isStacked: true,
      queries: [{ expr: rateBy(['outcome'], 'recalld_jobs_total'), legend: '{{outcome}}' }],
    }),
    graph({
      title: 'Duration of jobs',
      description: '95 % of the jobs of a kind took no longer.',
      unit: 's',
      min: 0,
      width: 5,
      queries: [{ expr: quantileBy(0.95, ['task'], 'recalld_job_duration_seconds'), legend: '{{task}}' }],
    }),
    graph({
      title: 'Jobs in the queue',
      description: 'Waiting jobs that only grow mean too few workers.',
      unit: 'short',
      min: 0,
      width: 5,
      queries: [{ expr: maxBy(['queue', 'state'], 'recalld_queue_jobs'), legend: '{{queue}}: {{state}}' }],
    }),
    graph({
      title: 'Starts given up',
      description:
        'Planned starts a second that could not be stored before the next one was due, because the database or the queue was away.',
      unit: 'ops',
      min: 0,
      width: 5,
      queries: [{ expr: orNone(rateBy(['task'], 'recalld_ticks_given_up_total'), 'task'), legend: '{{task}}' }],
    }),
    graph({
      title: 'Messages',
      description: 'Messages about incidents a second to the receivers of `notify`, by outcome.',
      unit: 'ops',
      min: 0,
      width: 4,
      queries: [{ expr: orNone(rateBy(['outcome'], 'recalld_notifications_total'), 'outcome'), legend: '{{outcome}}' }],
    }),
  ];
}

function ingest(): Builder<Panel>[] {
  return [
    graph({
      title: 'Shed requests',
      description: 'Ingest requests a second that were answered 429 or 503, by reason.',
      unit: 'reqps',
      min: 0,
      width: 6,
      queries: [{ expr: orNone(rateBy(['reason'], 'recalld_ingest_shed_total'), 'reason'), legend: '{{reason}}' }],
    }),
    graph({
      title: 'Requests under way',
      description:
        'Most bytes that requests under way held at once within a second, estimated, by process. Beyond `server.max_under_way_mb` they are shed.',
      unit: 'bytes',
      min: 0,
      width: 6,
      queries: [
        {
          expr: `max by (instance) (${selector('recalld_requests_under_way_bytes', '', {})})`,
          legend: '{{instance}}',
        },
      ],
    }),
    graph({
      title: 'Rejected items',
      description: 'Queries and feedback a second that were not accepted, by the code of the reason.',
      unit: 'ops',
      min: 0,
      width: 6,
      queries: [{ expr: orNone(rateBy(['code'], 'recalld_ingest_rejected_total'), 'code'), legend: '{{code}}' }],
    }),
    graph({
      title: 'OpenTelemetry spans',
      description: 'Spans a second by what became of them.',
      unit: 'ops',
      min: 0,
      width: 6,
      queries: [{ expr: orNone(rateBy(['outcome'], 'recalld_trace_spans_total'), 'outcome'), legend: '{{outcome}}' }],
    }),
    graph({
      title: 'Redaction service',
      description:
        'Texts a second that were given to the redaction service, by outcome. Of a text that it could not take only a hash is kept.',
      unit: 'ops',
      min: 0,
      width: 6,
      queries: [
        {
          expr: orNone(rateBy(['outcome'], 'recalld_redaction_service_total', anyPipeline), 'outcome'),
          legend: '{{outcome}}',
        },
      ],
    }),
  ];
}

function processes(): Builder<Panel>[] {
  return [
    graph({
      title: 'CPU',
      description: 'Cores in use by replica.',
      unit: 'none',
      min: 0,
      width: 6,
      queries: [
        {
          expr: 'sum by (instance) (rate(process_cpu_seconds_total{job=~"$job", instance=~"$instance"}[$__rate_interval]))',
          legend: '{{instance}}',
        },
      ],
    }),
    graph({
      title: 'Memory',
      description: 'Resident memory by replica.',
      unit: 'bytes',
      min: 0,
      width: 6,
      queries: [{ expr: processMetric('process_resident_memory_bytes'), legend: '{{instance}}' }],
    }),
    graph({
      title: 'Lag of the event loop',
      description:
        'A hundredth of what arrived waited longer for its turn. Below 50 ms all is well; a long task makes it jump.',
      unit: 's',
      min: 0,
      width: 6,
      queries: [
        {
          expr: `histogram_quantile(0.99, sum by (instance, le) (rate(${selector('recalld_event_loop_lag_seconds', '_bucket', {})}[$__rate_interval])))`,
          legend: '{{instance}}',
        },
      ],
    }),
    graph({
      title: 'Clock',
      description:
        'By how much the clock of each replica is ahead of that of the database. Beyond a minute it starts nothing by schedule.',
      unit: 's',
      width: 6,
      queries: [
        {
          expr: `max by (instance) (${selector('recalld_clock_skew_seconds', '', {})})`,
          legend: '{{instance}}',
        },
      ],
    }),
  ];
}

function recalldServiceDashboard(settings: DashboardSettings): Dashboard {
  return frame(
    {
      uid: dashboardUids.itself,
      title: 'recalld: itself',
      description: 'Is the watcher well: replicas, snapshots, jobs, ingest.',
      variables: [],
      hasDeployments: false,
      from: 'now-6h',
      sections: [
        { title: 'At a glance', panels: glance() },
        { title: 'Jobs', panels: jobs() },
        { title: 'Ingest', panels: ingest() },
        { title: 'Processes', panels: processes() },
      ],
    },
    settings,
  );
}

interface DashboardFile {
  /** Name of the file, without a folder. */
  readonly name: string;
  readonly dashboard: Dashboard;
}

/** The dashboards, in the order in which one looks at them. */
export function createDashboards(settings: DashboardSettings): DashboardFile[] {
  return [
    { name: 'retrieval-health.json', dashboard: healthDashboard(settings) },
    { name: 'golden-set.json', dashboard: goldenSetDashboard(settings) },
    { name: 'density-and-topics.json', dashboard: densityDashboard(settings) },
    { name: 'live-traffic.json', dashboard: liveTrafficDashboard(settings) },
    { name: 'recalld-itself.json', dashboard: recalldServiceDashboard(settings) },
  ];
}

/** A dashboard as the text of its file. */
export function dashboardText(dashboard: Dashboard): string {
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

const asked = 'Exported only where `golden[].gains` of a config asks for it.';
const told = 'Alerts tell it in their descriptions; the measures themselves have panels.';

const stacked = 'Losses are stacked, which leaves no room for bands; the recall by stage has its own.';

/** Metrics that are on no panel, each with the reason why. */
export const excusedMetrics: Readonly<Partial<Record<MetricName, string>>> = {
  recalld_golden_cg: asked,
  recalld_golden_cg_ci_low: asked,
  recalld_golden_cg_ci_high: asked,
  recalld_golden_dcg: asked,
  recalld_golden_dcg_ci_low: asked,
  recalld_golden_dcg_ci_high: asked,
  recalld_check_info: told,
  recalld_check_value: told,
  recalld_check_value_ci_low: told,
  recalld_check_value_ci_high: told,
  recalld_threshold_seconds: told,
  recalld_check_value_seconds: told,
  recalld_check_value_seconds_ci_low: told,
  recalld_check_value_seconds_ci_high: told,
  recalld_check_before_seconds: told,
  recalld_check_n: told,
  recalld_check_since_timestamp_seconds: told,
  recalld_check_before: told,
  recalld_check_smallest_detectable_drop: told,
  recalld_golden_stage_lost_ratio_ci_low: stacked,
  recalld_golden_stage_lost_ratio_ci_high: stacked,
  recalld_check_outage: 'It holds an alert back, and the alert on the retriever is shown.',
};

/** All Grafana dashboards, including the dashboard about recalld, and the metrics that no dashboard shows. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { densityDashboard, storeDashboard } from '../../density/edge/dashboard.ts';
import {
  goldenQueriesDashboard,
  goldenRunsDashboard,
  goldenSetDashboard,
} from '../../golden/edge/panels/golden-set.ts';
import { judgeDashboard, judgedDashboard } from '../../judging/edge/dashboards.ts';
import { agentDashboard } from '../../live/edge/agent-dashboard.ts';
import { feedbackDashboard, liveTrafficDashboard } from '../../live/edge/dashboard.ts';
import { frame } from '../../platform/dashboards/frame.ts';
import { graph, metricTable, type Step, snapshotAge, stat } from '../../platform/dashboards/panels.ts';
import {
  type DashboardSettings,
  maxBy,
  orNone,
  type PromQuery,
  processMetric,
  quantileBy,
  rateBy,
  selector,
} from '../../platform/dashboards/promql.ts';
import { dashboardUids } from '../../platform/metrics/alert-rules.ts';
import type { LabelsOf, MetricsOfType } from '../../platform/metrics/catalogue.ts';
import { healthDashboard } from '../../report/status/dashboard.ts';

/** Matches every pipeline. The dashboard about recalld filters by replica, not by pipeline. */
const anyPipeline = { pipeline: { like: '.*' } } as const;

const neverAny: readonly Step[] = [
  { from: null, color: 'green' },
  { from: 1e-9, color: 'red' },
];

function glance(): Builder<Panel>[] {
  return [
    stat({
      title: 'Replicas',
      description: 'Replicas of the selected job that Prometheus can scrape.',
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
      description: 'Failed database reads for /metrics within the time range.',
      unit: 'short',
      width: 5,
      steps: neverAny,
      queries: [{ expr: countedInRange('recalld_snapshot_errors_total') }],
    }),
    stat({
      title: 'Dropped samples',
      description:
        'Metric values that were dropped within the time range because they were not finite numbers. Each such value indicates a bug in recalld.',
      unit: 'short',
      width: 5,
      steps: neverAny,
      queries: [{ expr: countedInRange('recalld_dropped_samples_total') }],
    }),
    metricTable({
      title: 'Versions',
      description: 'Versions of recalld and Node.js on each replica.',
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

/**
 * Returns two queries: one for the total, and one for the parts that are not zero. A legend with every part would be
 * taller than the graph.
 */
function totalAndParts(total: string, parts: string, legend: string): PromQuery[] {
  return [
    { expr: `${total} or vector(0)`, legend: 'total' },
    { expr: `${parts} > 0`, legend },
  ];
}

type Counter = MetricsOfType<'counter'>;

function partsOf<Name extends Counter>(label: keyof LabelsOf<Name> & string, name: Name): PromQuery[] {
  return totalAndParts(rateBy([], name), rateBy([label], name), `{{${label}}}`);
}

const perReplica = (expr: string): PromQuery[] => [{ expr, legend: '{{instance}}' }];

const queued = maxBy(['queue', 'state'], 'recalld_queue_jobs');

const usual = { unit: 'ops', min: 0, width: 6 } as const;

function jobs(): Builder<Panel>[] {
  return [
    graph({
      ...usual,
      title: 'Completed jobs',
      description: 'Jobs per second by outcome. Failed jobs are retried; dead jobs are not.',
      width: 8,
      isStacked: true,
      hasOutcomes: true,
      queries: [{ expr: rateBy(['outcome'], 'recalld_jobs_total'), legend: '{{outcome}}' }],
    }),
    graph({
      title: 'Job duration, p95',
      description: '95th percentile of job duration, by job.',
      unit: 's',
      isLog: true,
      width: 16,
      hasSideLegend: true,
      queries: [{ expr: quantileBy(0.95, ['task'], 'recalld_job_duration_seconds'), legend: '{{task}}' }],
    }),
    graph({
      ...usual,
      title: 'Jobs in the queue',
      description:
        'Total number of jobs in all queues, and the nonzero numbers of jobs by queue and state. If the number of waiting jobs keeps growing, start more workers.',
      unit: 'short',
      width: 8,
      queries: totalAndParts(`sum(${queued})`, queued, '{{queue}}: {{state}}'),
    }),
    graph({
      ...usual,
      title: 'Skipped starts',
      description:
        'Skipped scheduled starts per second. A start is skipped if the database or the queue is unavailable until the next scheduled time.',
      width: 8,
      queries: partsOf('task', 'recalld_ticks_given_up_total'),
    }),
    graph({
      ...usual,
      title: 'Notifications',
      description: 'Incident notifications per second to the receivers in `notify`, by outcome.',
      width: 8,
      hasOutcomes: true,
      queries: [{ expr: orNone(rateBy(['outcome'], 'recalld_notifications_total'), 'outcome'), legend: '{{outcome}}' }],
    }),
  ];
}

function ingest(): Builder<Panel>[] {
  return [
    graph({
      ...usual,
      title: 'Shed requests',
      description: 'Rejected ingest requests per second (status 429 or 503), by reason.',
      unit: 'reqps',
      queries: partsOf('reason', 'recalld_ingest_shed_total'),
    }),
    graph({
      ...usual,
      title: 'Memory of requests in progress',
      description:
        'Estimated peak memory of concurrent requests in the last second, by process. Above `server.max_under_way_mb`, requests are refused.',
      unit: 'bytes',
      queries: perReplica(`max by (instance) (${selector('recalld_requests_under_way_bytes', '', {})})`),
    }),
    graph({
      ...usual,
      title: 'Rejected items',
      description: 'Rejected live queries and feedback items per second, by error code.',
      queries: partsOf('code', 'recalld_ingest_rejected_total'),
    }),
    graph({
      ...usual,
      title: 'OpenTelemetry spans',
      description: 'Received spans per second, by outcome.',
      queries: partsOf('outcome', 'recalld_trace_spans_total'),
    }),
    graph({
      ...usual,
      title: 'Redaction service',
      description:
        'Texts per second sent to the redaction service, by outcome. If the service fails, only a hash of the text is stored.',
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
      ...usual,
      title: 'CPU',
      description: 'Used CPU cores, by replica.',
      unit: 'none',
      queries: perReplica(
        'sum by (instance) (rate(process_cpu_seconds_total{job=~"$job", instance=~"$instance"}[$__rate_interval]))',
      ),
    }),
    graph({
      ...usual,
      title: 'Memory',
      description: 'Resident memory, by replica.',
      unit: 'bytes',
      queries: perReplica(processMetric('process_resident_memory_bytes')),
    }),
    graph({
      ...usual,
      title: 'Event loop lag, p99',
      description:
        '99th percentile of the delay before the process handles an event. Values below 50 ms are normal; a long task causes a spike.',
      unit: 's',
      queries: perReplica(
        `histogram_quantile(0.99, sum by (instance, le) (rate(${selector('recalld_event_loop_lag_seconds', '_bucket', {})}[$__rate_interval])))`,
      ),
    }),
    graph({
      title: 'Clock skew',
      description:
        "Each replica's clock minus the database clock. A replica whose clock differs by more than a minute starts no scheduled jobs.",
      unit: 's',
      width: 6,
      queries: perReplica(`max by (instance) (${selector('recalld_clock_skew_seconds', '', {})})`),
    }),
  ];
}

function recalldServiceDashboard(settings: DashboardSettings): Dashboard {
  return frame(
    {
      uid: dashboardUids.itself,
      title: 'recalld: itself',
      description: 'Health of recalld itself: replicas, jobs, ingest requests and processes.',
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

export function createDashboards(
  settings: DashboardSettings,
): { readonly name: string; readonly dashboard: Dashboard }[] {
  return [
    { name: 'retrieval-health.json', dashboard: healthDashboard(settings) },
    { name: 'golden-set.json', dashboard: goldenSetDashboard(settings) },
    { name: 'golden-runs.json', dashboard: goldenRunsDashboard(settings) },
    { name: 'golden-queries.json', dashboard: goldenQueriesDashboard(settings) },
    { name: 'density-and-topics.json', dashboard: densityDashboard(settings) },
    { name: 'store-and-index.json', dashboard: storeDashboard(settings) },
    { name: 'live-traffic.json', dashboard: liveTrafficDashboard(settings) },
    { name: 'agents.json', dashboard: agentDashboard(settings) },
    { name: 'feedback-and-experiments.json', dashboard: feedbackDashboard(settings) },
    { name: 'judged-relevance.json', dashboard: judgedDashboard(settings) },
    { name: 'judge.json', dashboard: judgeDashboard(settings) },
    { name: 'recalld-itself.json', dashboard: recalldServiceDashboard(settings) },
  ];
}

export function dashboardText(dashboard: Dashboard): string {
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

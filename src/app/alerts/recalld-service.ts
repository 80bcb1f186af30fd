/** Alerts about recalld itself. While recalld cannot measure, the absence of other alerts means nothing. */

import { MAX_SKEW_SECONDS } from '../../math/schedule/clock-skew.ts';
import {
  type AlertRule,
  anyCountedBy,
  increaseBy,
  maxBy,
  quantileBy,
  type RuleGroup,
  type RuleSettings,
  series,
} from '../../platform/metrics/alert-rules.ts';
import { jobCatalogue } from '../jobs.ts';

type ServiceAlert = Omit<AlertRule, 'dashboard'>;

/**
 * Selects the series of `up` or `process_*` by scrape job. `series` does not work here, because these metrics are not
 * in the metric catalog.
 */
function target(metric: 'up' | 'process_start_time_seconds', { scrapeJob }: RuleSettings): string {
  return `${metric}{job=${JSON.stringify(scrapeJob)}}`;
}

const failedIn = (range: string): string => increaseBy(['task'], 'recalld_jobs_total', range, { outcome: 'failed' });
const completedIn = (range: string): string =>
  increaseBy(['task'], 'recalld_jobs_total', range, { outcome: 'completed' });

/**
 * Minimum ratio of failed to completed attempts for an alert. A lower ratio means that only a few of many pipelines are
 * affected.
 */
const MIN_FAILED_PER_COMPLETED = 0.1;
/** Window for rare jobs: twice the interval of the least frequent job, which runs every six hours, plus one hour. */
const RARE_JOBS = '13h';
/**
 * Queues of jobs that are retried. A job with a single attempt is omitted: it runs again on schedule, and
 * RecalldJobsFailing fires if it keeps failing.
 */
const retriedJobs = jobCatalogue.filter(({ attempts }) => attempts > 1).map(({ name }) => name);

/** How long a deployment that has disappeared is reported as missing. */
const MISSED = '1d';

function exporterAlerts(settings: RuleSettings): readonly ServiceAlert[] {
  return [
    {
      alert: 'RecalldAbsent',
      severity: 'critical',
      // Matches deployments that Prometheus scraped within the last day. A deployment that Prometheus has never scraped
      // is detected by the name of its scrape job.
      expr: `group by () (last_over_time(${series('recalld_build_info')}[${MISSED}]))
unless on () group by () (${series('recalld_build_info')})
or absent_over_time(recalld_build_info{job=${JSON.stringify(settings.scrapeJob)}}[${MISSED}])`,
      for: '5m',
      by: [],
      summary: 'recalld: no replica can be scraped',
      description:
        'Prometheus has not scraped any replica of this recalld deployment for 5 minutes. Until Prometheus can scrape a replica again, no alert about a pipeline of this deployment can fire. Start recalld, or fix the Prometheus scrape config.',
    },
    {
      alert: 'RecalldReplicaDown',
      severity: 'warning',
      expr: `max by (instance) (${target('up', settings)}) == 0`,
      for: '10m',
      by: ['instance'],
      silentWhile: { alerts: ['RecalldAbsent'], on: [] },
      summary: 'recalld: a replica is down',
      description:
        'Prometheus has not scraped {{ $labels.instance }} for 10 minutes. Other replicas may have taken over the work of this replica.',
    },
    {
      alert: 'RecalldRestarting',
      severity: 'warning',
      expr: `max by (instance) (changes(${target('process_start_time_seconds', settings)}[1h])) >= 3`,
      keepFiringFor: '15m',
      by: ['instance'],
      summary: 'recalld: a replica keeps restarting',
      description:
        '{{ $labels.instance }} started {{ $value }} times in the last hour. Check its memory usage and the last line of its log.',
    },
    {
      alert: 'RecalldVersionsDiffer',
      severity: 'warning',
      expr: `count by () (count by (version) (${series('recalld_build_info')})) > 1`,
      for: '1h',
      by: [],
      summary: 'recalld: replicas run different versions',
      description:
        'Replicas have been running {{ $value }} different versions of recalld for an hour. Finish the rollout.',
    },
  ];
}

const whileStale = { alerts: ['RecalldSnapshotStale'], on: [] };

const snapshotAlerts: readonly ServiceAlert[] = [
  {
    alert: 'RecalldSnapshotStale',
    severity: 'critical',
    expr: `min by () (${series('recalld_snapshot_age_seconds')}) > 120`,
    for: '2m',
    by: [],
    summary: 'recalld: the database does not respond',
    description:
      'No replica has read values from the database for {{ $value | humanizeDuration }}. The metrics for golden scores, check states and queue lengths are out of date; recalld stops exporting them once they are too old to trust. Restore the database.',
  },
  {
    alert: 'RecalldReplicaSnapshotStale',
    severity: 'warning',
    silentWhile: whileStale,
    expr: `${maxBy(['instance'], 'recalld_snapshot_age_seconds')} > 120`,
    for: '5m',
    by: ['instance'],
    summary: 'recalld: a replica exports outdated values',
    description:
      '{{ $labels.instance }} exports values that it read from the database {{ $value | humanizeDuration }} ago. Alert rules take the maximum over all replicas, so an old verdict can keep an alert firing. Restart this replica.',
  },
  {
    alert: 'RecalldSnapshotErrors',
    severity: 'warning',
    silentWhile: whileStale,
    expr: `${increaseBy(['instance'], 'recalld_snapshot_errors_total', '15m')} >= 5`,
    for: '5m',
    keepFiringFor: '15m',
    by: ['instance'],
    summary: 'recalld: database reads are failing',
    description:
      '{{ printf "%.0f" $value }} database reads by {{ $labels.instance }} failed in the last 15 minutes. Check the database load and storage.pool_size.',
  },
  {
    alert: 'RecalldDroppedSamples',
    severity: 'warning',
    expr: `${increaseBy(['instance'], 'recalld_dropped_samples_total', '1h')} > 0`,
    for: '1m',
    keepFiringFor: '1h',
    by: ['instance'],
    summary: 'recalld: a computed value is not finite',
    description:
      'In the last hour, {{ $labels.instance }} dropped {{ printf "%.0f" $value }} metric values that were not finite numbers. This is a bug in recalld; please report it.',
  },
  {
    alert: 'RecalldClockSkew',
    severity: 'warning',
    expr: `${maxBy(['pipeline', 'golden_set'], 'recalld_golden_run_last_attempt_timestamp_seconds')} - time() > 60`,
    for: '5m',
    by: ['pipeline', 'golden_set'],
    summary: 'recalld: clock ahead of Prometheus',
    description:
      'According to the Prometheus clock, the latest run of {{ $labels.golden_set }} on {{ $labels.pipeline }} started {{ $value | humanizeDuration }} in the future. Alerts on the age of golden runs therefore fire late. Synchronize the clocks with NTP.',
  },
  {
    alert: 'RecalldClockWrong',
    severity: 'warning',
    expr: `abs(${maxBy(['instance'], 'recalld_clock_skew_seconds')}) > ${MAX_SKEW_SECONDS}`,
    for: '2m',
    by: ['instance'],
    summary: 'recalld: clock differs from the database, scheduling stopped',
    description:
      'The clock of {{ $labels.instance }} differs from the database clock by {{ $value | humanizeDuration }}. Until the clocks agree to within a minute, this replica schedules no golden runs and no jobs. Synchronize the clocks with NTP.',
  },
  {
    alert: 'RecalldStarved',
    severity: 'warning',
    expr: `${quantileBy(0.9, ['instance'], 'recalld_event_loop_lag_seconds', '15m')} > 0.1`,
    for: '10m',
    keepFiringFor: '15m',
    by: ['instance'],
    summary: 'recalld: short of CPU time',
    description:
      '10 % of the timers of {{ $labels.instance }} fire more than {{ $value | humanizeDuration }} late. This delay inflates the latencies that the replica measures, so the diagnosis ignores them. Give the replica more CPU time.',
  },
];

const jobAlerts: readonly ServiceAlert[] = [
  {
    alert: 'RecalldQueueNotWorked',
    severity: 'critical',
    expr: `${maxBy(['queue'], 'recalld_queue_jobs', { state: 'waiting' })} > 0
and on (queue) ${maxBy(['queue'], 'recalld_queue_jobs', { state: 'active' })} == 0`,
    for: '10m',
    by: ['queue'],
    summary: 'recalld: jobs in a queue are not being processed',
    description:
      '{{ $value }} jobs are waiting in the queue {{ $labels.queue }}, and no worker has processed a job for 10 minutes. Start a process with the worker role.',
  },
  {
    alert: 'RecalldQueueBacklog',
    severity: 'warning',
    silentWhile: { alerts: ['RecalldQueueNotWorked'], on: ['queue'] },
    expr: `${maxBy(['queue'], 'recalld_queue_jobs', { state: 'waiting' })} > 100`,
    for: '15m',
    keepFiringFor: '10m',
    by: ['queue'],
    summary: 'recalld: many jobs are waiting in a queue',
    description: '{{ $value }} jobs are waiting in the queue {{ $labels.queue }} (limit 100). Start more workers.',
  },
  {
    alert: 'RecalldJobsDead',
    severity: 'warning',
    expr: anyCountedBy(['task'], 'recalld_jobs_total', '1h', { outcome: 'dead' }),
    keepFiringFor: '15m',
    by: ['task'],
    summary: 'recalld: jobs failed permanently',
    description:
      '{{ printf "%.0f" $value }} {{ $labels.task }} jobs failed in the last hour and will not be retried. See the log for the reasons.',
  },
  {
    alert: 'RecalldNotificationLost',
    severity: 'warning',
    expr: anyCountedBy(['kind'], 'recalld_notifications_total', '1h', { outcome: 'given_up' }),
    keepFiringFor: '15m',
    by: ['kind'],
    summary: 'recalld: notifications were not delivered',
    description:
      'recalld gave up on {{ printf "%.0f" $value }} messages to {{ $labels.kind }} receivers after retrying for an hour. Check the receivers with `recalld notify`.',
  },
  {
    alert: 'RecalldJobsFailing',
    severity: 'warning',
    expr: `(
  ${failedIn('1h')} >= 5
  unless ${failedIn('1h')} < ${MIN_FAILED_PER_COMPLETED} * ${completedIn('1h')}
)
or
(
  ${failedIn(RARE_JOBS)} >= 2
  unless ${completedIn(RARE_JOBS)} > 0
  # Excludes deployments that no longer exist.
  and ${failedIn('30m')} >= 0
)`,
    for: '5m',
    keepFiringFor: '15m',
    by: ['task'],
    summary: 'recalld: jobs keep failing',
    description:
      'The job {{ $labels.task }} failed {{ printf "%.0f" $value }} times, either in the last hour, or in the last 13 hours without completing once. The log lines `a job failed` name the pipelines and the reasons.',
  },
  {
    alert: 'RecalldJobsExhausted',
    severity: 'warning',
    expr: `${maxBy(['queue'], 'recalld_queue_jobs', { state: 'failed', queue: retriedJobs })}
> ${maxBy(['queue'], 'recalld_queue_jobs', { state: 'failed', queue: retriedJobs }, '1h')}`,
    for: '1m',
    by: ['queue'],
    summary: 'recalld: jobs ran out of attempts',
    description:
      '{{ $value }} jobs in the queue {{ $labels.queue }} have run out of attempts, and the number grew within the last hour. See the log for the reasons.',
  },
];

const ingestAlerts: readonly ServiceAlert[] = [
  {
    alert: 'RecalldIngestShedding',
    severity: 'warning',
    expr: `${increaseBy(['reason'], 'recalld_ingest_shed_total', '10m')} >= 10`,
    for: '5m',
    keepFiringFor: '10m',
    by: ['reason'],
    summary: 'recalld: ingest requests are refused',
    description:
      'In the last 10 minutes, recalld answered {{ printf "%.0f" $value }} ingest requests with 429 or 503 because of {{ $labels.reason }}. Clients retry these requests and eventually drop the data.',
  },
  {
    alert: 'RecalldIngestRejected',
    severity: 'warning',
    expr: `${increaseBy(['code'], 'recalld_ingest_rejected_total', '15m')} >= 100`,
    for: '10m',
    keepFiringFor: '15m',
    by: ['code'],
    summary: 'recalld: invalid live queries or feedback',
    description:
      '{{ printf "%.0f" $value }} items were rejected with {{ $labels.code }} in the last 15 minutes. Fix the sender; a retry does not help.',
  },
  {
    alert: 'RecalldSpansUnusable',
    severity: 'warning',
    expr: increaseBy(['outcome'], 'recalld_trace_spans_total', '1h', {
      outcome: ['rejected', 'truncated', 'unreadable_retriever', 'without_pipeline', 'fragment_dropped'],
    }).concat(' >= 100'),
    for: '10m',
    keepFiringFor: '30m',
    by: ['outcome'],
    summary: 'recalld: OpenTelemetry spans cannot be fully used',
    description:
      'In the last hour, recalld could not fully use {{ printf "%.0f" $value }} OpenTelemetry spans (outcome: {{ $labels.outcome }}). The runbook explains each outcome and its fix.',
  },
];

/** Always fires, so that its absence reveals a broken alerting path. */
const watchdog: ServiceAlert = {
  alert: 'RecalldWatchdog',
  severity: 'none',
  expr: 'vector(1)',
  by: [],
  summary: 'The alerting path works',
  description: "This alert always fires; route it to a dead man's switch, which pages you when the alert stops.",
};

export function recalldServiceGroup(settings: RuleSettings): RuleGroup {
  const alerts = [...exporterAlerts(settings), ...snapshotAlerts, ...jobAlerts, ...ingestAlerts, watchdog];
  return {
    name: 'recalld-itself',
    recordings: [],
    alerts: alerts.map((alert) => ({ ...alert, dashboard: 'itself' })),
  };
}

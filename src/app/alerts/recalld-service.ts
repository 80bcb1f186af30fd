/** Alerts on recalld itself: while it is blind or stuck, the other alerts are silent for the wrong reason. */

import { MAX_SKEW_SECONDS } from '../../math/schedule/clock-skew.ts';
import {
  type AlertRule,
  anyCountedBy,
  increaseBy,
  maxBy,
  type RuleGroup,
  type RuleSettings,
  series,
} from '../../platform/metrics/alert-rules.ts';
import { jobCatalogue } from '../jobs.ts';

/** The targets of the scrape config. `up` and `process_*` are no metrics of the catalogue. */
function target(metric: 'up' | 'process_start_time_seconds', { scrapeJob }: RuleSettings): string {
  return `${metric}{job=${JSON.stringify(scrapeJob)}}`;
}

const failedIn = (range: string): string => increaseBy(['task'], 'recalld_jobs_total', range, { outcome: 'failed' });
const completedIn = (range: string): string =>
  increaseBy(['task'], 'recalld_jobs_total', range, { outcome: 'completed' });

/** Fewer failed attempts beside the completed ones are those of a pipeline that fails now and then among many. */
const MIN_FAILED_PER_COMPLETED = 0.1;
/** Two runs of the rarest job, which is due every six hours, and an hour. */
const RARE_JOBS = '13h';
/** Others that fail come again by their schedule: of them RecalldJobsFailing fires when that does not help. */
const retriedJobs = jobCatalogue.filter(({ attempts }) => attempts > 1).map(({ name }) => name);

/** How long a deployment that is gone is missed. */
const MISSED = '1d';

function exporterAlerts(settings: RuleSettings): readonly AlertRule[] {
  return [
    {
      alert: 'RecalldAbsent',
      severity: 'critical',
      // Each that was there within the day; one that never was is missed by the name of its job.
      expr: `group by () (last_over_time(${series('recalld_build_info')}[${MISSED}]))
unless on () group by () (${series('recalld_build_info')})
or absent_over_time(recalld_build_info{job=${JSON.stringify(settings.scrapeJob)}}[${MISSED}])`,
      for: '5m',
      by: [],
      dashboard: 'itself',
      summary: 'Prometheus reaches no replica of a recalld.',
      description:
        'No replica of this recalld has been scraped for 5 minutes. Every other alert on its pipelines is blind until one is.',
    },
    {
      alert: 'RecalldReplicaDown',
      severity: 'warning',
      expr: `max by (instance) (${target('up', settings)}) == 0`,
      for: '10m',
      by: ['instance'],
      silentWhile: { alerts: ['RecalldAbsent'], on: [] },
      dashboard: 'itself',
      summary: 'A replica of recalld is down.',
      description: 'Prometheus could not scrape {{ $labels.instance }} for 10 minutes. Others may still do its work.',
    },
    {
      alert: 'RecalldRestarting',
      severity: 'warning',
      expr: `max by (instance) (changes(${target('process_start_time_seconds', settings)}[1h])) >= 3`,
      keepFiringFor: '15m',
      by: ['instance'],
      dashboard: 'itself',
      summary: 'recalld restarts again and again.',
      description: '{{ $labels.instance }} was started {{ $value }} times within an hour.',
    },
    {
      alert: 'RecalldVersionsDiffer',
      severity: 'warning',
      expr: `count by () (count by (version) (${series('recalld_build_info')})) > 1`,
      for: '1h',
      by: [],
      dashboard: 'itself',
      summary: 'Replicas of recalld run different versions.',
      description: '{{ $value }} versions of recalld have run side by side for an hour.',
    },
  ];
}

const whileStale = { alerts: ['RecalldSnapshotStale'], on: [] };

const snapshotAlerts: readonly AlertRule[] = [
  {
    alert: 'RecalldSnapshotStale',
    severity: 'critical',
    expr: `min by () (${series('recalld_snapshot_age_seconds')}) > 120`,
    for: '2m',
    by: [],
    dashboard: 'itself',
    summary: 'recalld shows old values: its database does not answer.',
    description:
      'The youngest stored values that any replica shows are {{ $value | humanizeDuration }} old. Golden scores, check states and queue lengths stand still, until they are too old to trust and are withheld.',
  },
  {
    alert: 'RecalldReplicaSnapshotStale',
    severity: 'warning',
    silentWhile: whileStale,
    expr: `${maxBy(['instance'], 'recalld_snapshot_age_seconds')} > 120`,
    for: '5m',
    by: ['instance'],
    dashboard: 'itself',
    summary: 'A replica of recalld shows old values.',
    description:
      'The stored values that {{ $labels.instance }} shows are {{ $value | humanizeDuration }} old; rules take the largest over all replicas, so an old verdict of it may outlive the truth.',
  },
  {
    alert: 'RecalldSnapshotErrors',
    severity: 'warning',
    silentWhile: whileStale,
    expr: `${increaseBy(['instance'], 'recalld_snapshot_errors_total', '15m')} >= 5`,
    for: '5m',
    keepFiringFor: '15m',
    by: ['instance'],
    dashboard: 'itself',
    summary: 'recalld often fails to read its database.',
    description:
      '{{ $value | humanize }} readings of the stored values by {{ $labels.instance }} failed within 15 minutes.',
  },
  {
    alert: 'RecalldDroppedSamples',
    severity: 'warning',
    expr: `${increaseBy(['instance'], 'recalld_dropped_samples_total', '1h')} > 0`,
    for: '1m',
    keepFiringFor: '1h',
    by: ['instance'],
    dashboard: 'itself',
    summary: 'recalld computed a value that is not a number.',
    description:
      '{{ $value | humanize }} samples of {{ $labels.instance }} within an hour were not finite and not exported. This is a bug of recalld.',
  },
  {
    alert: 'RecalldClockSkew',
    severity: 'warning',
    expr: `${maxBy(['pipeline', 'golden_set'], 'recalld_golden_run_last_attempt_timestamp_seconds')} - time() > 60`,
    for: '5m',
    by: ['pipeline', 'golden_set'],
    dashboard: 'itself',
    summary: 'The clocks of recalld and Prometheus differ.',
    description:
      'The latest run of {{ $labels.golden_set }} on {{ $labels.pipeline }} started {{ $value | humanizeDuration }} in the future of Prometheus. Alerts on age come late by as much.',
  },
  {
    alert: 'RecalldClockWrong',
    severity: 'warning',
    expr: `abs(${maxBy(['instance'], 'recalld_clock_skew_seconds')}) > ${MAX_SKEW_SECONDS}`,
    for: '2m',
    by: ['instance'],
    dashboard: 'itself',
    summary: 'A clock of recalld differs from that of its database; it starts nothing by schedule.',
    description:
      'The clocks of {{ $labels.instance }} and of its database are {{ $value | humanizeDuration }} apart. Until they agree within a minute it ticks for no golden run and no job.',
  },
];

const jobAlerts: readonly AlertRule[] = [
  {
    alert: 'RecalldQueueNotWorked',
    severity: 'critical',
    expr: `${maxBy(['queue'], 'recalld_queue_jobs', { state: 'waiting' })} > 0
and on (queue) ${maxBy(['queue'], 'recalld_queue_jobs', { state: 'active' })} == 0`,
    for: '10m',
    by: ['queue'],
    dashboard: 'itself',
    summary: 'Nobody works on a queue of recalld.',
    description: '{{ $value }} jobs wait in the queue {{ $labels.queue }}, and none has been worked on for 10 minutes.',
  },
  {
    alert: 'RecalldQueueBacklog',
    severity: 'warning',
    silentWhile: { alerts: ['RecalldQueueNotWorked'], on: ['queue'] },
    expr: `${maxBy(['queue'], 'recalld_queue_jobs', { state: 'waiting' })} > 100`,
    for: '15m',
    keepFiringFor: '10m',
    by: ['queue'],
    dashboard: 'itself',
    summary: 'A queue of recalld grows.',
    description: '{{ $value }} jobs wait in the queue {{ $labels.queue }}.',
  },
  {
    alert: 'RecalldJobsDead',
    severity: 'warning',
    expr: anyCountedBy(['task'], 'recalld_jobs_total', '1h', { outcome: 'dead' }),
    keepFiringFor: '15m',
    by: ['task'],
    dashboard: 'itself',
    summary: 'Jobs of recalld failed for good.',
    description: '{{ $value | humanize }} jobs {{ $labels.task }} failed within an hour and are not tried again.',
  },
  {
    alert: 'RecalldNotificationLost',
    severity: 'warning',
    expr: anyCountedBy(['kind'], 'recalld_notifications_total', '1h', { outcome: 'given_up' }),
    keepFiringFor: '15m',
    by: ['kind'],
    dashboard: 'itself',
    summary: 'recalld could not tell anybody of an incident.',
    description: '{{ $value | humanize }} messages to {{ $labels.kind }} were tried for an hour and given up.',
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
  # Of a deployment that is gone nothing fails any more.
  and ${failedIn('30m')} >= 0
)`,
    for: '5m',
    keepFiringFor: '15m',
    by: ['task'],
    dashboard: 'itself',
    summary: 'Jobs of recalld fail again and again.',
    description:
      '{{ $value | humanize }} attempts of jobs {{ $labels.task }} failed within an hour, or within 13 hours without a success. The log line `a job failed` names the pipelines and the reason.',
  },
  {
    alert: 'RecalldJobsExhausted',
    severity: 'warning',
    expr: `${maxBy(['queue'], 'recalld_queue_jobs', { state: 'failed', queue: retriedJobs })}
> ${maxBy(['queue'], 'recalld_queue_jobs', { state: 'failed', queue: retriedJobs }, '1h')}`,
    for: '1m',
    by: ['queue'],
    dashboard: 'itself',
    summary: 'Jobs of recalld used up their attempts.',
    description:
      '{{ $value }} jobs of the queue {{ $labels.queue }} have used up their attempts; an hour ago there were fewer.',
  },
];

const ingestAlerts: readonly AlertRule[] = [
  {
    alert: 'RecalldIngestShedding',
    severity: 'warning',
    expr: `${increaseBy(['reason'], 'recalld_ingest_shed_total', '10m')} >= 10`,
    for: '5m',
    keepFiringFor: '10m',
    by: ['reason'],
    dashboard: 'itself',
    summary: 'recalld turns live traffic away.',
    description:
      '{{ $value | humanize }} ingest requests within 10 minutes were answered 429 or 503 because of {{ $labels.reason }}; clients retry, then drop.',
  },
  {
    alert: 'RecalldIngestRejected',
    severity: 'warning',
    expr: `${increaseBy(['code'], 'recalld_ingest_rejected_total', '15m')} >= 100`,
    for: '10m',
    keepFiringFor: '15m',
    by: ['code'],
    dashboard: 'itself',
    summary: 'recalld refuses live queries or feedback.',
    description: '{{ $value | humanize }} items within 15 minutes were refused with {{ $labels.code }}.',
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
    dashboard: 'itself',
    summary: 'OpenTelemetry spans give no live queries.',
    description: '{{ $value | humanize }} spans within an hour could not be used ({{ $labels.outcome }}).',
  },
];

/** Fires for ever, so that who hears nothing knows that the way from Prometheus to the pager is broken. */
const watchdog: AlertRule = {
  alert: 'RecalldWatchdog',
  severity: 'none',
  expr: 'vector(1)',
  by: [],
  dashboard: 'itself',
  summary: 'The way from Prometheus to the pager works.',
  description: 'This alert always fires; a dead-man receiver pages when it stops.',
};

export function recalldServiceGroup(settings: RuleSettings): RuleGroup {
  const alerts = [...exporterAlerts(settings), ...snapshotAlerts, ...jobAlerts, ...ingestAlerts, watchdog];
  return { name: 'recalld-itself', recordings: [], alerts };
}

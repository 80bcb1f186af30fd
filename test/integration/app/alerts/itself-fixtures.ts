import { type Signal, signal, type ValueAt } from '../../../support/promtool.ts';
import { type AlertFixture, both } from './fixture.ts';
import { alive, always, faq, foreign, from, growing, hourlyRuns } from './signals.ts';

const [first] = both;

function jobs(state: 'waiting' | 'active' | 'failed', at: ValueAt): Signal {
  return signal('recalld_queue_jobs', { queue: 'run-golden-set', state }, at);
}

const idle: readonly Signal[] = [jobs('waiting', always(0)), jobs('active', always(0)), jobs('failed', always(0))];
const busy: readonly Signal[] = [jobs('waiting', always(5)), jobs('active', always(2)), jobs('failed', always(0))];

/** Ten timers a second: half of them fire at most 0.05 s late, and the others at most `seconds` late. */
const lag = (seconds: number): Signal[] =>
  ['0.05', '0.1', '0.25', '+Inf'].map((le) => ({
    ...foreign('recalld_event_loop_lag_seconds_bucket', growing(le === '+Inf' || seconds <= Number(le) ? 600 : 300), {
      le,
    }),
    isCounter: true,
  }));

const ended = (outcome: string, at: ValueAt, task = 'run-golden-set') =>
  signal('recalld_jobs_total', { task, outcome }, at);
const notified = (outcome: string, at: ValueAt) =>
  signal('recalld_notifications_total', { kind: 'slack', outcome }, at);

export const itselfFixtures: readonly AlertFixture[] = [
  {
    alert: 'RecalldPipelineMissing',
    labels: faq,
    breaching: [signal('recalld_golden_run_interval_seconds', { ...faq, golden_set: 'other' }, always(3600))],
    healthy: hourlyRuns,
    says: 'For 10 minutes, recalld has been running with a config that lacks the golden set faq of docs, for which these alert rules were generated. Add the golden set to the config, or regenerate the rules.',
  },
  {
    alert: 'RecalldAbsent',
    labels: {},
    breaching: [],
    healthy: alive,
    firesWithoutSeries: true,
    says: 'Prometheus has not scraped any replica of this recalld deployment for 5 minutes. Until Prometheus can scrape a replica again, no alert about a pipeline of this deployment can fire. Start recalld, or fix the Prometheus scrape config.',
  },
  {
    alert: 'RecalldReplicaDown',
    labels: { instance: first },
    breaching: [foreign('up', always(0))],
    replicas: [first],
    healthy: alive,
    says: 'Prometheus has not scraped a:8321 for 10 minutes. Other replicas may have taken over the work of this replica.',
  },
  {
    alert: 'RecalldRestarting',
    labels: { instance: first },
    breaching: [foreign('process_start_time_seconds', (m) => 300 * Math.floor(m / 5))],
    replicas: [first],
    healthy: [foreign('process_start_time_seconds', (m) => (m < 30 ? 0 : 1800))],
    says: 'a:8321 started 12 times in the last hour. Check its memory usage and the last line of its log.',
  },
  {
    alert: 'RecalldVersionsDiffer',
    labels: {},
    breaching: [signal('recalld_build_info', { version: '1.3.0', nodejs: '20.19.0' }, always(1))],
    replicas: [first],
    healthy: [],
    minutes: 120,
    says: 'Replicas have been running 2 different versions of recalld for an hour. Finish the rollout.',
  },
  {
    alert: 'RecalldSnapshotStale',
    labels: {},
    breaching: [signal('recalld_snapshot_age_seconds', {}, (m) => 60 * m)],
    healthy: alive,
    says: 'No replica has read values from the database for 1h 0m 0s. The metrics for golden scores, check states and queue lengths are out of date; recalld stops exporting them once they are too old to trust. Restore the database.',
  },
  {
    alert: 'RecalldReplicaSnapshotStale',
    labels: { instance: first },
    breaching: [signal('recalld_snapshot_age_seconds', {}, (m) => 60 * m)],
    replicas: [first],
    healthy: alive,
    says: 'a:8321 exports values that it read from the database 1h 0m 0s ago. Alert rules take the maximum over all replicas, so an old verdict can keep an alert firing. Restart this replica.',
  },
  {
    alert: 'RecalldSnapshotErrors',
    labels: { instance: first },
    breaching: [signal('recalld_snapshot_errors_total', {}, growing(1))],
    replicas: [first],
    healthy: [signal('recalld_snapshot_errors_total', {}, (m) => Math.floor(m / 30))],
    says: '15 database reads by a:8321 failed in the last 15 minutes. Check the database load and storage.pool_size.',
  },
  {
    alert: 'RecalldDroppedSamples',
    labels: { instance: first },
    breaching: [signal('recalld_dropped_samples_total', {}, (m) => (m < 20 ? 0 : 2))],
    replicas: [first],
    healthy: alive,
    says: 'In the last hour, a:8321 dropped 2 metric values that were not finite numbers. This is a bug in recalld; please report it.',
  },
  {
    alert: 'RecalldClockSkew',
    labels: faq,
    breaching: [signal('recalld_golden_run_last_attempt_timestamp_seconds', faq, (m) => 60 * m + 600)],
    healthy: hourlyRuns,
    says: 'According to the Prometheus clock, the latest run of faq on docs started 10m 0s in the future. Alerts on the age of golden runs therefore fire late. Synchronize the clocks with NTP.',
  },
  {
    alert: 'RecalldClockWrong',
    labels: { instance: first },
    breaching: [signal('recalld_clock_skew_seconds', {}, always(-7200))],
    replicas: [first],
    healthy: [signal('recalld_clock_skew_seconds', {}, always(-59))],
    says: 'The clock of a:8321 differs from the database clock by 2h 0m 0s. Until the clocks agree to within a minute, this replica schedules no golden runs and no jobs. Synchronize the clocks with NTP.',
  },
  {
    alert: 'RecalldStarved',
    labels: { instance: first },
    breaching: lag(0.25),
    replicas: [first],
    healthy: lag(0.1),
    says: '10 % of the timers of a:8321 fire more than 220ms late. This delay inflates the latencies that the replica measures, so the diagnosis ignores them. Give the replica more CPU time.',
  },
  {
    alert: 'RecalldQueueNotWorked',
    labels: { queue: 'run-golden-set' },
    breaching: [jobs('waiting', always(3)), jobs('active', always(0))],
    healthy: busy,
    says: '3 jobs are waiting in the queue run-golden-set, and no worker has processed a job for 10 minutes. Start a process with the worker role.',
  },
  {
    alert: 'RecalldQueueBacklog',
    labels: { queue: 'run-golden-set' },
    breaching: [jobs('waiting', always(250)), jobs('active', always(2))],
    healthy: busy,
    says: '250 jobs are waiting in the queue run-golden-set (limit 100). Start more workers.',
  },
  {
    alert: 'RecalldJobsDead',
    labels: { task: 'run-golden-set' },
    breaching: [ended('dead', from(90, 1))],
    healthy: [ended('completed', growing(1)), ended('dead', always(1))],
    minutes: 120,
    says: '2 run-golden-set jobs failed in the last hour and will not be retried. See the log for the reasons.',
  },
  {
    alert: 'RecalldNotificationLost',
    labels: { kind: 'slack' },
    breaching: [notified('given_up', from(90, 1))],
    healthy: [notified('sent', growing(1)), notified('given_up', always(1))],
    minutes: 120,
    says: 'recalld gave up on 2 messages to slack receivers after retrying for an hour. Check the receivers with `recalld notify`.',
  },
  {
    alert: 'RecalldJobsFailing',
    labels: { task: 'run-golden-set' },
    breaching: [ended('failed', growing(1))],
    healthy: [
      ended('completed', growing(1)),
      ended('failed', (m) => Math.floor(m / 40)),
      // One of many pipelines fails occasionally, so eight in a hundred rounds fail.
      ended('completed', growing(1), 'evaluate-density'),
      ended('failed', (m) => Math.floor(m / 12), 'evaluate-density'),
    ],
    says: 'The job run-golden-set failed 120 times, either in the last hour, or in the last 13 hours without completing once. The log lines `a job failed` name the pipelines and the reasons.',
  },
  {
    // The job runs every six hours, so it cannot fail five times within an hour.
    alert: 'RecalldJobsFailing',
    labels: { task: 'snapshot-stores' },
    breaching: [
      ended('failed', (m) => 1 + Math.floor(m / 360), 'snapshot-stores'),
      ended('completed', always(0), 'snapshot-stores'),
    ],
    replicas: [first],
    healthy: [
      ended('failed', (m) => Math.floor(m / 360), 'snapshot-stores'),
      ended('completed', (m) => Math.floor((m + 180) / 360), 'snapshot-stores'),
    ],
    minutes: 1200,
    step: 10,
    says: 'The job snapshot-stores failed 2 times, either in the last hour, or in the last 13 hours without completing once. The log lines `a job failed` name the pipelines and the reasons.',
  },
  {
    alert: 'RecalldJobsExhausted',
    labels: { queue: 'run-golden-set' },
    breaching: [jobs('failed', (m) => (m < 80 ? 1 : 3))],
    healthy: [
      ...idle,
      jobs('failed', (m) => (m < 60 ? 3 : 2)),
      // The job runs again on schedule.
      signal('recalld_queue_jobs', { queue: 'probe-stores', state: 'failed' }, (m) => (m < 80 ? 0 : 1)),
    ],
    minutes: 120,
    says: '3 jobs in the queue run-golden-set have run out of attempts, and the number grew within the last hour. See the log for the reasons.',
  },
  {
    alert: 'RecalldIngestShedding',
    labels: { reason: 'overload' },
    breaching: [signal('recalld_ingest_shed_total', { reason: 'overload' }, growing(30))],
    healthy: [signal('recalld_ingest_shed_total', { reason: 'overload' }, (m) => (m < 30 ? 0 : 4))],
    says: 'In the last 10 minutes, recalld answered 600 ingest requests with 429 or 503 because of overload. Clients retry these requests and eventually drop the data.',
  },
  {
    alert: 'RecalldIngestRejected',
    labels: { code: 'unknown_pipeline' },
    breaching: [signal('recalld_ingest_rejected_total', { code: 'unknown_pipeline' }, growing(50))],
    healthy: [signal('recalld_ingest_rejected_total', { code: 'unknown_pipeline' }, growing(1))],
    says: '1500 items were rejected with unknown_pipeline in the last 15 minutes. Fix the sender; a retry does not help.',
  },
  {
    alert: 'RecalldSpansUnusable',
    labels: { outcome: 'without_pipeline' },
    breaching: [signal('recalld_trace_spans_total', { outcome: 'without_pipeline' }, growing(10))],
    healthy: [
      signal('recalld_trace_spans_total', { outcome: 'ignored' }, growing(100)),
      signal('recalld_trace_spans_total', { outcome: 'unreadable_retriever' }, (m) => Math.floor(m / 10)),
    ],
    says: 'In the last hour, recalld could not fully use 1200 OpenTelemetry spans (outcome: without_pipeline). The runbook explains each outcome and its fix.',
  },
  {
    alert: 'RecalldWatchdog',
    labels: {},
    breaching: [],
    healthy: [],
    firesWithoutSeries: true,
    says: "This alert always fires; route it to a dead man's switch, which pages you when the alert stops.",
  },
];

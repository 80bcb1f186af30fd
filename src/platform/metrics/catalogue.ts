/**
 * Every metric that recalld exports: the only place that knows their names, help, labels and buckets.
 * docs/reference/metrics.md is generated from here, the exporter refuses what is not here.
 *
 * `stored` gauges are made of the latest rows of the database, which are kept in memory and read anew every few seconds;
 * the others are counted by the process that exports them.
 */
import { checkKinds } from '../../checks/rules/check-state.ts';
import { queryOutcomes, runStatuses, severities, verdicts } from '../../core/model.ts';
import { densityMetrics } from '../../density/metrics.ts';
import { experimentMetrics } from '../../experiments/metrics.ts';
import { splitVerdicts } from '../../experiments/rules/arms.ts';
import { experimentVerdicts } from '../../experiments/rules/verdict.ts';
import { goldenMetrics } from '../../golden/metrics.ts';
import { diagnosisMetrics } from '../../incidents/diagnosis/metrics.ts';
import { causes, confidences } from '../../incidents/diagnosis/rules/cause.ts';
import { notificationMetrics } from '../../incidents/notifications/metrics.ts';
import { probeMetrics } from '../../index/probes/metrics.ts';
import { indexMetrics } from '../../index/truth/metrics.ts';
import { findingKinds } from '../../index/truth/rules/findings.ts';
import { evaluationOutcomes, judgeFailureReasons, judgingMetrics } from '../../judging/metrics.ts';
import { dropStates } from '../../judging/rules/judged-mean.ts';
import { liveMeasurementMetrics, liveMixMetrics, liveStageMetrics } from '../../live/metrics.ts';
import { sentiments } from '../../live/rules/feedback/sentiment.ts';
import { feedbackBases } from '../../live/rules/feedback/user-cap.ts';
import { measureMetrics } from '../../measures/metrics.ts';
import { boundedGauges, type MetricDefinition, storedGauge } from './definition.ts';

/**
 * The values of labels that have a closed list, by metric. Rules that match on another value do not compile; for a
 * label that is not here, such as the name of a pipeline, any text may be matched.
 */
export const labelValues = {
  recalld_golden_queries: { outcome: queryOutcomes },
  recalld_golden_runs: { status: runStatuses },
  recalld_threshold: { severity: severities },
  recalld_threshold_seconds: { severity: severities },
  recalld_check_state: { state: verdicts },
  recalld_check_info: { kind: checkKinds },
  recalld_diagnosis_info: { cause: causes, confidence: confidences },
  recalld_notifications_total: { kind: ['webhook', 'slack', 'pagerduty'], outcome: ['sent', 'failed', 'given_up'] },
  recalld_live_drop_state: { state: dropStates },
  recalld_index_findings: { kind: findingKinds },
  recalld_judge_failures_total: { reason: judgeFailureReasons },
  recalld_evaluation_requests_total: { outcome: evaluationOutcomes },
  recalld_experiment_verdict: { verdict: experimentVerdicts },
  recalld_shadow_live_questions_total: { outcome: queryOutcomes },
  recalld_variant_split: { verdict: splitVerdicts },
  recalld_queries_total: { outcome: queryOutcomes },
  recalld_ingest_shed_total: { reason: ['database', 'disk_full', 'overload', 'rate_limit'] },
  recalld_redaction_service_total: { outcome: ['ok', 'failed', 'timeout', 'malformed', 'overloaded'] },
  recalld_trace_spans_total: {
    outcome: [
      'live_query',
      'ignored',
      'rejected',
      'truncated',
      'unreadable_retriever',
      'without_documents',
      'without_pipeline',
      'fragment_dropped',
    ],
  },
  recalld_feedback_total: { sentiment: sentiments },
  recalld_feedback_positive_ratio: { basis: feedbackBases },
  recalld_feedback_positive_ratio_ci_high: { basis: feedbackBases },
  recalld_feedback_opinions: { basis: feedbackBases },
  recalld_jobs_total: { outcome: ['completed', 'failed', 'dead'] },
  recalld_queue_jobs: { state: ['waiting', 'active', 'delayed', 'failed'] },
} as const satisfies {
  readonly [Name in MetricName]?: { readonly [Label in keyof LabelsOf<Name>]?: readonly string[] };
};

export const metricCatalogue = {
  ...goldenMetrics,
  ...liveMixMetrics,
  ...probeMetrics,
  ...diagnosisMetrics,
  ...indexMetrics,
  ...judgingMetrics,
  ...experimentMetrics,
  ...notificationMetrics,
  recalld_threshold: storedGauge('Configured threshold of a check on a share, a score or another plain number.', [
    'pipeline',
    'check',
    'severity',
  ]),
  recalld_threshold_seconds: storedGauge('Configured threshold of a check on a time.', [
    'pipeline',
    'check',
    'severity',
  ]),
  recalld_check_state: storedGauge('Verdict of a check: exactly one of ok, warning, critical and no_data is 1.', [
    'pipeline',
    'check',
    'state',
  ]),
  recalld_check_quiet: storedGauge(
    '1 while a check has no data for a reason that its config accepts, such as too little traffic or a baseline that is not learnt yet; else 0.',
    ['pipeline', 'check'],
  ),
  recalld_check_smallest_detectable_drop: storedGauge(
    'The drop that a regression check would find in one run with a chance of 0.8, by the noise of its baseline and the size of the golden set.',
    ['pipeline', 'check'],
  ),
  recalld_check_blind: storedGauge(
    '1 while a regression check passes although it would not find a drop of twice the size that it watches for; else 0.',
    ['pipeline', 'check'],
  ),
  recalld_check_last_evaluation_timestamp_seconds: storedGauge('When a check was last judged.', ['pipeline', 'check']),
  recalld_check_info: storedGauge(
    'Always 1: the kind of a check and the words of its alert: `what` it measures, whether it fails `below` or `above` its threshold, and the unit of both.',
    ['pipeline', 'check', 'kind', 'what', 'limit', 'unit'],
  ),
  ...boundedGauges(
    {
      recalld_check_value: 'Plain number that a check was last judged by; absent while none is fresh enough to trust.',
      recalld_check_value_seconds:
        'Time that a check on a time was last judged by; absent while none is fresh enough to trust.',
    },
    ['pipeline', 'check'],
  ),
  recalld_check_n: storedGauge('Queries, opinions or documents behind the value of a check (its n).', [
    'pipeline',
    'check',
  ]),
  recalld_check_since_timestamp_seconds: storedGauge(
    'Of a check that is not ok: when the first measurement beyond its threshold was taken, or since when nothing is known.',
    ['pipeline', 'check'],
  ),
  recalld_check_before: storedGauge('Of a check that is not ok: its last plain number while it was.', [
    'pipeline',
    'check',
  ]),
  recalld_check_before_seconds: storedGauge('Of a check on a time that is not ok: its last time while it was.', [
    'pipeline',
    'check',
  ]),
  recalld_check_outage: storedGauge('1 while all that broke a check is that the retriever did not answer, else 0.', [
    'pipeline',
    'check',
  ]),
  recalld_queries_total: {
    type: 'counter',
    help: 'Live queries received by this process, sampled or not, by outcome: ok, empty, error or timeout.',
    labels: ['pipeline', 'outcome'],
    source: 'process',
  },
  recalld_query_zero_results_total: {
    type: 'counter',
    help: 'Live queries that were answered without any document.',
    labels: ['pipeline'],
    source: 'process',
  },
  recalld_query_latency_seconds: {
    type: 'histogram',
    help: 'Retrieval latency of live queries, as their service reports it; `metrics.latency_buckets` sets other limits.',
    labels: ['pipeline'],
    source: 'process',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  recalld_query_top1_similarity: {
    type: 'histogram',
    help: 'Score of the best document of live queries, where the retriever gives one between -1 and 1.',
    labels: ['pipeline'],
    source: 'process',
    buckets: [-0.2, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1],
  },
  recalld_ingest_rejected_total: {
    type: 'counter',
    help: 'Items of ingest requests that were not accepted, by the code of the reason.',
    labels: ['code'],
    source: 'process',
  },
  recalld_ingest_shed_total: {
    type: 'counter',
    help: 'Ingest requests that were answered 429 or 503, by reason: database, overload or rate_limit.',
    labels: ['reason'],
    source: 'process',
  },
  recalld_requests_under_way_bytes: {
    type: 'gauge',
    help: 'Most bytes that requests under way held at once in the last second, estimated: bodies, what was read from them, and rows that waited to be stored. Beyond `server.max_under_way_mb` requests are shed.',
    labels: [],
    source: 'process',
  },
  recalld_redaction_service_total: {
    type: 'counter',
    help: 'Texts given to the redaction service, by outcome: ok, or failed, timeout and malformed, of which only a hash is kept.',
    labels: ['pipeline', 'outcome'],
    source: 'process',
  },
  recalld_trace_spans_total: {
    type: 'counter',
    help: 'OpenTelemetry spans received: live_query, ignored, rejected (malformed), truncated (attributes dropped or shortened by the service), unreadable_retriever (a retriever span that gave no live query), without_documents (those of them that name no documents), without_pipeline, or fragment_dropped (more than can wait for its query).',
    labels: ['outcome'],
    source: 'process',
  },
  recalld_feedback_total: {
    type: 'counter',
    help: 'Feedback received by this process, by kind and sentiment.',
    labels: ['pipeline', 'kind', 'sentiment'],
    source: 'process',
  },
  ...boundedGauges(
    {
      recalld_feedback_positive_ratio:
        'Share of positive opinions among the positive and negative ones of the trailing window (live.window); of each user and query the latest counts. Absent below 10 opinions. Measured every 5 minutes.',
    },
    ['pipeline', 'segment', 'basis'],
    'Wilson',
  ),
  recalld_feedback_opinions: storedGauge('Opinions behind recalld_feedback_positive_ratio (its n).', [
    'pipeline',
    'segment',
    'basis',
  ]),
  ...measureMetrics,
  ...liveMeasurementMetrics,
  ...liveStageMetrics,
  ...densityMetrics,
  recalld_build_info: {
    type: 'gauge',
    help: 'Version of recalld and of Node.js; always 1.',
    labels: ['version', 'nodejs'],
    source: 'process',
  },
  recalld_snapshot_age_seconds: {
    type: 'gauge',
    help: 'Age of the database rows behind the stored gauges, which a scrape finds in memory; grows while the database does not answer, from the start of the process while there are none.',
    labels: [],
    source: 'process',
  },
  recalld_snapshot_errors_total: {
    type: 'counter',
    help: 'Readings of the database rows behind the stored gauges that failed.',
    labels: [],
    source: 'process',
  },
  recalld_dropped_samples_total: {
    type: 'counter',
    help: 'Samples that were not exported because they were not finite numbers. Any increase is a bug in recalld.',
    labels: [],
    source: 'process',
  },
  recalld_jobs_total: {
    type: 'counter',
    help: 'Jobs by outcome: completed, failed (will be retried) or dead (will not).',
    labels: ['task', 'outcome'],
    source: 'process',
  },
  recalld_ticks_given_up_total: {
    type: 'counter',
    help: 'Planned starts that could not be stored before the next one was due, by the job that they would have started.',
    labels: ['task'],
    source: 'process',
  },
  recalld_job_duration_seconds: {
    type: 'histogram',
    help: 'How long a job ran.',
    labels: ['task'],
    source: 'process',
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800],
  },
  recalld_clock_skew_seconds: {
    type: 'gauge',
    help: 'By how much the clock of this process is ahead of that of the database, as last compared; negative when it is behind.',
    labels: [],
    source: 'process',
  },
  recalld_event_loop_lag_seconds: {
    type: 'histogram',
    help: 'By how much a timer came late, ten times a second: how long a request had to wait for its turn.',
    labels: [],
    source: 'process',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  },
  recalld_queue_jobs: storedGauge('Jobs in the queue by state: waiting, active, delayed or failed.', [
    'queue',
    'state',
  ]),
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof metricCatalogue;

export type LabelsOf<Name extends MetricName> = Readonly<
  Record<(typeof metricCatalogue)[Name]['labels'][number], string>
>;

/** Names of the metrics that are made of stored rows: whoever exports them exports the same values. */
export type StoredMetric = {
  [Name in MetricName]: (typeof metricCatalogue)[Name]['source'] extends 'stored' ? Name : never;
}[MetricName];

/** Names of the metrics of a kind, as a union. */
export type MetricsOfType<Type extends MetricDefinition['type']> = {
  [Name in MetricName]: (typeof metricCatalogue)[Name]['type'] extends Type ? Name : never;
}[MetricName];

/**
 * All metrics that recalld exports. Only this file defines the names, help texts, labels and buckets of metrics.
 * docs/reference/metrics.md is generated from this file, and the exporter refuses metrics that are not defined here.
 * Stored gauges (`stored`) are made from the latest database rows, which are cached in memory and reloaded every few
 * seconds. All other metrics are measured by the process that exports them.
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
import { isolationMetrics, liveMeasurementMetrics, liveMixMetrics, liveStageMetrics } from '../../live/metrics.ts';
import { sentiments } from '../../live/rules/feedback/sentiment.ts';
import { feedbackBases } from '../../live/rules/feedback/user-cap.ts';
import { uncheckedReasons } from '../../live/rules/isolation.ts';
import { measureMetrics } from '../../measures/metrics.ts';
import { boundedGauges, counter, histogram, type MetricDefinition, processGauge, storedGauge } from './definition.ts';

/**
 * The labels that allow only certain values, and those values, for each metric. A rule that matches any other value
 * does not compile. A label that is not listed, such as a pipeline name, accepts any text.
 */
export const labelValues = {
  recalld_golden_queries: { outcome: queryOutcomes },
  recalld_golden_runs: { status: runStatuses },
  recalld_threshold: { severity: severities },
  recalld_threshold_seconds: { severity: severities },
  recalld_check_state: { state: verdicts },
  recalld_check_info: { kind: checkKinds },
  recalld_diagnosis_info: { cause: causes, confidence: confidences },
  recalld_notifications_total: {
    kind: ['webhook', 'slack', 'teams', 'pagerduty', 'email'],
    outcome: ['sent', 'failed', 'given_up'],
  },
  recalld_normal_range: { bound: ['low', 'high'] },
  recalld_live_drop_state: { state: dropStates },
  recalld_index_findings: { kind: findingKinds },
  recalld_judge_failures_total: { reason: judgeFailureReasons },
  recalld_evaluation_requests_total: { outcome: evaluationOutcomes },
  recalld_experiment_verdict: { verdict: experimentVerdicts },
  recalld_shadow_live_questions_total: { outcome: queryOutcomes },
  recalld_variant_split: { verdict: splitVerdicts },
  recalld_queries_total: { outcome: queryOutcomes },
  recalld_live_isolation_unchecked_total: { reason: uncheckedReasons },
  recalld_ingest_shed_total: { reason: ['database', 'disk_full', 'overload', 'rate_limit'] },
  recalld_redaction_service_total: { outcome: ['ok', 'failed', 'timeout', 'malformed'] },
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
  recalld_threshold: storedGauge(
    'Configured threshold of a check whose value is a share, a score or another plain number.',
    ['pipeline', 'check', 'severity'],
  ),
  recalld_threshold_seconds: storedGauge('Configured threshold of a check whose value is a duration.', [
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
    '1 while a check has no data for an accepted reason, such as low traffic or a baseline that is still being learned; otherwise 0.',
    ['pipeline', 'check'],
  ),
  recalld_check_smallest_detectable_drop: storedGauge(
    'Smallest drop that a regression check detects in one run with 80 % power, given the baseline noise and the golden set size.',
    ['pipeline', 'check'],
  ),
  recalld_check_blind: storedGauge(
    '1 while a regression check passes but could not have detected a drop of twice the configured size; otherwise 0.',
    ['pipeline', 'check'],
  ),
  recalld_check_last_evaluation_timestamp_seconds: storedGauge('When a check was last evaluated.', [
    'pipeline',
    'check',
  ]),
  recalld_check_info: storedGauge(
    'Always 1. The labels state what a check measures (`what`), whether it fails `below` or `above` its threshold, and the unit of value and threshold.',
    ['pipeline', 'check', 'kind', 'what', 'limit', 'unit'],
  ),
  ...boundedGauges(
    {
      recalld_check_value:
        'Value of a check at its last evaluation, as a plain number; absent if the value is too old to trust.',
      recalld_check_value_seconds:
        'Value of a check at its last evaluation, if the value is a duration; absent if the value is too old to trust.',
    },
    ['pipeline', 'check'],
  ),
  recalld_check_n: storedGauge(
    'Number of queries, feedback items or documents (n) on which the value of a check is based.',
    ['pipeline', 'check'],
  ),
  recalld_check_since_timestamp_seconds: storedGauge(
    'When a measurement first crossed the threshold, or when data went missing. Absent while the check is ok.',
    ['pipeline', 'check'],
  ),
  recalld_check_before: storedGauge(
    'Last value of a check before it stopped being ok, as a plain number. Absent while the check is ok, and for regression checks.',
    ['pipeline', 'check'],
  ),
  recalld_check_before_seconds: storedGauge(
    'Last value of a check before it stopped being ok, if the value is a duration. Absent while the check is ok.',
    ['pipeline', 'check'],
  ),
  recalld_check_outage: storedGauge('1 while a check fails only because the retriever did not respond; otherwise 0.', [
    'pipeline',
    'check',
  ]),
  recalld_queries_total: counter(
    'Live queries that this process received, including queries that were not sampled, by outcome: ok, empty, error or timeout.',
    ['pipeline', 'outcome'],
  ),
  recalld_query_zero_results_total: counter('Live queries for which the retriever returned no documents.', [
    'pipeline',
  ]),
  recalld_query_latency_seconds: histogram(
    'Retrieval latency of live queries, as reported by the RAG service; `metrics.latency_buckets` sets the buckets.',
    ['pipeline'],
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  ),
  recalld_query_top1_similarity: histogram(
    'Score of the top document of live queries, if the score is between -1 and 1.',
    ['pipeline'],
    [-0.2, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1],
  ),
  recalld_ingest_rejected_total: counter('Rejected items of ingest requests, by rejection code.', ['code']),
  recalld_ingest_shed_total: counter(
    'Ingest requests that recalld answered with 429 or 503, by reason: database, disk_full, overload or rate_limit.',
    ['reason'],
  ),
  recalld_requests_under_way_bytes: processGauge(
    'Estimated peak memory used by in-flight requests in the last second: bodies, parsed values, and rows waiting to be stored. recalld refuses requests that would raise this estimate above `server.max_under_way_mb`.',
    [],
  ),
  recalld_redaction_service_total: counter(
    'Texts sent to the redaction service, by outcome: ok, failed, timeout or malformed. Unless the outcome is ok, recalld stores only a hash.',
    ['pipeline', 'outcome'],
  ),
  recalld_trace_spans_total: counter(
    'OpenTelemetry spans received: live_query, ignored, rejected (malformed), truncated (attributes dropped or shortened by the service), unreadable_retriever (a retriever span without a live query), without_documents (a retriever span without documents), without_pipeline, or fragment_dropped (too many spans were waiting for their live query).',
    ['outcome'],
  ),
  recalld_feedback_total: counter('Feedback that this process received, by kind and sentiment.', [
    'pipeline',
    'kind',
    'sentiment',
  ]),
  ...boundedGauges(
    {
      recalld_feedback_positive_ratio:
        'Share of positive feedback among positive and negative feedback in the trailing window (live.window); only the latest feedback per user and query counts. Absent if there are fewer than 10 feedback items. Measured every 5 minutes.',
    },
    ['pipeline', 'segment', 'basis'],
    "Wilson's method",
  ),
  recalld_feedback_opinions: storedGauge(
    'Number of positive and negative feedback items (n) on which recalld_feedback_positive_ratio is based.',
    ['pipeline', 'segment', 'basis'],
  ),
  ...measureMetrics,
  ...liveMeasurementMetrics,
  ...liveStageMetrics,
  ...isolationMetrics,
  ...densityMetrics,
  recalld_build_info: {
    ...processGauge('Always 1. The labels are the versions of recalld and Node.js.', ['version', 'nodejs']),
    isShared: true,
  },
  recalld_snapshot_age_seconds: {
    ...processGauge(
      'Age of the database rows from which this process exports stored values, such as golden scores. The age grows while the database does not respond. Until the first rows are read, the value is the age of the process.',
      [],
    ),
    isShared: true,
  },
  recalld_snapshot_errors_total: {
    ...counter(
      'Failed attempts to read the database rows from which this process exports stored values, such as golden scores.',
      [],
    ),
    isShared: true,
  },
  recalld_dropped_samples_total: counter(
    'Samples that recalld did not export because their values were not finite. Any increase indicates a bug in recalld.',
    [],
  ),
  recalld_jobs_total: counter('Jobs by outcome: completed, failed (will be retried) or dead (will not be retried).', [
    'task',
    'outcome',
  ]),
  recalld_ticks_given_up_total: counter(
    'Scheduled runs that recalld could not enqueue before the next scheduled time, by job.',
    ['task'],
  ),
  recalld_job_duration_seconds: histogram(
    'Duration of jobs.',
    ['task'],
    [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800],
  ),
  recalld_clock_skew_seconds: {
    ...processGauge(
      'Seconds by which the clock of this process is ahead of the database clock; negative if the clock is behind.',
      [],
    ),
    isShared: true,
  },
  recalld_event_loop_lag_seconds: histogram(
    'Timer delay, measured ten times a second: how long a request had to wait for the event loop.',
    [],
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  ),
  recalld_queue_jobs: storedGauge('Jobs in the queue by state: waiting, active, delayed or failed.', [
    'queue',
    'state',
  ]),
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof metricCatalogue;

export type LabelsOf<Name extends MetricName> = Readonly<
  Record<(typeof metricCatalogue)[Name]['labels'][number], string>
>;

export type LabelOf<Name extends MetricName> = keyof LabelsOf<Name> & string;

/** Names of the metrics that are made from stored rows; all replicas export the same values. */
export type StoredMetric = {
  [Name in MetricName]: (typeof metricCatalogue)[Name]['source'] extends 'stored' ? Name : never;
}[MetricName];

/** Union of the names of all metrics with a given type. */
export type MetricsOfType<Type extends MetricDefinition['type']> = {
  [Name in MetricName]: (typeof metricCatalogue)[Name]['type'] extends Type ? Name : never;
}[MetricName];

/**
 * Alerts on live traffic and feedback. Each alert requires a minimum number of queries, so that it does not fire by
 * chance.
 */
import {
  type AlertRule,
  increaseBy,
  maxBy,
  observedBy,
  quantileBy,
  type RecordingRule,
  type RuleGroup,
  rateBy,
  ratio,
  series,
} from '../../platform/metrics/alert-rules.ts';

const pipeline = ['pipeline'] as const;
const name = '{{ $labels.pipeline }}';
const failed = { outcome: ['error', 'timeout'] } as const;

const errors5m = 'pipeline:recalld_query_errors:ratio_rate5m';
const errors1h = 'pipeline:recalld_query_errors:ratio_rate1h';
const zeroResults1h = 'pipeline:recalld_query_zero_results:ratio_rate1h';
const latency15m = 'pipeline:recalld_query_latency_seconds:p95_rate15m';

/** Ratios are never NaN: without traffic there is no series. */
const recordings: readonly RecordingRule[] = [
  ...(['5m', '1h'] as const).map((window) => ({
    record: window === '5m' ? errors5m : errors1h,
    expr: ratio(
      rateBy(pipeline, 'recalld_queries_total', window, failed),
      rateBy(pipeline, 'recalld_queries_total', window),
    ),
  })),
  {
    record: zeroResults1h,
    expr: ratio(
      rateBy(pipeline, 'recalld_query_zero_results_total', '1h'),
      rateBy(pipeline, 'recalld_queries_total', '1h'),
    ),
  },
  {
    record: latency15m,
    expr: `${quantileBy(0.95, pipeline, 'recalld_query_latency_seconds', '15m')}
and ${observedBy(pipeline, 'recalld_query_latency_seconds', '15m', {}, null)} > 0`,
  },
];

/** Limits an alert to pipelines with at least `queries` queries within the window. */
function busy(window: string, queries: number): string {
  return `and on (pipeline) ${increaseBy(pipeline, 'recalld_queries_total', window)} >= ${queries}`;
}

/**
 * Excludes values of at most `factor` times the average of the previous day; excludes nothing if there is no history.
 */
function unlessUsual(recorded: string, factor: number): string {
  return `unless on (pipeline) ${recorded} <= ${factor} * avg_over_time(${recorded}[1d] offset 1d)`;
}

/** The paging alert on live queries. While this alert fires, warnings on live queries are redundant. */
const page = { alerts: ['RecalldLiveNotAnswering'], on: pipeline };

const warning = { severity: 'warning', by: pipeline, silentWhile: page, dashboard: 'live' } as const;

const traffic: readonly AlertRule[] = [
  {
    alert: 'RecalldLiveNotAnswering',
    severity: 'critical',
    expr: `${errors5m} >= 0.5\n${busy('5m', 20)}`,
    for: '2m',
    keepFiringFor: '10m',
    by: pipeline,
    silentWhile: { alerts: ['RecalldRetrieverNotAnswering'], on: pipeline },
    dashboard: 'live',
    summary: `${name}: most live queries fail`,
    description: `{{ $value | humanizePercentage }} of live queries on ${name} in the last 5 minutes failed or timed out (limit 50 %). Fix the retrieval service, or roll it back if a new version was just deployed.`,
  },
  {
    ...warning,
    alert: 'RecalldLiveErrors',
    expr: `${errors1h} >= 0.05\n${busy('1h', 100)}`,
    for: '5m',
    keepFiringFor: '15m',
    summary: `${name}: live queries fail`,
    description: `{{ $value | humanizePercentage }} of live queries on ${name} in the last hour failed or timed out (limit 5 %).`,
  },
  {
    ...warning,
    alert: 'RecalldLiveZeroResults',
    expr: `${zeroResults1h} >= 0.1\n${unlessUsual(zeroResults1h, 2)}\n${busy('1h', 100)}`,
    for: '10m',
    keepFiringFor: '30m',
    summary: `${name}: many live queries return no documents`,
    description: `{{ $value | humanizePercentage }} of live queries on ${name} in the last hour returned no documents, which is at least 10 % and more than twice the usual share. Check the index and its filters.`,
  },
  {
    ...warning,
    alert: 'RecalldLiveLatency',
    expr: `${latency15m} >= 1\n${unlessUsual(latency15m, 2)}\n${busy('15m', 50)}`,
    for: '10m',
    keepFiringFor: '15m',
    summary: `${name}: live queries are slow`,
    description: `The 95th-percentile latency of live queries on ${name} in the last 15 minutes was {{ $value | humanizeDuration }} (limit 1 s), more than twice as long as usual.`,
  },
  {
    alert: 'RecalldLiveTrafficStopped',
    severity: 'warning',
    expr: `${increaseBy(pipeline, 'recalld_queries_total', '1h', {}, '1d')} >= 100
unless on (pipeline) ${increaseBy(pipeline, 'recalld_queries_total', '30m')} > 0
unless on (pipeline) ${increaseBy(pipeline, 'recalld_queries_total', '1h', {}, '1w')} < 100
and on () group by () (${series('recalld_build_info')})`,
    for: '15m',
    by: pipeline,
    dashboard: 'live',
    summary: `${name}: no live queries received`,
    description: `recalld has received no live queries for ${name} in 30 minutes. In the same hour yesterday, it received {{ $value | humanize }} live queries. Check the service that sends them, and its API key.`,
  },
];

const feedback: readonly AlertRule[] = [
  {
    alert: 'RecalldFeedbackFell',
    severity: 'warning',
    expr: `${maxBy(pipeline, 'recalld_feedback_latest_positive_ratio')}
and on (pipeline) ${maxBy(pipeline, 'recalld_feedback_drop_evidence_ratio')} >= 1`,
    for: '1m',
    keepFiringFor: '15m',
    by: pipeline,
    dashboard: 'feedback',
    summary: `${name}: positive feedback dropped`,
    description: `{{ $value | humanizePercentage }} of the latest feedback on ${name} was positive. Within the trailing window, the share of positive feedback dropped more than 5 percentage points below its baseline.`,
  },
  {
    alert: 'RecalldFeedbackStopped',
    severity: 'info',
    expr: `${increaseBy(pipeline, 'recalld_feedback_total', '6h', {}, '1d')} >= 50
unless on (pipeline) ${increaseBy(pipeline, 'recalld_feedback_total', '6h')} > 0
${busy('6h', 100)}`,
    for: '30m',
    by: pipeline,
    dashboard: 'feedback',
    summary: `${name}: no feedback received`,
    description: `recalld has received no feedback on ${name} in 6 hours although live queries arrived. In the same 6 hours yesterday, it received {{ $value | humanize }} feedback items. Check that the feedback buttons work and that the service sends feedback to recalld.`,
  },
];

export function liveGroup(): RuleGroup {
  return { name: 'recalld-live', recordings, alerts: traffic };
}

export function feedbackGroup(): RuleGroup {
  return { name: 'recalld-feedback', recordings: [], alerts: feedback };
}

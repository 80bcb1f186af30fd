/** Values over time for the fixtures of alerts, and the metrics that every recalld process always exports. */
import { type Signal, signal, type ValueAt } from '../../../support/promtool.ts';

export const always =
  (value: number): ValueAt =>
  () =>
    value;

/** A counter that increases by `perMinute` every minute. */
export const growing =
  (perMinute: number): ValueAt =>
  (minute) =>
    perMinute * minute;

/** A metric that has no value before minute `start`, and has `value` from then on. */
export const from =
  (start: number, value: number): ValueAt =>
  (minute) =>
    minute < start ? null : value;

/** A metric of Prometheus or Node.js, which is not in the catalog. */
export function foreign(name: string, at: ValueAt, labels: Readonly<Record<string, string>> = {}): Signal {
  return { name, labels, isCounter: false, at };
}

export const faq = { pipeline: 'docs', golden_set: 'faq' };

/** Hourly golden runs, each of which completes after one minute. */
export const hourlyRuns: readonly Signal[] = [
  signal('recalld_golden_run_interval_seconds', faq, always(3600)),
  signal('recalld_golden_run_last_attempt_timestamp_seconds', faq, (m) => 3600 * Math.floor(m / 60)),
  signal('recalld_golden_run_last_success_timestamp_seconds', faq, (m) => 3600 * Math.floor((m - 1) / 60) + 60),
  signal('recalld_golden_runs', { ...faq, status: 'running' }, (m) => (m % 60 === 0 ? 1 : 0)),
  signal('recalld_golden_run_duration_seconds', faq, always(60)),
  signal('recalld_golden_scores_withheld', faq, always(0)),
  signal('recalld_golden_segments_overflow', faq, always(0)),
  ...queries({ ok: 100, empty: 2, error: 1, timeout: 0 }),
];

/** Number of queries in the latest completed run, by outcome. */
export function queries(counts: Readonly<Record<string, number>>): Signal[] {
  return Object.entries(counts).map(([outcome, count]) =>
    signal('recalld_golden_queries', { ...faq, outcome }, always(count)),
  );
}

export const floorCheck = { pipeline: 'docs', check: 'ndcg@10 below 0.8 on faq' };
export const densityCheck = { pipeline: 'docs', check: 'density drift' };
export const liveCheck = { pipeline: 'docs', check: 'error_ratio above 0.05' };
export const staleCheck = { pipeline: 'docs', check: 'stale labels above 0.02 on faq' };

type NamedCheck = { readonly pipeline: string; readonly check: string };

/** Descriptions of the checks. */
const words = new Map<NamedCheck, { kind: string; what: string; limit: string }>([
  [floorCheck, { kind: 'floor', what: 'ndcg@10', limit: 'below' }],
  [liveCheck, { kind: 'threshold', what: 'The share of live queries that failed', limit: 'above' }],
  [staleCheck, { kind: 'stale_labels', what: 'The share of judged documents with stale labels', limit: 'above' }],
  [densityCheck, { kind: 'density_drift', what: 'The coverage of live queries', limit: 'above' }],
]);

/** Info metric and state metrics of a check; `stateAt` returns the state in each minute. */
export function checkStates(check: NamedCheck, stateAt: (minute: number) => string): Signal[] {
  const { kind = '', what = '', limit = '' } = words.get(check) ?? {};
  return [
    signal('recalld_check_info', { ...check, kind, what, limit, unit: 'number' }, always(1)),
    ...['ok', 'warning', 'critical', 'no_data'].map((state) =>
      signal('recalld_check_state', { ...check, state }, (minute) => (stateAt(minute) === state ? 1 : 0)),
    ),
  ];
}

/** Live queries per minute by outcome, and a latency histogram in which no latency exceeds `seconds`. */
export function traffic(perMinute: Readonly<Record<string, number>>, seconds = 0.05): Signal[] {
  const total = Object.values(perMinute).reduce((sum, each) => sum + each, 0);
  const pipeline = { pipeline: 'docs' };
  const limits = ['0.05', '0.5', '1', '2.5', '10', '+Inf'];
  return [
    ...Object.entries(perMinute).map(([outcome, count]) =>
      signal('recalld_queries_total', { ...pipeline, outcome }, growing(count)),
    ),
    signal('recalld_query_zero_results_total', pipeline, growing(perMinute['empty'] ?? 0)),
    ...limits.map((le) => ({
      ...foreign(
        'recalld_query_latency_seconds_bucket',
        growing(seconds <= Number(le.replace('+Inf', 'Infinity')) ? total : 0),
        { ...pipeline, le },
      ),
      isCounter: true,
    })),
    { ...foreign('recalld_query_latency_seconds_count', growing(total), pipeline), isCounter: true },
  ];
}

const version = { version: '1.2.3', nodejs: '20.19.0' };

/** Metrics of a healthy daemon. */
export const alive: readonly Signal[] = [
  foreign('up', always(1)),
  foreign('process_start_time_seconds', always(0)),
  signal('recalld_build_info', version, always(1)),
  signal('recalld_snapshot_age_seconds', {}, always(0)),
  signal('recalld_snapshot_errors_total', {}, always(0)),
  signal('recalld_dropped_samples_total', {}, always(0)),
];

/**
 * A new version of the golden set replaces the old one at minute 45. From the new version's first run on, the number of
 * queries, the segments and the scores are different.
 */
export const rotation: readonly Signal[] = [
  signal('recalld_golden_scored_queries', { ...faq, segment: 'all' }, (m) => (m < 47 ? 103 : 250)),
  signal('recalld_golden_scored_queries', { ...faq, segment: 'topic=old' }, (m) => (m < 47 ? 40 : 'stale')),
  signal('recalld_golden_scored_queries', { ...faq, segment: 'topic=new' }, (m) => (m < 47 ? null : 90)),
  signal('recalld_golden_ndcg', { ...faq, segment: 'all', k: '10' }, (m) => (m < 47 ? 0.91 : 0.84)),
  signal('recalld_golden_runs', { ...faq, status: 'completed' }, (m) => (m < 47 ? 12 : 13)),
];

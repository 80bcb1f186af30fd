/**
 * Every metric that recalld exports: the only place that knows their names, help, labels and buckets.
 * docs/metrics.md is generated from here, the exporter refuses what is not here.
 *
 * `stored` gauges are rebuilt at every scrape from the latest rows of the database; the others are counted by the
 * process that exports them.
 */

export interface MetricDefinition {
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  readonly source: 'stored' | 'process';
  readonly buckets?: readonly number[];
}

/** Golden measures that are exported, by the name that the metric carries. */
export const goldenMeasures = [
  'hit_rate',
  'mrr',
  'ndcg',
  'ndcg_exp',
  'recall',
  'precision',
  'map',
  'f1',
] as const;

export type GoldenMeasure = (typeof goldenMeasures)[number];

const goldenHelp: Record<GoldenMeasure, string> = {
  hit_rate: 'Share of golden queries with a relevant document in the top k',
  mrr: 'Mean reciprocal rank of the first relevant document, 0 beyond k',
  ndcg: 'Mean nDCG at k, gain = grade, ideal over all judged documents',
  ndcg_exp: 'Mean nDCG at k, gain = 2^grade - 1, ideal over all judged documents',
  recall: 'Mean share of the relevant documents found in the top k',
  precision: 'Mean of relevant documents in the top k divided by k',
  map: 'Mean average precision at k, divided by the number of relevant documents',
  f1: 'Mean harmonic mean of precision and recall at k, per query',
};

const golden = ['pipeline', 'golden_set'] as const;
const scored = [...golden, 'segment', 'k'] as const;

interface ScoreGauge extends MetricDefinition {
  readonly type: 'gauge';
  readonly labels: typeof scored;
}

function scoreGauge(help: string): ScoreGauge {
  return { type: 'gauge', help, labels: scored, source: 'stored' };
}

type GoldenMetricName = `recalld_golden_${GoldenMeasure}${'' | '_ci_low' | '_ci_high'}`;

const goldenMetrics = Object.fromEntries(
  goldenMeasures.flatMap((measure) => {
    const denominator = 'over all judged queries, failed and empty ones counting 0';
    return [
      [`recalld_golden_${measure}`, scoreGauge(`${goldenHelp[measure]}, ${denominator}.`)],
      [
        `recalld_golden_${measure}_ci_low`,
        scoreGauge(`Lower 95 % confidence bound of recalld_golden_${measure}.`),
      ],
      [
        `recalld_golden_${measure}_ci_high`,
        scoreGauge(`Upper 95 % confidence bound of recalld_golden_${measure}.`),
      ],
    ];
  }),
) as Record<GoldenMetricName, ScoreGauge>;

export const metricCatalogue = {
  ...goldenMetrics,
  recalld_golden_judged_ratio: {
    type: 'gauge',
    help: 'Mean share of the top k that has a judgment; a fall means new documents, not necessarily worse ones.',
    labels: scored,
    source: 'stored',
  },
  recalld_golden_scored_queries: {
    type: 'gauge',
    help: 'Queries behind the golden scores of the latest completed run (the n of every mean).',
    labels: [...golden, 'segment'],
    source: 'stored',
  },
  recalld_golden_queries: {
    type: 'gauge',
    help: 'Queries of the latest ended run by outcome: ok, empty, error or timeout.',
    labels: [...golden, 'outcome'],
    source: 'stored',
  },
  recalld_golden_run_last_success_timestamp_seconds: {
    type: 'gauge',
    help: 'When the latest completed run ended. A run that is void or failed does not move it.',
    labels: golden,
    source: 'stored',
  },
  recalld_golden_run_last_attempt_timestamp_seconds: {
    type: 'gauge',
    help: 'When the latest run of any status started.',
    labels: golden,
    source: 'stored',
  },
  recalld_golden_run_interval_seconds: {
    type: 'gauge',
    help: 'Longest gap between two runs by the schedule; scores older than 3 of it are withheld.',
    labels: golden,
    source: 'stored',
  },
  recalld_golden_run_duration_seconds: {
    type: 'gauge',
    help: 'How long the latest ended run took.',
    labels: golden,
    source: 'stored',
  },
  recalld_golden_runs: {
    type: 'gauge',
    help: 'Stored runs by status: running, completed, void, failed or cancelled.',
    labels: [...golden, 'status'],
    source: 'stored',
  },
  recalld_golden_scores_withheld: {
    type: 'gauge',
    help: '1 when the latest scores are too old to trust and are therefore not exported, else 0.',
    labels: golden,
    source: 'stored',
  },
  recalld_golden_segments_overflow: {
    type: 'gauge',
    help: 'Segments folded into `other` in the latest completed run.',
    labels: golden,
    source: 'stored',
  },
  recalld_threshold: {
    type: 'gauge',
    help: 'Configured threshold of a check.',
    labels: ['pipeline', 'check', 'severity'],
    source: 'stored',
  },
  recalld_check_state: {
    type: 'gauge',
    help: 'Verdict of a check: exactly one of ok, warning, critical and no_data is 1.',
    labels: ['pipeline', 'check', 'state'],
    source: 'stored',
  },
  recalld_check_last_evaluation_timestamp_seconds: {
    type: 'gauge',
    help: 'When a check was last judged.',
    labels: ['pipeline', 'check'],
    source: 'stored',
  },
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
    help: 'Retrieval latency of live queries, as their service reports it.',
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
  recalld_otlp_spans_total: {
    type: 'counter',
    help: 'OpenTelemetry spans received: live_query, ignored, truncated (attributes dropped by the service), without_documents or without_pipeline.',
    labels: ['outcome'],
    source: 'process',
  },
  recalld_feedback_total: {
    type: 'counter',
    help: 'Feedback received by this process, by kind and sentiment.',
    labels: ['pipeline', 'kind', 'sentiment'],
    source: 'process',
  },
  recalld_feedback_positive_ratio: {
    type: 'gauge',
    help: 'Share of positive opinions among the positive and negative ones of the last 24 hours; of each user and query the latest counts.',
    labels: ['pipeline', 'segment', 'basis'],
    source: 'stored',
  },
  recalld_feedback_positive_ratio_ci_low: {
    type: 'gauge',
    help: 'Lower 95 % confidence bound (Wilson) of recalld_feedback_positive_ratio.',
    labels: ['pipeline', 'segment', 'basis'],
    source: 'stored',
  },
  recalld_feedback_positive_ratio_ci_high: {
    type: 'gauge',
    help: 'Upper 95 % confidence bound (Wilson) of recalld_feedback_positive_ratio.',
    labels: ['pipeline', 'segment', 'basis'],
    source: 'stored',
  },
  recalld_feedback_opinions: {
    type: 'gauge',
    help: 'Opinions behind recalld_feedback_positive_ratio (its n).',
    labels: ['pipeline', 'segment', 'basis'],
    source: 'stored',
  },
  recalld_build_info: {
    type: 'gauge',
    help: 'Version of recalld and of Node.js; always 1.',
    labels: ['version', 'nodejs'],
    source: 'process',
  },
  recalld_snapshot_age_seconds: {
    type: 'gauge',
    help: 'Age of the database rows behind the stored gauges; grows while the database does not answer.',
    labels: [],
    source: 'process',
  },
  recalld_snapshot_errors_total: {
    type: 'counter',
    help: 'Scrapes at which the stored gauges could not be refreshed.',
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
    labels: ['job', 'outcome'],
    source: 'process',
  },
  recalld_job_duration_seconds: {
    type: 'histogram',
    help: 'How long a job ran.',
    labels: ['job'],
    source: 'process',
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800],
  },
  recalld_queue_jobs: {
    type: 'gauge',
    help: 'Jobs in the queue by state: waiting, active, delayed or failed.',
    labels: ['queue', 'state'],
    source: 'stored',
  },
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof metricCatalogue;

export type LabelsOf<Name extends MetricName> = Readonly<
  Record<(typeof metricCatalogue)[Name]['labels'][number], string>
>;

/** Names of the metrics of a kind, as a union. */
export type MetricsOfType<Type extends MetricDefinition['type']> = {
  [Name in MetricName]: (typeof metricCatalogue)[Name]['type'] extends Type ? Name : never;
}[MetricName];

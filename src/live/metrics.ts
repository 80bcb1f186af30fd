/**
 * Catalog entries for metrics of two kinds: measures of live traffic, and measures of how well golden sets represent
 * live traffic.
 */
import { boundedGauges, type MetricDefinition, storedGauge } from '../platform/metrics/definition.ts';

const series = ['pipeline', 'measure', 'segment'] as const;

export const liveMeasurementMetrics = {
  recalld_live_measure_samples: storedGauge(
    'Number of sampled queries or episodes (n) on which a live traffic measure is based.',
    ['pipeline', 'segment', 'measure'],
  ),
  recalld_live_measure_no_data: storedGauge(
    '1 while a live traffic measure has no data; the label `reason` gives the reason.',
    ['pipeline', 'segment', 'measure', 'reason'],
  ),
  recalld_feedback_drop_evidence_ratio: storedGauge(
    'E-value for a drop of more than 5 percentage points in the share of positive feedback within the trailing window, divided by the threshold of RecalldFeedbackFell. The alert fires at 1. The value returns to 0 once the latest feedback has recovered. If there is no drop, the value reaches 1 no more often than alerts.false_pages.per_pipeline allows.',
    ['pipeline'],
  ),
  recalld_feedback_latest_positive_ratio: storedGauge(
    'Share of positive feedback among the latest items (at least 50) in the trailing window.',
    ['pipeline'],
  ),
  recalld_feedback_baseline_positive_ratio: storedGauge(
    'Share of positive feedback in the baseline before the trailing window. recalld_feedback_drop_evidence_ratio compares the window with this baseline.',
    ['pipeline'],
  ),
  recalld_normal_range: storedGauge(
    "Limits of a measure's normal range, learned from its earlier values; `bound` is low or high. An alert fires if the measure moves beyond a limit in the worse direction.",
    ['pipeline', 'measure', 'segment', 'bound'],
  ),
  recalld_measure_changed: storedGauge(
    '1 while a measure that has no alert is outside its normal range, otherwise 0; absent until the range is known. `segment` is `all`, or the golden set for a golden run measure.',
    series,
  ),
  recalld_measure_value: storedGauge('Latest value of a measure whose normal range is known.', series),
  recalld_measure_normal: storedGauge('Median of the measure over up to 14 days, excluding incidents.', series),
  recalld_live_measure_samples_read_ratio: storedGauge(
    "Share of the window's stored samples that recalld read. A value below 1 means that there were too many samples to read all of them, so the confidence intervals are wider.",
    ['pipeline'],
  ),
  recalld_live_measure_last_success_timestamp_seconds: storedGauge(
    'Time when the live traffic of a pipeline was last measured. recalld does not export values older than 3 job intervals.',
    ['pipeline'],
  ),
} as const;

export const isolationMetrics = {
  recalld_live_isolation_violations_total: {
    type: 'counter',
    help: 'Live queries whose results violate an isolation rule. All live queries are evaluated, whether sampled or not. A query that the service sends again is counted only once.',
    labels: ['pipeline', 'rule'],
    source: 'process',
  },
  recalld_live_isolation_unchecked_total: {
    type: 'counter',
    help: 'Live queries that an isolation rule could not check: segment_missing (the query lacks the segment), document_unidentified (a document has no id of its own) or field_missing (a document lacks the field).',
    labels: ['pipeline', 'rule', 'reason'],
    source: 'process',
  },
  recalld_live_isolation_violations: storedGauge(
    'Live queries in the last hour whose results violate an isolation rule.',
    ['pipeline', 'rule'],
  ),
} as const satisfies Record<string, MetricDefinition>;

const staged = ['pipeline', 'stage'] as const;

export const liveStageMetrics = {
  recalld_live_stage_queries: storedGauge(
    'Number of sampled live queries in the trailing window that report this retriever stage (n of the other stage metrics); at most 12 stages per pipeline.',
    staged,
  ),
  ...boundedGauges(
    {
      recalld_live_stage_latency_p95_seconds:
        'Weighted 95th percentile of the time spent in a stage, over live queries in the trailing window; absent if there are fewer than 20 queries.',
      recalld_live_stage_documents:
        'Weighted mean number of distinct documents that a stage returns, over the live queries that report this number.',
      recalld_live_stage_emptied_ratio:
        'Weighted share of live queries for which a stage returns nothing although the previous stage returned documents. For the first stage, the value is the share of all queries for which the stage returns nothing.',
      recalld_live_stage_answered_ratio:
        'Weighted mean share of the n final results of a live query that are among the top n documents of the stage; 1 if later stages change nothing. Only judgments show whether a change is an improvement.',
    },
    staged,
  ),
} as const satisfies Record<string, MetricDefinition>;

const golden = ['pipeline', 'golden_set'] as const;
const scored = [...golden, 'measure', 'k'] as const;

export const liveMixMetrics = {
  ...boundedGauges(
    {
      recalld_golden_live_covered_ratio:
        'Share of live queries in the last week that have a similar golden query, weighted by inverse inclusion probability; absent while unknown.',
    },
    golden,
  ),
  recalld_golden_live_represented_ratio: storedGauge(
    'Share of live traffic in topics that have a golden query. Only these topics contribute to recalld_golden_live_mix_score.',
    golden,
  ),
  ...boundedGauges(
    {
      recalld_golden_live_mix_score:
        'Score of the latest completed run, with each topic weighted by its share of live traffic.',
    },
    scored,
  ),
  recalld_golden_live_mix_effective_queries: storedGauge(
    'Effective sample size (Kish) of recalld_golden_live_mix_score.',
    golden,
  ),
} as const satisfies Record<string, MetricDefinition>;

/** Catalogue entries of live traffic, and of how well golden sets represent it. */
import { boundedGauges, type MetricDefinition, storedGauge } from '../platform/metrics/definition.ts';

export const liveMeasurementMetrics = {
  recalld_live_measure_samples: storedGauge('Sampled queries behind a measure of live traffic (its n).', [
    'pipeline',
    'segment',
    'measure',
  ]),
  recalld_live_measure_no_data: storedGauge('1 while a measure of live traffic has no data, with the reason.', [
    'pipeline',
    'segment',
    'measure',
    'reason',
  ]),
  recalld_feedback_drop_evidence_ratio: storedGauge(
    'E-value of a drop of the share of positive opinions by more than 5 points within the trailing window, relative to the threshold of RecalldFeedbackFell. The alert fires at 1; the value is 0 once the latest opinions have recovered. Without a drop it reaches 1 at most as often as alerts.false_pages.per_pipeline allows.',
    ['pipeline'],
  ),
  recalld_feedback_latest_positive_ratio: storedGauge(
    'Share of positive opinions among the latest 50 or slightly more of the trailing window.',
    ['pipeline'],
  ),
  recalld_feedback_baseline_positive_ratio: storedGauge(
    'Share of positive opinions in the baseline before the trailing window, the reference of recalld_feedback_drop_evidence_ratio.',
    ['pipeline'],
  ),
  recalld_measure_changed: storedGauge(
    '1 while a measure without an alert of its own is outside its normal range, 0 while inside; absent until the range is known. `segment` is `all`, or the golden set for a measure of golden runs.',
    ['pipeline', 'measure', 'segment'],
  ),
  recalld_measure_value: storedGauge('Latest value of a measure whose normal range is known.', [
    'pipeline',
    'measure',
    'segment',
  ]),
  recalld_measure_normal: storedGauge(
    'Median of the earlier values of a measure over up to 14 days, without times of incidents.',
    ['pipeline', 'measure', 'segment'],
  ),
  recalld_live_measure_samples_read_ratio: storedGauge(
    'Share of the stored samples of the window that was read. Below 1 there were too many samples, and the bounds are wider.',
    ['pipeline'],
  ),
  recalld_live_measure_last_success_timestamp_seconds: storedGauge(
    'Time of the last measurement of the live traffic of a pipeline. Values older than 3 intervals of the job are withheld.',
    ['pipeline'],
  ),
} as const;

const staged = ['pipeline', 'stage'] as const;

export const liveStageMetrics = {
  recalld_live_stage_queries: storedGauge(
    'Sampled live queries of the trailing window that report this stage of their retriever (n of the other stage metrics); at most 12 stages per pipeline.',
    staged,
  ),
  ...boundedGauges(
    {
      recalld_live_stage_latency_p95_seconds:
        'Weighted 95th percentile of the time spent in a stage, over the live queries of the trailing window; absent below 20 queries.',
      recalld_live_stage_documents:
        'Weighted mean number of distinct documents that a stage returns, over the live queries that report them.',
      recalld_live_stage_emptied_ratio:
        'Weighted share of the live queries for which a stage returns nothing although the previous one returned documents; for the first stage, all queries for which it returns nothing.',
      recalld_live_stage_answered_ratio:
        'Weighted mean share of the final results of a live query that are among as many top documents of the stage: 1 if later stages change nothing. Judgments are needed to tell whether a change is an improvement.',
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
        'Share of the live queries of the last week with a similar golden query, weighted by inclusion probability; absent while unknown.',
    },
    golden,
  ),
  recalld_golden_live_represented_ratio: storedGauge(
    'Share of live traffic on topics with a golden query, which recalld_golden_live_mix_score represents.',
    golden,
  ),
  ...boundedGauges(
    {
      recalld_golden_live_mix_score:
        'Score of the latest completed run, with queries weighted so that topics have their share of live traffic.',
    },
    scored,
  ),
  recalld_golden_live_mix_effective_queries: storedGauge(
    'Effective sample size (Kish) of recalld_golden_live_mix_score.',
    golden,
  ),
} as const satisfies Record<string, MetricDefinition>;

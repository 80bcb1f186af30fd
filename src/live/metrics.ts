/** The metrics of live traffic and of how well golden sets stand for it, as part of the catalogue. */
import { boundedGauges, type MetricDefinition, storedGauge } from '../platform/metrics/definition.ts';

export const liveUpkeepMetrics = {
  recalld_live_measure_samples: storedGauge('Sampled queries behind a measure of live traffic (its n).', [
    'pipeline',
    'segment',
    'measure',
  ]),
  recalld_live_measure_no_data: storedGauge('1 while a measure of live traffic cannot be taken, with the reason why.', [
    'pipeline',
    'segment',
    'measure',
    'reason',
  ]),
  recalld_feedback_drop_evidence_ratio: storedGauge(
    'Evidence that the share of positive opinions dropped by more than 5 points within the trailing window, over what fires RecalldFeedbackFell; 1 and more is an alert, 0 once the latest opinions are back. Without a drop it reaches 1 at most as often as alerts.false_pages.per_pipeline accepts.',
    ['pipeline'],
  ),
  recalld_feedback_latest_positive_ratio: storedGauge(
    'Share of positive opinions among the latest 50 or so of the trailing window.',
    ['pipeline'],
  ),
  recalld_feedback_baseline_positive_ratio: storedGauge(
    'Share of positive opinions in the baseline before the trailing window, which recalld_feedback_drop_evidence_ratio compares with.',
    ['pipeline'],
  ),
  recalld_measure_changed: storedGauge(
    '1 while a measure without an alert of its own is outside its normal range, 0 while it is inside; absent until the range is known. `segment` is `all`, or the golden set of a measure of golden runs.',
    ['pipeline', 'measure', 'segment'],
  ),
  recalld_measure_value: storedGauge('The latest value of a measure whose normal range is known.', [
    'pipeline',
    'measure',
    'segment',
  ]),
  recalld_measure_normal: storedGauge(
    'Median of the earlier values of a measure, of up to 14 days without an incident.',
    ['pipeline', 'measure', 'segment'],
  ),
  recalld_live_measure_samples_read_ratio: storedGauge(
    'Share of the stored samples of the window that was read; below 1 when there were too many, which widens the bounds.',
    ['pipeline'],
  ),
  recalld_live_measure_last_success_timestamp_seconds: storedGauge(
    'When the live traffic of a pipeline was last measured; values older than 3 intervals of the job are withheld.',
    ['pipeline'],
  ),
} as const;

const staged = ['pipeline', 'stage'] as const;

export const liveStageMetrics = {
  recalld_live_stage_queries: storedGauge(
    'Sampled live queries of the trailing window that tell of a stage of their retriever (n of the others); at most 12 stages of a pipeline.',
    staged,
  ),
  ...boundedGauges(
    {
      recalld_live_stage_latency_p95_seconds:
        'Weighted 95th percentile of the own time of a stage in the live queries of the trailing window; absent below 20 that tell it.',
      recalld_live_stage_documents:
        'Mean number of different documents that a stage hands on, over the live queries that tell them, weighted.',
      recalld_live_stage_emptied_ratio:
        'Share of the live queries to which a stage hands on nothing though the one before it had documents; of the first, nothing at all. Weighted.',
      recalld_live_stage_answered_ratio:
        'Mean share of the answer of a live query that is among as many first documents of the stage, weighted: 1 where nothing after it changes the answer. Whether a change is for the better takes judgments.',
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
        'Share of the live queries of the last week with a golden question near by, weighted by their chance of being sampled; absent when nobody can tell.',
    },
    golden,
  ),
  recalld_golden_live_represented_ratio: storedGauge(
    'Share of live traffic on topics with a golden question: what recalld_golden_live_mix_score speaks for.',
    golden,
  ),
  ...boundedGauges(
    {
      recalld_golden_live_mix_score:
        'Score of the latest completed run with its queries weighted so that topics have their shares of live traffic.',
    },
    scored,
  ),
  recalld_golden_live_mix_effective_queries: storedGauge(
    'Effective sample size (Kish) behind recalld_golden_live_mix_score: as many queries of equal weight would tell as much.',
    golden,
  ),
} as const satisfies Record<string, MetricDefinition>;

/** The gauges of scheduled measures of live traffic, as part of the catalogue. */
import { boundedGauges, storedGauge } from './definition.ts';

const labels = ['pipeline', 'segment'] as const;

const window = 'of the trailing window';

/** What each measure is exported as; its bounds are the same name with `_ci_low` and `_ci_high`. */
export const liveGauges = {
  recalld_query_volume: `Live queries ${window}, sampled or not, estimated from the samples by Horvitz and Thompson.`,
  recalld_query_zero_results_ratio: `Share of the live queries ${window} that were answered without any document, weighted by inclusion probability.`,
  recalld_query_error_ratio: `Share of the live queries ${window} whose retrieval failed or timed out, weighted by inclusion probability.`,
  recalld_feedback_click_through_ratio: `Share of the documents shown at the ranks 1 to 10 ${window} that were clicked, weighted; it moves with the positions.`,
  recalld_feedback_clicked_query_ratio: `Share of the live queries ${window} with a click on any document, weighted; those without results count as without a click.`,
  recalld_feedback_clicked_reciprocal_rank: `Mean of 1 / rank of the best-ranked clicked document over the clicked queries ${window}, weighted.`,
  recalld_feedback_clicks_over_expected_ratio: `Clicks ${window} over those expected at the same positions in the baseline before it (COEC); 1 is as often as then.`,
} as const;

export type LiveGaugeName = keyof typeof liveGauges;

export const liveMetrics = boundedGauges(liveGauges, labels);

/** What lies behind those values, and why one of them is missing. */
export const liveUpkeepMetrics = {
  recalld_live_measure_samples: storedGauge('Sampled queries behind a measure of live traffic (its n).', [
    'pipeline',
    'segment',
    'measure',
  ]),
  recalld_live_measure_no_data: storedGauge(
    '1 while a measure of live traffic cannot be taken, with the reason why.',
    ['pipeline', 'segment', 'measure', 'reason'],
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

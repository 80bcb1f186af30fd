/** What lies behind the measures of live traffic, and why one of them is missing, as part of the catalogue. */
import { storedGauge } from '../../metrics/definition.ts';

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

/** The metrics of live traffic and of how well golden sets stand for it, as part of the catalogue. */
import { boundedGauges, type MetricDefinition, storedGauge } from '../metrics/definition.ts';

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
  recalld_live_measure_samples_read_ratio: storedGauge(
    'Share of the stored samples of the window that was read; below 1 when there were too many, which widens the bounds.',
    ['pipeline'],
  ),
  recalld_live_measure_last_success_timestamp_seconds: storedGauge(
    'When the live traffic of a pipeline was last measured; values older than 3 intervals of the job are withheld.',
    ['pipeline'],
  ),
} as const;

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

/** The metrics of how well golden sets stand for live traffic, as part of the catalogue. */
import { boundedGauges, type MetricDefinition, storedGauge } from '../../metrics/definition.ts';

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

/** The metrics of variants, as part of the catalogue. */
import { boundedGauges, type MetricDefinition, storedGauge } from '../metrics/definition.ts';

const arm = ['pipeline', 'arm'] as const;
const measured = [...arm, 'measure'] as const;

export const variantMetrics = {
  recalld_variant_split: storedGauge(
    'Whether sessions are split as declared: exactly one of as_declared, mismatch and no_data is 1. With a mismatch sessions are missing, and nothing else can be said of the arms.',
    ['pipeline', 'verdict'],
  ),
  recalld_variant_sessions: storedGauge('Sessions of an arm that chance alone kept, of all days.', arm),
  recalld_variant_verdict: storedGauge(
    'What a measure says of an arm beside the first: exactly one of worse, better, alike, undecided, no_data and withheld is 1. Arms that are alike are ever called worse or better with a chance of 0.01, over all measures and arms.',
    [...measured, 'verdict'],
  ),
  ...boundedGauges(
    {
      recalld_variant_difference:
        'A measure of an arm less that of the first arm, over all days; withheld with a mismatch of the split, and when no day was summed for three days.',
    },
    measured,
    'normal mixture, valid at every look, together with those of all measures and arms',
    '99 %',
  ),
} as const satisfies Record<string, MetricDefinition>;

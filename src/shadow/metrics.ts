/** The metrics of shadows, as part of the catalogue. */
import { boundedGauges, type MetricDefinition, storedGauge } from '../metrics/definition.ts';

const shadow = ['pipeline', 'shadow'] as const;
const onSet = [...shadow, 'golden_set'] as const;

export const shadowMetrics = {
  ...boundedGauges(
    {
      recalld_shadow_difference:
        'Mean nDCG of the shadow less that of the pipeline over the same questions, at the test that decided or else the latest; withheld when no run of the shadow completed for three days.',
    },
    [...onSet, 'k'],
    'Student t or bootstrap, of this one test',
  ),
  recalld_shadow_questions: storedGauge('Golden questions behind recalld_shadow_difference (its n).', [...onSet, 'k']),
  recalld_shadow_verdict: storedGauge(
    'What a golden set says of the shadow: exactly one of worse, better, alike, undecided and no_data is 1. An equal shadow is ever called worse or better with a chance of 0.01.',
    [...onSet, 'verdict'],
  ),
  ...boundedGauges(
    {
      recalld_shadow_overlap:
        'Mean rank-biased overlap of what the shadow answers to live queries with what users got, over seven days.',
      recalld_shadow_changed_ratio: 'Share of live queries to which the shadow gives another list, over seven days.',
    },
    shadow,
    'Wilson, effective sessions',
  ),
  ...boundedGauges(
    {
      recalld_shadow_live_difference:
        'Mean nDCG of the shadow less that of what users got over all live traffic, as the judge of live queries grades both; withheld when no day was added for three days.',
    },
    [...shadow, 'k'],
    'normal mixture, valid at every look',
    '99 %',
  ),
  recalld_shadow_live_judged_queries: storedGauge(
    'Live queries whose lists were both graded (n of recalld_shadow_live_difference).',
    [...shadow, 'k'],
  ),
  recalld_shadow_live_verdict: storedGauge(
    'What judged live queries say of the shadow: exactly one of worse, better, alike, undecided and no_data is 1; absent where live queries are not judged. The verdicts of golden sets and this one share the chance of 0.01 that an equal shadow is ever called.',
    [...shadow, 'verdict'],
  ),
  recalld_shadow_live_questions: storedGauge(
    'Live queries of seven days that both sides answered (n of recalld_shadow_overlap).',
    shadow,
  ),
  recalld_shadow_live_questions_total: {
    type: 'counter',
    help: 'Live queries that the shadow was asked, by what came of it.',
    labels: [...shadow, 'outcome'],
    source: 'process',
  },
} as const satisfies Record<string, MetricDefinition>;

/** Metrics of shadows and variants. */
import { boundedGauges, type MetricDefinition, storedGauge } from '../platform/metrics/definition.ts';

const compared = ['pipeline', 'candidate', 'source', 'measure'] as const;
const shadow = ['pipeline', 'shadow'] as const;

export const experimentMetrics = {
  recalld_experiment_verdict: storedGauge(
    'Verdict on a shadow or an arm by one measure: exactly one of regression, improvement, no_change, inconclusive and no_data is 1; absent for arms while the split of the sessions is off. An equal candidate is ever called a regression or an improvement with a chance of 0.01, over all its measures.',
    [...compared, 'verdict'],
  ),
  ...boundedGauges(
    {
      recalld_experiment_difference:
        'Mean of a measure of a shadow or an arm less that of its baseline: on a golden set at the test that decided or else the latest, of live traffic over all days; withheld when nothing was added for three days.',
    },
    compared,
    'of the one test on a golden set; of live traffic 99 % for all comparisons together, valid at every look',
  ),
  recalld_experiment_n: storedGauge(
    'Golden questions, judged live queries or sessions of the candidate behind recalld_experiment_difference (its n).',
    compared,
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
  recalld_shadow_live_questions: storedGauge(
    'Live queries of seven days that both sides answered (n of recalld_shadow_overlap).',
    shadow,
  ),
  recalld_shadow_live_questions_total: {
    type: 'counter',
    help: 'Live queries that the shadow was asked, judged ones too, by what came of it.',
    labels: [...shadow, 'outcome'],
    source: 'process',
  },
  recalld_variant_split: storedGauge(
    'Whether sessions are split as declared: exactly one of as_declared, mismatch and no_data is 1. With a mismatch sessions are missing, and nothing else can be said of the arms.',
    ['pipeline', 'verdict'],
  ),
  recalld_variant_sessions: storedGauge('Sessions of an arm that chance alone kept, of all days.', ['pipeline', 'arm']),
} as const satisfies Record<string, MetricDefinition>;

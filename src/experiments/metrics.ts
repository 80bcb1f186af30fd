import { boundedGauges, counter, type MetricDefinition, storedGauge } from '../platform/metrics/definition.ts';

const compared = ['pipeline', 'candidate', 'source', 'measure'] as const;
const shadow = ['pipeline', 'shadow'] as const;

export const experimentMetrics = {
  recalld_experiment_verdict: storedGauge(
    'Verdict on a shadow or an arm for one measure: exactly one of regression, improvement, no_change, inconclusive and no_data is 1. Absent for arms while the session split differs from the declared shares. If a candidate is equal to its baseline, the probability that any measure ever reports a regression or an improvement is at most 0.01.',
    [...compared, 'verdict'],
  ),
  ...boundedGauges(
    {
      recalld_experiment_difference:
        'Mean of a measure for a shadow or an arm minus the mean for its baseline. For a golden set, the difference comes from the decisive test or, if no test is decisive, from the latest test. For live traffic, the difference covers all days. Absent if there has been no new data for three days.',
    },
    compared,
    'golden sets: 95 % for a single test; live traffic: 99 % for all comparisons and interim analyses together',
    '95 % or 99 %',
  ),
  recalld_experiment_n: storedGauge(
    'Number of golden queries, judged live queries or candidate sessions over which recalld_experiment_difference is computed (n).',
    compared,
  ),
  ...boundedGauges(
    {
      recalld_shadow_overlap:
        "Mean rank-biased overlap of the shadow's results with the results that users got, for live queries in the last seven days.",
      recalld_shadow_changed_ratio:
        'Share of live queries in the last seven days for which the shadow returns different results.',
    },
    shadow,
    "Wilson's method, over effective sessions",
  ),
  recalld_shadow_live_questions: storedGauge(
    'Number of live queries in the last seven days whose two result lists were compared (n of recalld_shadow_overlap).',
    shadow,
  ),
  recalld_shadow_live_questions_total: counter(
    'Live queries sent to the shadow, including judged queries, by outcome.',
    [...shadow, 'outcome'],
  ),
  recalld_variant_split: storedGauge(
    'State of the session split: exactly one of as_declared, mismatch and no_data is 1. If sessions are missing (mismatch), the arms cannot be compared.',
    ['pipeline', 'verdict'],
  ),
  recalld_variant_sessions: storedGauge('Number of randomly sampled sessions in an arm, over all days.', [
    'pipeline',
    'arm',
  ]),
} as const satisfies Record<string, MetricDefinition>;

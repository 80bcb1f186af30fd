/** More than two configurations over the same queries: every pair by every measure, with p adjusted for the number of pairs. */
import type { MetricKey } from '../../ir/metric-key.ts';
import { mean } from '../../stats/descriptive.ts';
import { holm } from '../../stats/multiple-testing.ts';
import { compareMetric, type MetricComparison } from './compare-metric.ts';
import type { ScoreColumns } from './compare-runs.ts';
import { type ComparisonSettings, type ComparisonVerdict, judgeDifference, primaryOf } from './verdict.ts';

/** Two of the configurations by one measure; `before` and `after` are their places. */
export interface PairComparison {
  readonly before: number;
  readonly after: number;
  readonly metric: MetricComparison;
  /** Adjusted by Holm for all pairs of this measure. */
  readonly pHolm: number;
  /** By the adjusted p. */
  readonly verdict: ComparisonVerdict;
}

export interface MeasureOfMany {
  readonly key: MetricKey;
  /** Of each configuration, in their order. */
  readonly means: readonly number[];
  /** Of each two configurations, the earlier one before. */
  readonly pairs: readonly PairComparison[];
  /** Places of those that no other one is better than. */
  readonly unbeaten: readonly number[];
}

export interface ManyComparison {
  /** Queries. */
  readonly n: number;
  readonly measures: readonly MeasureOfMany[];
  /** The one that decides: the first that can be better or worse. */
  readonly primary: MeasureOfMany;
}

/**
 * Paired comparisons of all pairs, as `compareMetric` makes them. p is adjusted by Holm over the pairs of a measure, so that
 * with equal configurations any verdict of it but no_change and inconclusive comes with a chance of alpha at most; measures
 * are not adjusted for each other, as the first decides and the others are its context. Bounds are of each pair alone.
 *
 * @param configurations at least two, each with a column per key and a row per query
 * @throws RangeError without keys, queries or two configurations
 */
export function compareMany(
  keys: readonly MetricKey[],
  configurations: readonly ScoreColumns[],
  settings: ComparisonSettings,
): ManyComparison {
  if (configurations.length < 2) throw new RangeError('There are fewer than two configurations to compare.');
  const measures = keys.map((key, column) => compareBy(key, column, configurations, settings));
  const primary = primaryOf(measures);
  if (primary === null) throw new RangeError('There is no measure to compare by.');
  return { n: primary.pairs[0]?.metric.n ?? 0, measures, primary };
}

function compareBy(
  key: MetricKey,
  column: number,
  configurations: readonly ScoreColumns[],
  settings: ComparisonSettings,
): MeasureOfMany {
  const scores = configurations.map((columns) => columns[column] ?? []);
  const compared = scores.flatMap((baseline, before) =>
    scores.slice(before + 1).map((candidate, offset) => ({
      before,
      after: before + 1 + offset,
      metric: compareMetric(key, baseline, candidate, null, settings),
    })),
  );
  const adjusted = holm(compared.map(({ metric }) => metric.p));
  const pairs = compared.map((pair, place) => {
    const pHolm = adjusted[place] ?? 1;
    return { ...pair, pHolm, verdict: judgeDifference({ ...pair.metric, p: pHolm }, settings) };
  });
  const beaten = new Set(
    pairs.flatMap(({ before, after, verdict }) =>
      verdict === 'regression' ? [after] : verdict === 'improvement' ? [before] : [],
    ),
  );
  return {
    key,
    means: scores.map((one) => mean(one)),
    pairs,
    unbeaten: [...scores.keys()].filter((place) => !beaten.has(place)),
  };
}

/** Whether one of them is worse than the first, by the measure that decides. */
export function isWorseThanFirst({ primary }: ManyComparison): boolean {
  return primary.pairs.some(({ before, verdict }) => before === 0 && verdict === 'regression');
}

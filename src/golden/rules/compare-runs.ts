/** Paired comparisons of two runs over all judged queries and by segment, and of several runs pairwise. */

import { count, decimal, plural } from '../../core/format.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { formatMetricKey, type MetricKey } from '../../math/ir/metric-key.ts';
import { rankBiasedOverlap } from '../../math/ir/ranking.ts';
import { mean } from '../../math/stats/descriptive.ts';
import { holm, pairedTSampleSize } from '../../math/stats/paired-tests.ts';
import { compareMetric, type MetricComparison } from './compare-metric.ts';
import type { Segment } from './golden-set.ts';
import { isAnswered, type QueryAnswer } from './run.ts';
import type { Accepted, Expected, NoiseTable } from './run-noise.ts';
import { rankingOf } from './score-run.ts';
import {
  type ComparisonSettings,
  type ComparisonVerdict,
  classifyDifference,
  minEffectOf,
  primaryOf,
  testPlan,
} from './verdict.ts';

/**
 * Minimum number of queries for a trustworthy verdict. Smaller sets are of little use for comparisons (Sparck Jones and
 * van Rijsbergen 1976 give 75 as the limit).
 */
const MIN_QUERIES = 100;
const RECOMMENDED_QUERIES = 300;

/**
 * Returns advice on the size of the set; an empty list if the set is large enough. The advice warns about sets of fewer
 * than 100 queries, and states how many queries are needed to detect the minimum effect of each metric.
 */
export function adviseOnSetSize(comparison: SegmentComparison, settings: ComparisonSettings): string[] {
  const { n, metrics } = comparison;
  const small =
    n < MIN_QUERIES
      ? [
          `${plural(n, 'query', 'queries')}: use at least ${MIN_QUERIES}, preferably ${RECOMMENDED_QUERIES}, ` +
            'before you trust a verdict.',
        ]
      : [];
  const blind = metrics.flatMap(({ key, smallestDetectableDifference: smallest, standardDeviation, ciMethod }) => {
    const minEffect = minEffectOf(key.measure, settings);
    if (minEffect === 0 || smallest === null || smallest <= minEffect || standardDeviation === 0) return [];
    if (ciMethod === 'reruns') {
      return [`${formatMetricKey(key)}: differences below ${decimal(smallest)} are within the retriever noise.`];
    }
    const needed = pairedTSampleSize(minEffect, standardDeviation, testPlan(settings));
    const remedy = needed > n ? `; about ${count(needed)} queries would detect ${decimal(minEffect)}` : '';
    return [
      `${formatMetricKey(key)}: with ${plural(n, 'query', 'queries')}, differences below ${decimal(smallest)} ` +
        `may be chance${remedy}.`,
    ];
  });
  return [...small, ...blind];
}

/** Scores of a run: one column per metric, one row per judged query; a query without results scores 0. */
export type ScoreColumns = readonly ArrayLike<number>[];

export interface RunsToCompare {
  readonly keys: readonly MetricKey[];
  /** Columns in key order. Rows are in the order of the judged queries, which is the same in every run. */
  readonly baseline: ScoreColumns;
  readonly candidate: ScoreColumns;
  /** Noise of the retriever; absent if the retriever always returns the same results. */
  readonly noise?: NoiseTable;
  /** Means over the reruns of the pinned baseline; absent if unknown. */
  readonly means?: ScoreColumns | null;
  /** Differences accepted since the baseline was pinned; absent if there are none. */
  readonly accepted?: Accepted;
  readonly segments?: readonly Segment[];
}

export interface SegmentComparison {
  readonly segment: string;
  readonly n: number;
  /** Metrics in key order. */
  readonly metrics: readonly MetricComparison[];
  /** Key of the metric that decides the verdict, such as `ndcg@10`; the other metrics are context. */
  readonly primary: string;
  readonly verdict: ComparisonVerdict;
}

export interface RunComparison extends SegmentComparison {
  /**
   * One comparison per segment. p is not adjusted for the number of segments; the verdict on `all` ignores the other
   * segments.
   */
  readonly segments: readonly SegmentComparison[];
}

/**
 * Compares two runs over all judged queries, and over each segment that has queries.
 *
 * @throws RangeError if there are no queries
 */
export function compareRuns(runs: RunsToCompare, settings: ComparisonSettings): RunComparison {
  const everything = Array.from(runs.baseline[0] ?? [], (_, row) => row);
  const segments = (runs.segments ?? []).filter(({ members }) => members.length > 0);
  return {
    ...compareRows(runs, ALL_SEGMENT, everything, settings),
    segments: segments.map(({ name, members }) => compareRows(runs, name, members, settings)),
  };
}

/** Default if there are no accepted differences and the index has not changed since the baseline. */
export const nothingAccepted: Accepted = { unit: 'day', differences: {} };

function compareRows(
  runs: RunsToCompare,
  segment: string,
  rows: readonly number[],
  settings: ComparisonSettings,
): SegmentComparison {
  const { keys, baseline, candidate, noise = {}, means = null, accepted = nothingAccepted } = runs;
  const metrics = keys.map((key, column) => {
    const scoresOf = (run: ScoreColumns): Float64Array => Float64Array.from(rows, (row) => run[column]?.[row] ?? 0);
    const name = formatMetricKey(key);
    const noiseOfMetric = noise[segment]?.[name] ?? null;
    const expected: Expected | null =
      means === null
        ? null
        : { means: scoresOf(means), unit: accepted.unit, accepted: accepted.differences[segment]?.[name] ?? [] };
    return compareMetric(key, scoresOf(baseline), scoresOf(candidate), noiseOfMetric, settings, expected);
  });
  return { segment, n: rows.length, metrics, ...decided(primaryOf(metrics)) };
}

/** Returns the primary metric and its verdict; the verdict is `inconclusive` if there is no metric. */
export function decided(primary: MetricComparison | null): { primary: string; verdict: ComparisonVerdict } {
  return primary === null
    ? { primary: '', verdict: 'inconclusive' }
    : { primary: formatMetricKey(primary.key), verdict: primary.verdict };
}

/**
 * Returns the queries with a lower score in the candidate, largest drop first, ties in the given order. The difference
 * is candidate - baseline.
 */
export function mostRegressed(
  queryIds: readonly string[],
  baseline: ArrayLike<number>,
  candidate: ArrayLike<number>,
  limit: number,
) {
  const differences = Float64Array.from(queryIds, (_, row) => (candidate[row] ?? 0) - (baseline[row] ?? 0));
  const rows = [...differences.keys()].filter((row) => (differences[row] ?? 0) < 0);
  return rows
    .toSorted((a, b) => (differences[a] ?? 0) - (differences[b] ?? 0) || a - b)
    .slice(0, limit)
    .map((row) => ({
      queryId: queryIds[row] ?? '',
      baseline: baseline[row] ?? 0,
      candidate: candidate[row] ?? 0,
      difference: differences[row] ?? 0,
    }));
}

export type ManyComparison = ReturnType<typeof compareMany>;

/**
 * Compares all pairs with `compareMetric`. Holm's method adjusts p over the pairs of a measure: if all configurations
 * are equal, the probability that any pair shows a regression or an improvement in that measure is at most alpha. p is
 * not adjusted for the number of measures, because the first measure decides and the others are context. Each interval
 * is valid for its pair alone, not for all pairs together.
 *
 * @param configurations at least two, each with a column per key and a row per query
 * @throws RangeError if there are no keys or no queries, or fewer than two configurations
 */
export function compareMany(
  keys: readonly MetricKey[],
  configurations: readonly ScoreColumns[],
  settings: ComparisonSettings,
) {
  if (configurations.length < 2) throw new RangeError('There are fewer than two configurations to compare.');
  const measures = keys.map((key, column) => compareBy(key, column, configurations, settings));
  const primary = primaryOf(measures);
  if (primary === null) throw new RangeError('There is no measure for the comparison.');
  return {
    n: primary.pairs[0]?.metric.n ?? 0,
    measures,
    /** The measure that decides the verdict: the first measure with a minimum effect. */
    primary,
  };
}

function compareBy(
  key: MetricKey,
  column: number,
  configurations: readonly ScoreColumns[],
  settings: ComparisonSettings,
) {
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
    return { ...pair, pHolm, verdict: classifyDifference({ ...pair.metric, p: pHolm }, settings) };
  });
  const beaten = new Set(
    pairs.flatMap(({ before, after, verdict }) =>
      verdict === 'regression' ? [after] : verdict === 'improvement' ? [before] : [],
    ),
  );
  return {
    key,
    means: scores.map((one) => mean(one)),
    /** All pairs in index order, with the earlier configuration as `before`; the verdict uses the adjusted p. */
    pairs,
    /** Indexes of the configurations that no other configuration beats. */
    unbeaten: [...scores.keys()].filter((place) => !beaten.has(place)),
  };
}

/** True if any configuration is worse than the first in the primary measure. */
export function isWorseThanFirst({ primary }: ManyComparison): boolean {
  return primary.pairs.some(({ before, verdict }) => before === 0 && verdict === 'regression');
}

/**
 * Returns, for each query, the rank-biased overlap of its results before and now. A query that fails now has an overlap
 * of 0. Excludes queries that failed before, and queries that the current run does not contain. A repeated document
 * counts at its first rank.
 */
export function stabilityOf(before: readonly QueryAnswer[], now: ReadonlyMap<string, QueryAnswer>, k: number) {
  return before.flatMap((old) => {
    const answer = now.get(old.queryId);
    if (answer === undefined || !isAnswered(old)) return [];
    const overlap = isAnswered(answer) ? rankBiasedOverlap(idsOf(old), idsOf(answer), k) : 0;
    return [{ query: old.queryId, overlap }];
  });
}

const idsOf = ({ documents }: QueryAnswer): string[] => rankingOf(documents).filter((id) => id !== null);

/**
 * Paired comparison of two runs over all judged queries and over segments of them; of more than two, every pair; and
 * of answers without a judgment.
 */

import { decimal } from '../../core/format.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { formatMetricKey, type MetricKey } from '../../math/ir/metric-key.ts';
import { applyDuplicatePolicy, rankBiasedOverlap } from '../../math/ir/ranking.ts';
import { mean } from '../../math/stats/descriptive.ts';
import { holm, pairedTSampleSize } from '../../math/stats/paired-tests.ts';
import { compareMetric, type MetricComparison } from './compare-metric.ts';
import type { Segment } from './golden-set.ts';
import type { QueryAnswer } from './run.ts';
import type { Accepted, Expected, NoiseTable } from './run-noise.ts';
import {
  type ComparisonSettings,
  type ComparisonVerdict,
  judgeDifference,
  minEffectOf,
  primaryOf,
  testPlan,
} from './verdict.ts';

/** Below this a set has no real value for comparisons (Sparck Jones and van Rijsbergen 1976 put it at 75). */
const MIN_QUERIES = 100;
const RECOMMENDED_QUERIES = 300;

/**
 * What to know about the size of the golden set, in sentences: a warning under 100 queries, and for each metric whose
 * least difference that matters is too small to be found, how many queries would find it if the differences spread
 * as they did here. Empty when the set is large enough.
 */
export function adviseOnSetSize(comparison: SegmentComparison, settings: ComparisonSettings): string[] {
  const { n, metrics } = comparison;
  const queries = n === 1 ? '1 query is' : `${n} queries are`;
  const small =
    n < MIN_QUERIES
      ? [
          `${queries} few: have at least ${MIN_QUERIES}, better ${RECOMMENDED_QUERIES}, ` +
            'before you trust a verdict.',
        ]
      : [];
  const blind = metrics.flatMap(({ key, smallestDetectableDifference: smallest, standardDeviation, ciMethod }) => {
    const minEffect = minEffectOf(key.measure, settings);
    if (minEffect === 0 || smallest === null || smallest <= minEffect || standardDeviation === 0) return [];
    if (ciMethod === 'reruns') {
      return [
        `${formatMetricKey(key)}: differences below ${decimal(smallest)} cannot be told from the noise of the retriever.`,
      ];
    }
    const needed = pairedTSampleSize(minEffect, standardDeviation, testPlan(settings));
    const remedy = needed > n ? `; about ${needed} queries would tell ${minEffect}` : '';
    return [
      `${formatMetricKey(key)}: differences below ${decimal(smallest)} cannot be told from luck with ` +
        `${n} queries${remedy}.`,
    ];
  });
  return [...small, ...blind];
}

/** Scores of a run: one column per metric, one row per judged query; a query without results scores 0. */
export type ScoreColumns = readonly ArrayLike<number>[];

export interface RunsToCompare {
  readonly keys: readonly MetricKey[];
  /** Columns in the order of the keys, rows in the order of the judged queries, the same in every run. */
  readonly baseline: ScoreColumns;
  readonly candidate: ScoreColumns;
  /** The noise of a retriever that does not always answer the same; left out, there is none. */
  readonly noise?: NoiseTable;
  /** Means over the reruns by which the baseline was pinned; left out, they are not known. */
  readonly means?: ScoreColumns | null;
  /** Since the baseline; left out, nothing was. */
  readonly accepted?: Accepted;
  readonly segments?: readonly Segment[];
}

export interface SegmentComparison {
  /** `all`, or the name of a segment. */
  readonly segment: string;
  readonly n: number;
  /** In the order of the keys. */
  readonly metrics: readonly MetricComparison[];
  /** Metric key, such as `ndcg@10`, of the metric that decides; the others are its context. */
  readonly primary: string;
  /** On the primary metric. */
  readonly verdict: ComparisonVerdict;
}

export interface RunComparison extends SegmentComparison {
  /** Each is judged by itself: p is not adjusted for the number of segments, and the verdict on `all` ignores them. */
  readonly segments: readonly SegmentComparison[];
}

/**
 * Compares two runs metric by metric over all judged queries, and over each segment that has queries.
 *
 * @throws RangeError without queries
 */
export function compareRuns(runs: RunsToCompare, settings: ComparisonSettings): RunComparison {
  const everything = Array.from(runs.baseline[0] ?? [], (_, row) => row);
  const segments = (runs.segments ?? []).filter(({ members }) => members.length > 0);
  return {
    ...compareRows(runs, ALL_SEGMENT, everything, settings),
    segments: segments.map(({ name, members }) => compareRows(runs, name, members, settings)),
  };
}

/** While the index is that of the baseline. */
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

/** What a primary metric says of a comparison; without any there is nothing to tell. */
export function decided(primary: MetricComparison | null): Pick<SegmentComparison, 'primary' | 'verdict'> {
  return primary === null
    ? { primary: '', verdict: 'inconclusive' }
    : { primary: formatMetricKey(primary.key), verdict: primary.verdict };
}

/** A query with its scores in both runs. */
interface QueryDifference {
  readonly queryId: string;
  readonly baseline: number;
  readonly candidate: number;
  /** candidate - baseline. */
  readonly difference: number;
}

/**
 * The queries that score less in the candidate, most regressed first, ties in the given order.
 *
 * @param baseline one score per query id
 * @param candidate one score per query id
 * @param most how many at most
 */
export function mostRegressed(
  queryIds: readonly string[],
  baseline: ArrayLike<number>,
  candidate: ArrayLike<number>,
  most: number,
): QueryDifference[] {
  const differences = Float64Array.from(queryIds, (_, row) => (candidate[row] ?? 0) - (baseline[row] ?? 0));
  const rows = [...differences.keys()].filter((row) => (differences[row] ?? 0) < 0);
  return rows
    .toSorted((a, b) => (differences[a] ?? 0) - (differences[b] ?? 0) || a - b)
    .slice(0, most)
    .map((row) => ({
      queryId: queryIds[row] ?? '',
      baseline: baseline[row] ?? 0,
      candidate: candidate[row] ?? 0,
      difference: differences[row] ?? 0,
    }));
}

export type ManyComparison = ReturnType<typeof compareMany>;

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
) {
  if (configurations.length < 2) throw new RangeError('There are fewer than two configurations to compare.');
  const measures = keys.map((key, column) => compareBy(key, column, configurations, settings));
  const primary = primaryOf(measures);
  if (primary === null) throw new RangeError('There is no measure to compare by.');
  return {
    /** Queries. */
    n: primary.pairs[0]?.metric.n ?? 0,
    measures,
    /** The one that decides: the first that can be better or worse. */
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
    return { ...pair, pHolm, verdict: judgeDifference({ ...pair.metric, p: pHolm }, settings) };
  });
  const beaten = new Set(
    pairs.flatMap(({ before, after, verdict }) =>
      verdict === 'regression' ? [after] : verdict === 'improvement' ? [before] : [],
    ),
  );
  return {
    key,
    /** Of each configuration, in their order. */
    means: scores.map((one) => mean(one)),
    /** Of each two configurations, the earlier one before, by their places; the verdict is by the p that Holm adjusts. */
    pairs,
    /** Places of those that no other one is better than. */
    unbeaten: [...scores.keys()].filter((place) => !beaten.has(place)),
  };
}

/** Whether one of them is worse than the first, by the measure that decides. */
export function isWorseThanFirst({ primary }: ManyComparison): boolean {
  return primary.pairs.some(({ before, verdict }) => before === 0 && verdict === 'regression');
}

export interface AnswerOverlap {
  readonly query: string;
  /** Rank-biased overlap of the first k documents, 0 to 1. */
  readonly overlap: number;
}

/**
 * A question that failed now has nothing in common with its answer before; one that failed before, or was not asked, is left
 * out. A document that comes twice counts at its first rank.
 *
 * @param now by question
 * @returns in the order of `before`
 */
export function stabilityOf(
  before: readonly QueryAnswer[],
  now: ReadonlyMap<string, QueryAnswer>,
  k: number,
): AnswerOverlap[] {
  return before.flatMap((old) => {
    const answer = now.get(old.queryId);
    if (answer === undefined || !hasAnswered(old)) return [];
    const overlap = hasAnswered(answer) ? rankBiasedOverlap(rankingOf(old), rankingOf(answer), k) : 0;
    return [{ query: old.queryId, overlap }];
  });
}

const hasAnswered = ({ outcome }: QueryAnswer): boolean => outcome === 'ok' || outcome === 'empty';

function rankingOf({ documents }: QueryAnswer): string[] {
  const { ranking } = applyDuplicatePolicy(
    documents.map(({ id }) => id),
    'collapse',
  );
  return ranking.filter((id) => id !== null);
}

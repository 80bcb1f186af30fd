/** Coverage relative to the most similar reference queries, so that a change in the topic mix has no effect. */
import { mean, moments } from '../../math/stats/descriptive.ts';
import { normalQuantile } from '../../math/stats/distributions.ts';
import { groupEqualRows, type Matrix, selectRows } from '../../math/vector/matrix.ts';
import { type Neighbours, nearestInRanges } from '../../math/vector/nearest-neighbours.ts';
import { BASELINE_MEAN_X } from './query-score.ts';
import { sessionWeights } from './sessions.ts';

/** Number of similar reference queries that determine the expected surprise of a query. */
export const MATCHED_QUERIES = 5;

/** Maximum number of reference queries; more would slow down the comparison and hardly improve it. */
const MOST_REFERENCE = 10_000;
const BLOCKS = 20;

/**
 * Uses at most 10,000 of the reference rows, divides them into twenty blocks, and assigns the blocks alternately to two
 * halves. Consecutive queries, which may come from one user, are therefore not compared with each other.
 */
export function referenceHalves(rows: number): readonly [readonly number[], readonly number[]] {
  const step = Math.ceil(rows / MOST_REFERENCE);
  const taken = Array.from({ length: Math.ceil(rows / step) }, (_, i) => i * step);
  const blocks = Math.min(BLOCKS, taken.length);
  const half = (side: number): number[] => taken.filter((_, i) => Math.floor((i * blocks) / taken.length) % 2 === side);
  return [half(0), half(1)];
}

/**
 * Expected surprise of each query: the mean surprise of the five nearest reference queries (fewer if the search found
 * fewer).
 *
 * @param surprises surprise values of the searched rows
 * @param counts number of reference queries that each searched row represents, at least 1; default: 1
 */
export function expectedSurprises(
  { k, indices }: Neighbours,
  queries: number,
  surprises: Float64Array,
  counts?: Uint32Array,
): Float64Array {
  return Float64Array.from({ length: queries }, (_, query) => {
    let sum = 0;
    let counted = 0;
    for (let i = query * k; i < (query + 1) * k && counted < MATCHED_QUERIES; i++) {
      const row = indices[i] ?? 0;
      const count = Math.min(MATCHED_QUERIES - counted, counts?.[row] ?? 1);
      sum += count * (surprises[row] ?? 0);
      counted += count;
    }
    return sum / counted;
  });
}

/**
 * Baseline queries with which live queries are compared. Queries with equal vectors share a row, so that a few thousand
 * rows represent many queries. One half of the baseline consists of its odd blocks of eight hours, and the other half
 * of its even blocks.
 */
export interface ReferenceQueries {
  readonly vectors: Matrix;
  readonly surprises: Float64Array;
  /** Number of sessions with each row's query; one list for each half of the baseline. */
  readonly counts: readonly [Uint32Array, Uint32Array];
}

/**
 * Expected surprise of each row: computed from the row's five nearest queries in each half of the baseline, then
 * averaged over the halves. Ignores halves without queries; without any queries, the expected surprise is the mean
 * surprise of the baseline. Compares equal rows only once, and each reference row only once even if both halves contain
 * it. Takes 2 * distinct rows * reference rows * columns operations.
 *
 * @param halves counts of one or two halves; by default, both halves of the reference
 */
export function expectedInBaseline(
  rows: Matrix,
  reference: ReferenceQueries,
  halves: readonly Uint32Array[] = reference.counts,
): Float64Array {
  const searched = halves.filter((counts) => counts.some((count) => count > 0));
  const [first = new Uint32Array(), last = first] = searched;
  // Sorts the rows so that each half is a range: first the rows that only the first half contains, then the shared
  // rows, then the rows that only the last half contains.
  const side = (row: number): number => Number(first[row] === 0) - Number(last[row] === 0);
  const store = [...first.keys()]
    .filter((row) => searched.some((counts) => counts[row] !== 0))
    .toSorted((a, b) => side(a) - side(b));
  if (store.length === 0) return new Float64Array(rows.rows).fill(BASELINE_MEAN_X);
  const { distinct, groupOf } = groupEqualRows(rows);
  const vectors = selectRows(reference.vectors, store);
  const surprises = Float64Array.from(store, (row) => reference.surprises[row] ?? 0);
  const counts = searched.map((half) => Uint32Array.from(store, (row) => half[row] ?? 0));
  const ranges = counts.map((half) => ({
    first: half.findIndex((count) => count > 0),
    end: half.findLastIndex((count) => count > 0) + 1,
  }));
  const found = nearestInRanges(vectors, selectRows(rows, distinct), MATCHED_QUERIES, ranges);
  const expected = found.map((half, i) => expectedSurprises(half, distinct.length, surprises, counts[i]));
  return Float64Array.from(groupOf, (group) => mean(expected.map((values) => values[group] ?? 0)));
}

/** Lowest excess. A narrower range of excesses allows the sequential test to make larger bets. */
const MIN_EXCESS = -2;

/** Surprise minus expected surprise, at least -2. */
export function excessOf(surprise: number, expected: number): number {
  return Math.max(MIN_EXCESS, surprise - expected);
}

/**
 * Matched surprise of a query: 0.99 + excess - mean excess of the baseline. Over live queries, the mean is 0.99 if they
 * are covered as well as similar baseline queries.
 *
 * @param expected from `expectedInBaseline`; 0.99 for a query without a vector
 * @param meanExcess mean excess of baseline queries, each compared with the half of the baseline that does not contain
 *   it
 */
export function matchedSurprise(surprise: number, expected: number, meanExcess: number): number {
  return BASELINE_MEAN_X + excessOf(surprise, expected) - meanExcess;
}

/**
 * Computes the density, exp(-d), relative to similar reference queries. The excess of a query is its surprise minus its
 * expected surprise:
 *
 *     d = mean excess of the sessions - mean excess of the reference
 *     upper limit = exp(-d) exp(z s sqrt(1/sessions + 1/N))
 *
 * z is the 1 - alpha quantile of the normal distribution and s^2 the variance of the N reference excesses. A change in
 * topics has no effect and adds no noise, because it changes the expected surprises accordingly. The mean excess of the
 * reference is not 0, because many queries have the same few neighbors.
 *
 * @param excess excesses of the current queries, at least one
 * @param sessions their session numbers
 * @param reference excesses of reference queries compared with other reference queries, at least two
 * @param alpha in (0, 0.5]
 */
export function matchedDensity(
  excess: Float64Array,
  sessions: ArrayLike<number>,
  reference: Float64Array,
  alpha: number,
) {
  const weighted = sessionWeights(sessions);
  const sum = excess.reduce((total, value, i) => total + value * (weighted.weights[i] ?? 0), 0);
  const usual = moments(reference);
  const difference = sum / weighted.sessions - usual.mean;
  const error = usual.standardDeviation * Math.sqrt(1 / weighted.sessions + 1 / reference.length);
  return {
    /** exp(-d): 1 if coverage equals that of similar reference queries; lower if coverage is lower. */
    density: Math.exp(-difference),
    /** One-sided upper limit with confidence 1 - alpha. */
    upperLimit: Math.exp(-difference - normalQuantile(alpha) * error),
  };
}

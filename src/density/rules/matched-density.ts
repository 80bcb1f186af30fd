/** Coverage relative to the most similar reference queries, so that a change of the topic mix has no effect. */
import { mean, moments } from '../../math/stats/descriptive.ts';
import { normalQuantile } from '../../math/stats/distributions.ts';
import type { Neighbours } from '../../math/vector/nearest-neighbours.ts';
import { sessionWeights } from './sessions.ts';

/** Number of similar reference queries that determine the expected surprise of a query. */
export const MATCHED_QUERIES = 5;

/** Maximum number of reference queries; more would be slow to compare and add little. */
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
 * Expected surprise of each query: the mean surprise of its neighbors among the reference queries.
 *
 * @param surprises surprise values of the searched rows
 */
export function expectedSurprises({ k, indices }: Neighbours, queries: number, surprises: Float64Array): Float64Array {
  return Float64Array.from({ length: queries }, (_, query) =>
    mean(Float64Array.from(indices.subarray(query * k, (query + 1) * k), (row) => surprises[row] ?? 0)),
  );
}

/**
 * Density relative to similar reference queries. The excess of a query is its surprise minus its expected surprise:
 *
 *     d = mean excess of the sessions - mean excess of the reference
 *     upper limit = exp(-d) exp(z s sqrt(1/sessions + 1/N))
 *
 * z is the 1 - alpha quantile of the normal distribution and s^2 the variance of the N reference excesses. A change of
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

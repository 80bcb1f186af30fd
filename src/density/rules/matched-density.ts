/** Whether queries are covered worse than the reference queries most like them, whatever they ask about more often. */
import { mean, moments } from '../../math/stats/descriptive.ts';
import { normalQuantile } from '../../math/stats/distributions.ts';
import type { Neighbours } from '../../math/vector/nearest-neighbours.ts';
import { sessionWeights } from './sessions.ts';

/** Reference queries whose mean surprise a query is expected to have. */
export const LIKE_QUERIES = 5;

/** More take long to compare with each other, and tell hardly more. */
const MOST_REFERENCE = 10_000;
const BLOCKS = 20;

/**
 * The rows of the reference that queries are held against, at most 10,000, in two halves: every other twentieth of
 * them, so that queries which follow each other, and may be of one person, are not held against each other.
 */
export function referenceHalves(rows: number): readonly [readonly number[], readonly number[]] {
  const step = Math.ceil(rows / MOST_REFERENCE);
  const taken = Array.from({ length: Math.ceil(rows / step) }, (_, i) => i * step);
  const blocks = Math.min(BLOCKS, taken.length);
  const half = (side: number): number[] => taken.filter((_, i) => Math.floor((i * blocks) / taken.length) % 2 === side);
  return [half(0), half(1)];
}

/** The mean surprise of the neighbours of each query. @param surprises of the rows that were searched */
export function expectedSurprises({ k, indices }: Neighbours, queries: number, surprises: Float64Array): Float64Array {
  return Float64Array.from({ length: queries }, (_, query) =>
    mean(Float64Array.from(indices.subarray(query * k, (query + 1) * k), (row) => surprises[row] ?? 0)),
  );
}

export type LikeCoverage = ReturnType<typeof likeCoverage>;

/**
 * With the excess of a query, its surprise less the one that is expected of it:
 *
 *     d = mean excess of the sessions - mean excess of the reference
 *     upper limit = exp(-d) exp(z s sqrt(1/sessions + 1/N))
 *
 * z is the 1 - alpha quantile of the normal distribution and s^2 the variance of the N excesses of the reference. That
 * other topics are asked for moves nothing, since what is expected moves with them, and what they add to the noise of a
 * density is gone. The mean excess of the reference is not 0: many queries are next to the same few.
 *
 * @param excess of the current queries, at least one
 * @param sessions numbers of their sessions
 * @param reference excesses of reference queries, held against others of the reference, at least two
 * @param alpha in (0, 0.5]
 */
export function likeCoverage(
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
    /** exp(-d): 1 as the reference queries like them, lower is worse covered. */
    density: Math.exp(-difference),
    /** One-sided, with confidence 1 - alpha. */
    upperLimit: Math.exp(-difference - normalQuantile(alpha) * error),
  };
}

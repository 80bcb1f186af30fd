/** What is true of vectors that are all known: the nearest by comparing them one by one, and whether draws are uniform. */
import { cosineSimilarity, dotProduct } from '../../vector/matrix.ts';
import type { VectorMetric } from '../vector-store.ts';

interface Vectored {
  readonly id: string;
  readonly vector: Float32Array;
}

export interface TrueNeighbour {
  readonly id: string;
  readonly cosine: number;
  /** By the metric, better when high: cosine, dot product, or the negative squared distance. */
  readonly goodness: number;
}

/** The k best by `metric`, best first. */
export function bruteForce(
  chunks: readonly Vectored[],
  query: Float32Array,
  k: number,
  metric: VectorMetric,
): TrueNeighbour[] {
  return chunks
    .map(({ id, vector }) => ({
      id,
      cosine: cosineSimilarity(vector, query),
      goodness: goodness(vector, query, metric),
    }))
    .toSorted((a, b) => b.goodness - a.goodness)
    .slice(0, k);
}

export function goodness(vector: Float32Array, query: Float32Array, metric: VectorMetric): number {
  switch (metric) {
    case 'cosine':
      return cosineSimilarity(vector, query);
    case 'dot':
      return dotProduct(vector, query);
    case 'l2':
      return -vector.reduce((sum, value, index) => sum + (value - (query[index] ?? 0)) ** 2, 0);
  }
}

/** Share of the true k best that were found. */
export function recallOf(found: readonly string[], truth: readonly { readonly id: string }[]): number {
  const ids = new Set(found);
  return truth.filter(({ id }) => ids.has(id)).length / truth.length;
}

/** What chance alone leaves in 1 of a million runs, on both sides together: a bound of `unevenness`. */
export const MAX_UNEVEN = 4.9;

/**
 * How far counts lie from equal shares, as a standard normal deviate: the chi-square statistic of samples without
 * replacement, corrected for the finite population, through the cube root of Wilson and Hilferty 1931. Beyond 4.9 on
 * either side by chance: 1 in a million.
 *
 * @param samples how often each of the equally large groups was drawn, one list for each sample
 * @param drawnShare share of the population in each sample
 */
export function unevenness(samples: readonly (readonly number[])[], drawnShare: number): number {
  let statistic = 0;
  let freedom = 0;
  for (const counts of samples) {
    const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length;
    for (const count of counts) statistic += (count - expected) ** 2 / expected / (1 - drawnShare);
    freedom += counts.length - 1;
  }
  const spread = 2 / (9 * freedom);
  return ((statistic / freedom) ** (1 / 3) - (1 - spread)) / Math.sqrt(spread);
}

/** Documents with vectors that lie in clusters, as those of a real store do, and what is true of them. */
import { normalQuantile } from '../../src/stats/distributions.ts';
import type { VectorMetric } from '../../src/stores/vector-store.ts';
import { cosineSimilarity, dotProduct } from '../../src/vector/matrix.ts';
import { uniforms } from './uniforms.ts';

export interface VectorDocument {
  readonly id: string;
  readonly vector: Float32Array;
  readonly content: string;
  /** `topic` and `language`: fields that a filter can name. */
  readonly fields: { readonly topic: string; readonly language: string };
}

export interface CorpusShape {
  readonly count: number;
  readonly dimensions: number;
  readonly topics: number;
  readonly seed?: number;
}

/**
 * One topic after the other, of equal sizes, each around a direction of its own. Lengths differ between 0.5 and 2, so
 * that cosine, Euclidean distance and dot product rank them differently.
 */
export function topicByTopic({ count, dimensions, topics, seed = 1 }: CorpusShape): VectorDocument[] {
  const uniform = uniforms(seed);
  const gaussian = (): number => normalQuantile(Math.max(uniform(), 2 ** -32));
  const centres = Array.from({ length: topics }, () => Array.from({ length: dimensions }, gaussian));
  return Array.from({ length: count }, (_, index) => {
    const topic = Math.floor((index * topics) / count);
    const raw = (centres[topic] ?? []).map((middle) => middle + 0.7 * gaussian());
    const length = 0.5 + 1.5 * uniform();
    const scale = length / Math.hypot(...raw);
    return {
      id: `doc-${String(index).padStart(5, '0')}`,
      vector: Float32Array.from(raw, (value) => value * scale),
      content: `Text ${index} of topic ${topic}`,
      fields: { topic: `topic-${topic}`, language: index % 3 === 0 ? 'de' : 'en' },
    };
  });
}

/** Vectors like those of the corpus, but none of them. */
export function queriesLike(shape: CorpusShape, count: number): Float32Array[] {
  const step = Math.floor(shape.count / count);
  const uniform = uniforms(99);
  return topicByTopic(shape)
    .filter((_, index) => index % step === 0)
    .slice(0, count)
    .map(({ vector }) => vector.map((value) => value + 0.05 * (uniform() - 0.5)));
}

export interface TrueNeighbour {
  readonly id: string;
  readonly cosine: number;
}

/** The k best by `metric`, best first, by comparing all. */
export function bruteForce(
  documents: readonly VectorDocument[],
  query: Float32Array,
  k: number,
  metric: VectorMetric,
): TrueNeighbour[] {
  return documents
    .map(({ id, vector }) => ({
      id,
      cosine: cosineSimilarity(vector, query),
      goodness: goodness(vector, query, metric),
    }))
    .toSorted((a, b) => b.goodness - a.goodness)
    .slice(0, k)
    .map(({ id, cosine }) => ({ id, cosine }));
}

function goodness(vector: Float32Array, query: Float32Array, metric: VectorMetric): number {
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
export function recallOf(found: readonly string[], truth: readonly TrueNeighbour[]): number {
  const ids = new Set(found);
  return truth.filter(({ id }) => ids.has(id)).length / truth.length;
}

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

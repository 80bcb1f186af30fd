/** Documents with vectors in clusters, as in a real store. */
import { normalQuantile } from '../../src/math/stats/distributions.ts';
import { uniforms } from './uniforms.ts';

export interface VectorDocument {
  readonly id: string;
  readonly vector: Float32Array;
  readonly content: string;
  /** Fields that the tests of filters use. */
  readonly fields: { readonly topic: string; readonly language: string };
}

export interface CorpusShape {
  readonly count: number;
  readonly dimensions: number;
  readonly topics: number;
  readonly seed?: number;
}

/**
 * Documents ordered by topic. Topics have equal sizes, and the vectors of each topic lie around a different direction.
 * Lengths are between 0.5 and 2, so that cosine, Euclidean distance and dot product rank the documents differently.
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

/** Vectors that resemble the corpus but are not in it. */
export function queriesLike(shape: CorpusShape, count: number): Float32Array[] {
  const step = Math.floor(shape.count / count);
  const uniform = uniforms(99);
  return topicByTopic(shape)
    .filter((_, index) => index % step === 0)
    .slice(0, count)
    .map(({ vector }) => vector.map((value) => value + 0.05 * (uniform() - 0.5)));
}

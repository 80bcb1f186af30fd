/** Effects of faults on result lists, chunks and vectors. */
import type { RandomNumbers } from '../random-numbers.ts';
import { type Chunk, unit } from './corpus.ts';
import { type Broken, isIn } from './fault.ts';

export function reordered(random: RandomNumbers): Broken {
  const way = random.below(3);
  const pull = 1 + random.below(3);
  return {
    results: (ids) => {
      if (way === 0) return ids.toReversed();
      if (way === 1) return ids.toSorted();
      return ids
        .map((id, place) => [id, (place * pull * 7 + 3) % (ids.length + 1)] as const)
        .toSorted((a, b) => a[1] - b[1])
        .map(([id]) => id);
    },
  };
}

/** Splits chunks into halves that have new ids. */
export function cutInTwo(chunks: readonly Chunk[], cut: ReadonlySet<string>, random: RandomNumbers): Chunk[] {
  return chunks.flatMap((chunk) =>
    cut.has(chunk.id)
      ? [0, 1].map((half) => ({
          ...chunk,
          id: `${chunk.id}#${half}`,
          vector: chunk.vector.map((value) => (isIn(random, 0.6) ? value : 0)),
        }))
      : [chunk],
  );
}

/** Returns the same document with different words and a new id. */
export function rewritten(chunk: Chunk, random: RandomNumbers): Chunk {
  const reach = 0.4 / Math.sqrt(chunk.vector.length);
  return { ...chunk, id: `${chunk.id}@2`, vector: unit(chunk.vector.map((value) => value + reach * random.normal())) };
}

/** Permutes the axes and changes signs, so that cosines to earlier vectors are meaningless. */
export function otherModel(dimensions: number, random: RandomNumbers): (vector: Float32Array) => Float32Array {
  const axes = Array.from({ length: dimensions }, (_, axis) => ({ axis, by: random.uniform() })).toSorted(
    (a, b) => a.by - b.by,
  );
  const signs = axes.map(() => (isIn(random, 0.5) ? 1 : -1));
  return (vector) => vector.map((_, i) => (signs[i] ?? 1) * (vector[axes[i]?.axis ?? 0] ?? 0));
}

/** Shifts each query vector by noise of length `blur`. The same query always gets the same noise. */
export function blurred(blur: number, seed: number): (vector: Float32Array) => Float32Array {
  return (vector) =>
    vector.map((value, i) => value + (blur * noise(seed, i, vector[0] ?? 0)) / Math.sqrt(vector.length));
}

/** Returns noise with a standard deviation of about 1. The same query always gets the same noise. */
function noise(seed: number, axis: number, value: number): number {
  const wave = Math.sin(seed * 12.9898 + axis * 78.233 + value * 3571.7) * 43758.5453;
  return 3.46 * (wave - Math.floor(wave) - 0.5);
}

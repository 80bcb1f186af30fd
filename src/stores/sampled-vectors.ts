/** Vectors by id, in bounded portions -> the sample of the port. */
import { matrixOf } from '../vector/matrix.ts';
import type { SampledVectors } from './vector-store.ts';

export interface StoredVector {
  readonly id: string;
  readonly vector: Float32Array;
  readonly content: string | null;
}

/** Numbers of one portion, so that its JSON text stays near 10 MB and below the limit of an answer. */
const NUMBERS_PER_CALL = 2 ** 19;

/** How many vectors of this length to ask for at a time, 1 to `most`. */
export function vectorsPerCall(dimensions: number | null, most: number): number {
  return Math.max(1, Math.min(most, Math.floor(NUMBERS_PER_CALL / (dimensions ?? 4096))));
}

export function inPortions<Item>(items: readonly Item[], size: number): Item[][] {
  const portions: Item[][] = [];
  for (let start = 0; start < items.length; start += size) portions.push(items.slice(start, start + size));
  return portions;
}

export function toSample(stored: readonly StoredVector[], isSeeded: boolean): SampledVectors {
  return {
    ids: stored.map(({ id }) => id),
    vectors: matrixOf(stored.map(({ vector }) => vector)),
    contents: stored.map(({ content }) => content),
    isSeeded,
  };
}

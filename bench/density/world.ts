/** Queries and store of a scenario: the common interface of synthetic and real scenarios. */

import { coverageScores } from '../../src/density/rules/query-score.ts';
import { type Matrix, rowOf } from '../../src/math/vector/matrix.ts';
import { nearestNeighbours } from '../../src/math/vector/nearest-neighbours.ts';
import type { RandomNumbers } from '../random-numbers.ts';

/** Queries with their vectors; a stream samples from these queries. */
export interface World {
  readonly name: string;
  readonly vectors: Matrix;
  /** Topic of each query. */
  readonly topics: Int32Array;
  /** Topics of the baseline's queries, with their shares of the traffic. */
  readonly asked: readonly { readonly topic: number; readonly share: number; readonly group: number }[];
  /** Stored topics that no query of the baseline is about. */
  readonly unasked: readonly number[];
  /** Topics that are neither in the store nor in the queries of the baseline. */
  readonly uncovered: readonly { readonly topic: number; readonly kind: string }[];
  readonly store: Matrix;
  /** Topic of each chunk. */
  readonly chunkTopics: Int32Array;
}

/** Scores of the queries, as the daemon computes them. */
export type Scores = Float64Array;

/** Scores each query against a store. `storeMean` is the mean direction that the store had at the baseline. */
export function scoresOn(store: Matrix, vectors: Matrix, storeMean: Float64Array): Scores {
  return coverageScores(nearestNeighbours(store, vectors, 1), vectors, storeMean);
}

/**
 * Transforms all vectors orthogonally, which simulates another embedding model of the same dimension: the transformed
 * vectors match no stored vector.
 */
export function otherModel(vectors: Matrix, random: RandomNumbers): Matrix {
  const { columns } = vectors;
  const order = shuffled(columns, random);
  const signs = Float32Array.from({ length: columns }, () => (random.uniform() < 0.5 ? -1 : 1));
  const data = new Float32Array(vectors.data.length);
  for (let row = 0; row < vectors.rows; row++) {
    const from = rowOf(vectors, row);
    for (let c = 0; c < columns; c++) data[row * columns + c] = (from[order[c] ?? 0] ?? 0) * (signs[c] ?? 1);
  }
  return { ...vectors, data };
}

export function shuffled(count: number, random: RandomNumbers): Int32Array {
  const order = Int32Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
  }
  return order;
}

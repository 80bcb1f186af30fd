/** Against reference values of numpy, scipy and scikit-learn; each file names its formula and its tool. */
import { describe, expect, it } from 'vitest';
import { meanSimilarities, nearestNeighbours } from '../../../src/vector/nearest-neighbours.ts';
import {
  differences,
  driftCases,
  type ScaledVectors,
  scaledMatrix,
} from '../../support/drift-conformance.ts';

describe('exact top-k', () => {
  interface Input {
    readonly store: ScaledVectors;
    readonly queries: ScaledVectors;
    readonly scale: number;
    readonly k: number;
  }
  interface Expected {
    readonly indices: ScaledVectors;
    readonly similarities: ScaledVectors;
    readonly score_mean_topk: readonly number[];
    readonly score_top1: readonly number[];
  }

  it.each(driftCases<Input, Expected>('knn_topk'))('$name', ({ input, expected }) => {
    const queries = scaledMatrix(input.queries, input.scale);
    const found = nearestNeighbours(scaledMatrix(input.store, input.scale), queries, input.k);
    expect([...found.indices]).toEqual(expected.indices.flat());
    expect(differences(found.similarities, expected.similarities.flat())).toEqual([]);
    expect(differences(meanSimilarities(found, queries.rows), expected.score_mean_topk)).toEqual([]);
    const best = found.similarities.filter((_, i) => i % found.k === 0);
    expect(differences(best, expected.score_top1)).toEqual([]);
  });
});

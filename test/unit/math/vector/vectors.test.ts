import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { distinctRows, dotProducts, matrixOf } from '../../../../src/math/vector/matrix.ts';
import {
  meanSimilarities,
  nearestInRanges,
  nearestNeighbours,
  neighbourRecall,
} from '../../../../src/math/vector/nearest-neighbours.ts';
import { differences, driftCases, type ScaledVectors, scaledMatrix } from '../../../support/drift-conformance.ts';
import { uniforms } from '../../../support/uniforms.ts';

const ranked = (...similarities: readonly [string, number][]) =>
  similarities.map(([id, similarity]) => ({ id, similarity }));

describe('the recall of an approximate search', () => {
  const exact = ranked(['a', 0.9], ['b', 0.8], ['c', 0.7], ['d', 0.6]);

  it('is the share of the exact neighbours that were found', () => {
    expect(neighbourRecall(exact, exact)).toBe(1);
    expect(neighbourRecall(ranked(['a', 0.9], ['c', 0.7], ['x', 0.1]), exact)).toBe(0.5);
    expect(neighbourRecall([], exact)).toBe(0);
  });

  it('accepts an equally near neighbour in place of the last one', () => {
    const other = ranked(['a', 0.9], ['b', 0.8], ['c', 0.7], ['twin-of-d', 0.6]);
    expect(neighbourRecall(other, exact)).toBe(1);
  });

  it('never exceeds 1, however many equally near neighbours are returned', () => {
    const equals = ranked(['x', 0.6], ['y', 0.6], ['z', 0.6], ['a', 0.9], ['b', 0.8], ['c', 0.7]);
    expect(neighbourRecall(equals, exact)).toBe(1);
  });

  it('is unknown if there is nothing to find', () => {
    expect(neighbourRecall([], [])).toBeNull();
  });
});

function randomRows(rows: number, columns: number, seed: number): number[][] {
  const uniform = uniforms(seed);
  return Array.from({ length: rows }, () => Array.from({ length: columns }, () => Math.fround(uniform() - 0.5)));
}

function cosine(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0) / Math.hypot(...a) / Math.hypot(...b);
}

describe('dotProducts', () => {
  it('returns the product of every pair, for any number of rows on either side', () => {
    const sizes = fc.integer({ min: 0, max: 9 });
    fc.assert(
      fc.property(sizes, sizes, fc.integer({ min: 1, max: 5 }), (aRows, bRows, columns) => {
        const a = randomRows(aRows, columns, 1);
        const b = randomRows(bRows, columns, 2);
        const out = new Float64Array(aRows * bRows);
        dotProducts(Float64Array.from(a.flat()), aRows, Float64Array.from(b.flat()), bRows, columns, out);
        const expected = a.flatMap((row) =>
          b.map((other) => row.reduce((sum, value, c) => sum + value * (other[c] ?? 0), 0)),
        );
        expect([...out]).toEqual(expected);
      }),
    );
  });
});

describe('nearestNeighbours', () => {
  it('agrees with a comparison of every pair, across its block boundaries', () => {
    const store = randomRows(301, 7, 3);
    const queries = randomRows(70, 7, 4);
    const found = nearestNeighbours(matrixOf(store), matrixOf(queries), 6);
    const expected = queries.map((query) =>
      store
        .map((row, index) => ({ index, similarity: cosine(query, row) }))
        .toSorted((a, b) => b.similarity - a.similarity)
        .slice(0, 6),
    );
    expect([...found.indices]).toEqual(expected.flat().map(({ index }) => index));
    for (const [i, { similarity }] of expected.flat().entries()) {
      expect(found.similarities[i]).toBeCloseTo(similarity, 12);
    }
  });

  it('distinguishes values that only float64 can distinguish', () => {
    const base = randomRows(1, 64, 7)[0] ?? [];
    const nudge = uniforms(8);
    const nearCopies = Array.from({ length: 400 }, () =>
      base.map((value) => Math.fround(value * (1 + (nudge() - 0.5) * 1e-5))),
    );
    const queries = nearCopies.slice(0, 40).toReversed();
    const found = nearestNeighbours(matrixOf(nearCopies), matrixOf(queries), 7);
    const length = (row: readonly number[]) => Math.sqrt(row.reduce((sum, value) => sum + value * value, 0));
    const expected = queries.flatMap((query) =>
      nearCopies
        .map((row, index) => ({
          index,
          similarity:
            query.reduce((sum, value, c) => sum + value * (row[c] ?? 0), 0) * ((1 / length(query)) * (1 / length(row))),
        }))
        .toSorted((a, b) => Math.round(b.similarity * 1e13) - Math.round(a.similarity * 1e13))
        .slice(0, 7),
    );
    expect([...found.indices]).toEqual(expected.map(({ index }) => index));
    expect([...found.similarities]).toEqual(expected.map(({ similarity }) => similarity));
  });

  it('lists the first of several rows with the same direction first, even if a later block has a longer copy', () => {
    const store = randomRows(200, 4, 5);
    store[150] = (store[20] ?? []).map((value) => value * 4);
    const found = nearestNeighbours(matrixOf(store), matrixOf([store[20] ?? []]), 2);
    expect([...found.indices]).toEqual([20, 150]);
  });

  it('returns the cosine 0 for rows without direction, never NaN', () => {
    const store = matrixOf([
      [0, 0],
      [Number.NaN, 1],
      [1, 0],
      [-1, 0],
    ]);
    const found = nearestNeighbours(
      store,
      matrixOf([
        [2, 0],
        [0, 0],
      ]),
      4,
    );
    expect([...found.indices]).toEqual([2, 0, 1, 3, 0, 1, 2, 3]);
    expect([...found.similarities]).toEqual([1, 0, 0, -1, 0, 0, 0, 0]);
  });

  it('finds the same neighbours in overlapping ranges of a store as in separate stores', () => {
    const store = matrixOf(randomRows(4200, 5, 9));
    const queries = matrixOf(randomRows(100, 5, 10));
    const rows = fc.integer({ min: 0, max: store.rows });
    fc.assert(
      fc.property(fc.array(fc.tuple(rows, rows), { minLength: 1, maxLength: 3 }), fc.nat(9), (pairs, k) => {
        const ranges = pairs.map(([a, b]) => ({ first: Math.min(a, b), end: Math.max(a, b) }));
        const separate = ranges.map(({ first, end }) => {
          const data = store.data.subarray(first * 5, end * 5);
          const found = nearestNeighbours({ rows: end - first, columns: 5, data }, queries, k);
          return { k: found.k, indices: found.indices.map((row) => row + first), similarities: found.similarities };
        });
        const found = nearestInRanges(store, queries, k, ranges);
        expect(found.map(({ k, indices, similarities }) => ({ k, indices, similarities }))).toEqual(separate);
      }),
      { numRuns: 20 },
    );
  });

  it('finds no neighbours if k is 0', () => {
    expect(nearestNeighbours(matrixOf([[1, 0]]), matrixOf([[1, 0]]), 0).indices).toHaveLength(0);
  });

  it('scores every query -1 on an empty store, and rejects vectors of another dimension', () => {
    const queries = matrixOf([
      [1, 0],
      [0, 1],
    ]);
    expect([...meanSimilarities(nearestNeighbours(matrixOf([]), queries, 5), 2)]).toEqual([-1, -1]);
    expect(() => nearestNeighbours(matrixOf([[1, 2, 3]]), queries, 5)).toThrow(
      'The store has 3 dimensions and the queries have 2',
    );
  });
});

describe('distinctRows', () => {
  it('keeps the first of each group of copies', () => {
    const rows = randomRows(50, 3, 6);
    const doubled = matrixOf([...rows, ...rows.toReversed(), ...rows]);
    expect([...distinctRows(doubled)]).toEqual(rows.map((_, i) => i));
  });

  it('treats rows that differ in one bit as different', () => {
    expect([
      ...distinctRows(
        matrixOf([
          [1, 0],
          [1 + 2 ** -23, 0],
          [1, -0],
          [1, 0],
        ]),
      ),
    ]).toEqual([0, 1, 2]);
  });
});

/** Compares results with reference values from numpy, scipy and scikit-learn; each file states its formula and its tool. */
describe('exact top-k against reference values', () => {
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

  it.each(driftCases<Input, Expected>('knn_topk'))('returns the values of the case $name', ({ input, expected }) => {
    const queries = scaledMatrix(input.queries, input.scale);
    const found = nearestNeighbours(scaledMatrix(input.store, input.scale), queries, input.k);
    expect([...found.indices]).toEqual(expected.indices.flat());
    expect(differences(found.similarities, expected.similarities.flat())).toEqual([]);
    expect(differences(meanSimilarities(found, queries.rows), expected.score_mean_topk)).toEqual([]);
    const best = found.similarities.filter((_, i) => i % found.k === 0);
    expect(differences(best, expected.score_top1)).toEqual([]);
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dotProducts } from '../../../src/vector/dot-products.ts';
import { distinctRows, matrixOf } from '../../../src/vector/matrix.ts';
import { meanSimilarities, nearestNeighbours } from '../../../src/vector/nearest-neighbours.ts';
import { uniforms } from '../../support/uniforms.ts';

function randomRows(rows: number, columns: number, seed: number): number[][] {
  const uniform = uniforms(seed);
  return Array.from({ length: rows }, () =>
    Array.from({ length: columns }, () => Math.fround(uniform() - 0.5)),
  );
}

function cosine(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0) / Math.hypot(...a) / Math.hypot(...b);
}

describe('dotProducts', () => {
  it('is every pair, for any number of rows on either side', () => {
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
  it('agrees with looking at every pair, over the borders of its blocks', () => {
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

  it('tells apart, to the last digit, what only float64 can', () => {
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
            query.reduce((sum, value, c) => sum + value * (row[c] ?? 0), 0) *
            ((1 / length(query)) * (1 / length(row))),
        }))
        .toSorted((a, b) => Math.round(b.similarity * 1e13) - Math.round(a.similarity * 1e13))
        .slice(0, 7),
    );
    expect([...found.indices]).toEqual(expected.map(({ index }) => index));
    expect([...found.similarities]).toEqual(expected.map(({ similarity }) => similarity));
  });

  it('keeps the first of equal rows, also when a later block holds a longer copy', () => {
    const store = randomRows(200, 4, 5);
    store[150] = (store[20] ?? []).map((value) => value * 4);
    const found = nearestNeighbours(matrixOf(store), matrixOf([store[20] ?? []]), 2);
    expect([...found.indices]).toEqual([20, 150]);
  });

  it('gives rows without direction the cosine 0, never NaN', () => {
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

  it('finds nothing when nothing is asked for', () => {
    expect(nearestNeighbours(matrixOf([[1, 0]]), matrixOf([[1, 0]]), 0).indices).toHaveLength(0);
  });

  it('scores every query -1 on an empty store, and refuses another dimension', () => {
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

  it('takes rows that differ in one bit for two', () => {
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

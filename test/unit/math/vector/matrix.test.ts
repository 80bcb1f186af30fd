import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  cosineOfScore,
  cosineSimilarity,
  dotProduct,
  matrixOf,
  normaliseRows,
  rowLengths,
  rowOf,
  selectRows,
} from '../../../../src/math/vector/matrix.ts';

const numbers = fc.float({ min: -10, max: 10, noNaN: true });
const pairs = fc
  .integer({ min: 1, max: 20 })
  .chain((length) =>
    fc.tuple(
      fc.array(numbers, { minLength: length, maxLength: length }),
      fc.array(numbers, { minLength: length, maxLength: length }),
    ),
  )
  .map(([a, b]) => [Float32Array.from(a), Float32Array.from(b)] as const);

describe('the cosine of two vectors', () => {
  it('is 1 for the same direction, 0 for a right angle, -1 for the opposite', () => {
    expect(cosineSimilarity(Float32Array.of(1, 2), Float32Array.of(2, 4))).toBeCloseTo(1, 12);
    expect(cosineSimilarity(Float32Array.of(1, 0), Float32Array.of(0, 3))).toBe(0);
    expect(cosineSimilarity(Float32Array.of(1, 0), Float32Array.of(-3, 0))).toBe(-1);
  });

  it('is 0 with the zero vector, which has no direction', () => {
    expect(cosineSimilarity(Float32Array.of(0, 0), Float32Array.of(1, 0))).toBe(0);
  });

  it('stays between -1 and 1, and does not depend on the order of the vectors', () => {
    fc.assert(
      fc.property(pairs, ([a, b]) => {
        const cosine = cosineSimilarity(a, b);
        expect(Math.abs(cosine)).toBeLessThanOrEqual(1);
        expect(cosineSimilarity(b, a)).toBeCloseTo(cosine, 12);
      }),
    );
  });

  it('is based on a dot product that rejects vectors of different dimensions', () => {
    expect(() => dotProduct(Float32Array.of(1), Float32Array.of(1, 2))).toThrow('The vectors have 1 and 2 numbers');
  });
});

describe('the scores of cosine indexes', () => {
  it.each([
    ['cosine', 0.5, 0.5],
    ['cosine_distance', 0.5, 0.5],
    ['cosine_distance', 2, -1],
    ['shifted_cosine', 0.75, 0.5],
    ['shifted_cosine', 0, -1],
  ] as const)('are converted to the cosine scale: %s %d is %d', (kind, score, cosine) => {
    expect(cosineOfScore(score, kind)).toBeCloseTo(cosine, 12);
  });

  it('are clamped to their range after rounding', () => {
    expect(cosineOfScore(-1e-8, 'cosine_distance')).toBe(1);
    expect(cosineOfScore(1.0000001, 'cosine')).toBe(1);
  });
});

describe('a matrix', () => {
  it('returns its rows', () => {
    const matrix = matrixOf([Float32Array.of(1, 2), Float32Array.of(3, 4), Float32Array.of(5, 6)]);
    expect([matrix.rows, matrix.columns]).toEqual([3, 2]);
    expect([...rowOf(matrix, 1)]).toEqual([3, 4]);
  });

  it('is empty without rows', () => {
    expect(matrixOf([])).toEqual({ rows: 0, columns: 0, data: new Float32Array(0) });
  });

  it('rejects rows of different lengths, and names the row', () => {
    expect(() => matrixOf([[1, 2], [3]])).toThrow('Row 1 has 1 numbers, but row 0 has 2.');
  });

  it('is normalised to rows of length 1, and rows without direction are not listed', () => {
    const matrix = matrixOf([
      [3, 4],
      [0, 0],
      [Number.NaN, 1],
      [Number.POSITIVE_INFINITY, 1],
      [0, -2],
    ]);
    const { matrix: unit, directedRows } = normaliseRows(matrix);
    expect(directedRows).toEqual([0, 4]);
    expect([...rowOf(unit, 0)]).toEqual([Math.fround(0.6), Math.fround(0.8)]);
    expect([...rowLengths(selectRows(unit, [1, 2, 3, 4]))]).toEqual([0, 0, 0, 1]);
  });
});

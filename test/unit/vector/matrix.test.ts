import { describe, expect, it } from 'vitest';
import { matrixOf, normaliseRows, rowLengths, rowOf, selectRows } from '../../../src/vector/matrix.ts';

describe('a matrix', () => {
  it('gives back its rows', () => {
    const matrix = matrixOf([Float32Array.of(1, 2), Float32Array.of(3, 4), Float32Array.of(5, 6)]);
    expect([matrix.rows, matrix.columns]).toEqual([3, 2]);
    expect([...rowOf(matrix, 1)]).toEqual([3, 4]);
  });

  it('is empty without rows', () => {
    expect(matrixOf([])).toEqual({ rows: 0, columns: 0, data: new Float32Array(0) });
  });

  it('refuses rows of different length, by their number', () => {
    expect(() => matrixOf([[1, 2], [3]])).toThrow('Row 1 has 1 numbers, row 0 has 2.');
  });

  it('names the rows that have no direction, and scales the others to length 1', () => {
    const matrix = matrixOf([
      [3, 4],
      [0, 0],
      [Number.NaN, 1],
      [Number.POSITIVE_INFINITY, 1],
      [0, -2],
    ]);
    const { matrix: unit, zeroRows, notFiniteRows } = normaliseRows(matrix);
    expect(zeroRows).toEqual([1]);
    expect(notFiniteRows).toEqual([2, 3]);
    expect([...rowOf(unit, 0)]).toEqual([Math.fround(0.6), Math.fround(0.8)]);
    expect([...rowLengths(selectRows(unit, [1, 2, 3, 4]))]).toEqual([0, 0, 0, 1]);
  });
});

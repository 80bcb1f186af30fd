import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cosineBlocks } from '../../../../src/math/vector/cosine-kernel.ts';
import { inverseLengths, type Matrix, matrixOf } from '../../../../src/math/vector/matrix.ts';
import { uniforms } from '../../../support/uniforms.ts';

function randomRows(rows: number, columns: number, seed: number, size: number): Matrix {
  const uniform = uniforms(seed);
  return matrixOf(Array.from({ length: rows }, () => Array.from({ length: columns }, () => (uniform() - 0.5) * size)));
}

function trueCosine(a: Matrix, i: number, b: Matrix, j: number): number {
  const [x, y] = [a, b].map(({ data, columns }, side) => {
    const row = side === 0 ? i : j;
    return data.subarray(row * columns, (row + 1) * columns);
  }) as [Float32Array, Float32Array];
  const product = x.reduce((sum, value, c) => sum + value * (y[c] as number), 0);
  return product / Math.hypot(...x) / Math.hypot(...y);
}

describe('cosines from 16-bit integers', () => {
  it('are within the error bound, for any number of rows and columns and any length', () => {
    const counts = fc.integer({ min: 1, max: 11 });
    const sizes = fc.constantFrom(1e-30, 1e-3, 1, 1e15);
    fc.assert(
      fc.property(counts, counts, fc.integer({ min: 1, max: 40 }), sizes, fc.nat(), (n, m, columns, size, seed) => {
        const left = randomRows(n, columns, seed, 1);
        const right = randomRows(m, columns, seed + 1, size);
        const blocks = cosineBlocks(columns, n, m);
        blocks.setLeft(left, 0, n, inverseLengths(left));
        blocks.setRight(right, 0, m, inverseLengths(right));
        const cosines = blocks.cosines();
        for (let i = 0; i < n; i++) {
          for (let j = 0; j < m; j++) {
            const difference = Math.abs((cosines[j * blocks.stride + i] ?? 0) - trueCosine(left, i, right, j));
            expect(difference).toBeLessThanOrEqual(blocks.tolerance());
          }
        }
      }),
    );
  });

  it('are within the error bound if all products have the same sign, so that errors add up', () => {
    const columns = 3072;
    const rows = matrixOf([Array.from({ length: columns }, (_, c) => 1 + (c % 7) / 10)]);
    const blocks = cosineBlocks(columns, 1, 1);
    blocks.setLeft(rows, 0, 1, inverseLengths(rows));
    blocks.setRight(rows, 0, 1, inverseLengths(rows));
    expect(Math.abs((blocks.cosines()[0] ?? 0) - 1)).toBeLessThan(blocks.tolerance());
    expect(blocks.tolerance()).toBeLessThan(2e-3);
  });

  it('are 0 for a row without direction', () => {
    const rows = matrixOf([
      [Number.NaN, 1],
      [Number.POSITIVE_INFINITY, 1],
      [0, 0],
      [3, 4],
    ]);
    const blocks = cosineBlocks(2, 4, 4);
    blocks.setLeft(rows, 0, 4, inverseLengths(rows));
    blocks.setRight(rows, 0, 4, inverseLengths(rows));
    const cosines = [...blocks.cosines()];
    expect(cosines.slice(0, 15)).toEqual(Array.from({ length: 15 }, () => 0));
    expect(Math.abs((cosines[15] ?? 0) - 1)).toBeLessThan(blocks.tolerance());
  });

  it('of larger blocks are correct after smaller blocks in the same memory', () => {
    for (const rows of [4, 400]) {
      const matrix = randomRows(rows, 256, 3, 1);
      const blocks = cosineBlocks(256, rows, rows);
      blocks.setLeft(matrix, 0, rows, inverseLengths(matrix));
      blocks.setRight(matrix, 0, rows, inverseLengths(matrix));
      const cosines = blocks.cosines();
      for (let i = 0; i < rows; i++) expect(cosines[i * blocks.stride + i]).toBeCloseTo(1, 3);
    }
  });
});

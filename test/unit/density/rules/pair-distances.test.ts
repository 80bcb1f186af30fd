import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  medianSquaredDistance,
  pairDistances,
  pairOffset,
  sumOverPairs,
  unitVectors,
} from '../../../../src/density/rules/pair-distances.ts';
import { uniforms } from '../../../support/uniforms.ts';
import { rotated, rowsToMatrix, someRows } from './two-sample-reference.ts';

describe('distances of all pairs', () => {
  it('are the squared Euclidean distances of the pooled rows', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        const { n, m, values } = pairDistances(rowsToMatrix(x), rowsToMatrix(y));
        const pooled = [...x, ...y];
        expect([n, m]).toEqual([x.length, y.length]);
        expect(values).toHaveLength((pooled.length * (pooled.length - 1)) / 2);
        for (const [i, a] of pooled.entries()) {
          for (const [j, b] of pooled.entries()) {
            if (j <= i) continue;
            const squared = a.reduce((sum, value, k) => sum + (value - (b[k] ?? 0)) ** 2, 0);
            expect(values[pairOffset(n + m, i) + j]).toBe(squared);
          }
        }
      }),
    );
  });

  it('are accurate for many rows', () => {
    const uniform = uniforms(1);
    const rows = (count: number) =>
      Array.from({ length: count }, () => Array.from({ length: 7 }, () => Math.fround(uniform() - 0.5)));
    const x = rows(170);
    const y = rows(101);
    const pooled = [...x, ...y];
    const { values } = pairDistances(rowsToMatrix(x), rowsToMatrix(y));
    let worst = 0;
    for (const [i, a] of pooled.entries()) {
      for (let j = i + 1; j < pooled.length; j++) {
        const squared = a.reduce((sum, value, k) => sum + (value - (pooled[j]?.[k] ?? 0)) ** 2, 0);
        worst = Math.max(worst, Math.abs((values[pairOffset(271, i) + j] ?? 0) / squared - 1));
      }
    }
    expect(worst).toBeLessThan(1e-9);
  });

  it('keep their precision for nearly equal rows, and are 0 for equal rows', () => {
    const near = 1 + 2 ** -20;
    const x = rowsToMatrix([
      [1, 1000],
      [near, 1000],
    ]);
    expect([...pairDistances(x, rowsToMatrix([[1, 1000]])).values]).toEqual([2 ** -40, 0, 2 ** -40]);
  });

  it('do not change when all rows are rotated', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        const straight = pairDistances(rowsToMatrix(x), rowsToMatrix(y));
        const turned = pairDistances(rotated(rowsToMatrix(x)), rotated(rowsToMatrix(y)));
        for (const [pair, squared] of straight.values.entries()) {
          expect(turned.values[pair]).toBeCloseTo(squared, 10);
        }
      }),
    );
  });

  it('are summed within and between the samples, each pair once', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        const n = x.length;
        const m = y.length;
        expect(sumOverPairs(pairDistances(rowsToMatrix(x), rowsToMatrix(y)), () => 1)).toEqual({
          withinX: (n * (n - 1)) / 2,
          withinY: (m * (m - 1)) / 2,
          between: n * m,
        });
      }),
    );
  });

  it('are rejected for an empty sample or rows of different lengths', () => {
    const row = rowsToMatrix([[1, 2]]);
    expect(() => pairDistances(row, rowsToMatrix([]))).toThrow(RangeError);
    expect(() => pairDistances(row, rowsToMatrix([[1]]))).toThrow(RangeError);
  });
});

describe('median squared distance', () => {
  it('is the middle value', () => {
    expect(medianSquaredDistance(pairDistances(rowsToMatrix([[0], [1]]), rowsToMatrix([[3]])))).toBe(4);
  });

  it('is the mean of the two middle values if their number is even', () => {
    const distances = pairDistances(rowsToMatrix([[0], [1], [3]]), rowsToMatrix([[7]]));
    // The squared distances are 1, 4, 9, 16, 36 and 49.
    expect(medianSquaredDistance(distances)).toBe(12.5);
  });

  it('needs a pair', () => {
    expect(() => medianSquaredDistance({ n: 1, m: 0, values: new Float64Array() })).toThrow(RangeError);
  });
});

describe('rows of length 1', () => {
  it('keep their direction', () => {
    expect([
      ...unitVectors(
        rowsToMatrix([
          [3, 4],
          [0, -2],
        ]),
      ).data,
    ]).toEqual([0.6, 0.8, 0, -1]);
  });

  it('cannot be computed for a zero vector', () => {
    expect(() =>
      unitVectors(
        rowsToMatrix([
          [1, 0],
          [0, 0],
        ]),
      ),
    ).toThrow('Row 1 is a zero vector');
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  drawAssignments,
  drawRows,
  maximumMeanDiscrepancy,
  medianHeuristic,
  twoBandwidthTest,
} from '../../../../src/density/rules/mmd.ts';
import { medianSquaredDistance, pairDistances } from '../../../../src/density/rules/pair-distances.ts';
import { createRandom } from '../../../../src/stats/random.ts';
import {
  near,
  referenceCases,
  reversed,
  rotated,
  rowsToMatrix,
  someRows,
  type VectorInput,
  vectorsOf,
} from './two-sample-reference.ts';

interface Expected {
  readonly median_sq_dist_x: number;
  readonly by_gamma: readonly {
    readonly gamma: number;
    readonly mmd2_unbiased: number;
    readonly mmd2_biased: number;
  }[];
  readonly two_bandwidth: {
    readonly observed: number;
    readonly permuted: readonly number[];
    readonly p: number;
  };
}

const cases = referenceCases<
  VectorInput & { readonly permutations: readonly (readonly number[])[] },
  Expected
>('mmd2_rbf');

describe('maximum mean discrepancy, as scikit-learn', () => {
  it.each(cases)('$name', ({ input, expected }) => {
    const { x, y } = vectorsOf(input);
    const distances = pairDistances(x, y);
    const median = medianSquaredDistance(distances, 'x');
    expect(median).toEqual(near(expected.median_sq_dist_x));
    for (const { gamma, mmd2_unbiased, mmd2_biased } of expected.by_gamma) {
      expect(maximumMeanDiscrepancy(distances, gamma)).toEqual(
        near({ unbiased: mmd2_unbiased, biased: mmd2_biased }),
      );
    }
    const assignments = input.permutations.map((rows) => Uint32Array.from(rows));
    const test = twoBandwidthTest(distances, medianHeuristic(median), assignments);
    expect({ ...test, permuted: [...test.permuted] }).toEqual(near(expected.two_bandwidth));
  });
});

const discrepancyOf = (x: readonly (readonly number[])[], y: readonly (readonly number[])[]) =>
  maximumMeanDiscrepancy(pairDistances(rowsToMatrix(x), rowsToMatrix(y)), 0.05);

describe('maximum mean discrepancy', () => {
  it('is 0 in the biased form for equal samples and never below', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        expect(discrepancyOf(x, reversed(x)).biased).toBeCloseTo(0, 12);
        expect(discrepancyOf(x, y).biased).toBeGreaterThanOrEqual(-1e-12);
      }),
    );
  });

  it('is symmetric and depends neither on the order of the rows nor on a rotation', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        const { unbiased } = discrepancyOf(x, y);
        expect(discrepancyOf(y, x).unbiased).toBeCloseTo(unbiased, 12);
        expect(discrepancyOf(reversed(x), reversed(y)).unbiased).toBeCloseTo(unbiased, 12);
        const turned = pairDistances(rotated(rowsToMatrix(x)), rotated(rowsToMatrix(y)));
        expect(maximumMeanDiscrepancy(turned, 0.05).unbiased).toBeCloseTo(unbiased, 10);
      }),
    );
  });

  it('keeps its biased form when every row is doubled', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        expect(discrepancyOf([...x, ...x], [...y, ...y]).biased).toBeCloseTo(discrepancyOf(x, y).biased, 12);
      }),
    );
  });

  it('stays a number when most rows are copies, so that their median distance is 0', () => {
    const distances = pairDistances(rowsToMatrix([[1], [1], [1]]), rowsToMatrix([[1], [1], [2]]));
    const gamma = medianHeuristic(medianSquaredDistance(distances, 'pooled'));
    expect(gamma).toBe(Number.POSITIVE_INFINITY);
    // Within x 1, within y 1/3, between 2/3.
    expect(maximumMeanDiscrepancy(distances, gamma).unbiased).toBeCloseTo(0, 12);
  });

  it('needs two rows in each sample', () => {
    expect(() => discrepancyOf([[1]], [[1], [2]])).toThrow(RangeError);
  });
});

describe('permutation test', () => {
  const cluster = (centre: number): number[][] =>
    Array.from({ length: 12 }, (_, i) => [centre + Math.cos(i), Math.sin(i)]);
  const test = (x: number[][], y: number[][], seed: number) => {
    const distances = pairDistances(rowsToMatrix(x), rowsToMatrix(y));
    return twoBandwidthTest(distances, 0.5, drawAssignments(x.length, y.length, 99, seed));
  };

  it('gives the least possible p, and not 0, for samples far apart', () => {
    expect(test(cluster(0), cluster(9), 1).p).toBe(0.01);
  });

  it('gives 1 when all rows are equal', () => {
    const equal = Array.from({ length: 5 }, () => [1, 2]);
    expect(test(equal, equal, 1).p).toBe(1);
  });

  it('is the same for the same seed and another for another one', () => {
    const again = test(cluster(0), cluster(0.3), 7);
    expect(test(cluster(0), cluster(0.3), 7)).toEqual(again);
    expect(test(cluster(0), cluster(0.3), 8).permuted).not.toEqual(again.permuted);
  });

  it('finds the discrepancy of the rows that play x', () => {
    const x = cluster(0);
    const y = cluster(0.5);
    const pooled = [...x, ...y];
    const distances = pairDistances(rowsToMatrix(x), rowsToMatrix(y));
    const assignments = [...drawAssignments(12, 12, 3, 1)];
    const { permuted } = twoBandwidthTest(distances, 0.5, assignments);
    for (const [b, rows] of assignments.entries()) {
      const playsX = new Set(rows);
      const swapped = pairDistances(
        rowsToMatrix(pooled.filter((_, row) => playsX.has(row))),
        rowsToMatrix(pooled.filter((_, row) => !playsX.has(row))),
      );
      const wide = maximumMeanDiscrepancy(swapped, 0.5).unbiased;
      const narrow = maximumMeanDiscrepancy(swapped, 3).unbiased;
      expect(permuted[b]).toBeCloseTo((wide + narrow) / 2, 12);
    }
  });
});

describe('drawing of rows', () => {
  it('takes each at most once, and every one equally often in the long run', () => {
    const random = createRandom(1);
    const times = new Uint32Array(6);
    for (let draw = 0; draw < 3000; draw++) {
      const rows = drawRows(2, 6, random);
      expect(new Set(rows).size).toBe(2);
      for (const row of rows) times[row] = (times[row] ?? 0) + 1;
    }
    // 1,000 each with a standard deviation of 26.
    for (const count of times) expect(Math.abs(count - 1000)).toBeLessThan(130);
  });
});

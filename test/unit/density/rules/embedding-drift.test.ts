import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  centroidShift,
  compareEmbeddings,
  drawAssignments,
  drawRows,
  energyDistance,
  maximumMeanDiscrepancy,
  twoBandwidthTest,
} from '../../../../src/density/rules/embedding-drift.ts';
import { medianSquaredDistance, pairDistances, unitVectors } from '../../../../src/density/rules/pair-distances.ts';
import { createRandom } from '../../../../src/math/stats/random.ts';
import { type Matrix, matrixOf } from '../../../../src/math/vector/matrix.ts';
import { uniforms } from '../../../support/uniforms.ts';
import {
  near,
  referenceCases,
  reversed,
  rotated,
  rowsToMatrix,
  type ScoreInput,
  someRows,
  type VectorInput,
  vectorsOf,
} from './two-sample-reference.ts';

const isVectors = (input: ScoreInput | VectorInput): input is VectorInput => 'scale' in input;

const energyCases = referenceCases<ScoreInput | VectorInput, { readonly energy_U: number }>('energy_distance').flatMap(
  ({ name, input, expected }) => (isVectors(input) ? [{ name, input, expected }] : []),
);

describe('energy distance, compared with SciPy', () => {
  it.each(energyCases)('$name', ({ input, expected }) => {
    const { x, y } = vectorsOf(input);
    expect(energyDistance(pairDistances(x, y))).toEqual(near(expected.energy_U));
  });
});

const energyOf = (x: readonly (readonly number[])[], y: readonly (readonly number[])[]) =>
  energyDistance(pairDistances(rowsToMatrix(x), rowsToMatrix(y)));

describe('energy distance', () => {
  it('is symmetric and depends neither on the order of the rows nor on a rotation', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        const distance = energyOf(x, y);
        expect(energyOf(y, x)).toBeCloseTo(distance, 12);
        expect(energyOf(reversed(x), reversed(y))).toBeCloseTo(distance, 12);
        const turned = pairDistances(rotated(rowsToMatrix(x)), rotated(rowsToMatrix(y)));
        expect(energyDistance(turned)).toBeCloseTo(distance, 10);
      }),
    );
  });

  it('needs two rows in each sample', () => {
    expect(() => energyOf([[1]], [[1], [2]])).toThrow(RangeError);
  });
});

interface Expected {
  readonly median_sq_dist_x: number;
  readonly by_gamma: readonly {
    readonly gamma: number;
    readonly mmd2_unbiased: number;
  }[];
  readonly two_bandwidth: {
    readonly observed: number;
    readonly permuted: readonly number[];
    readonly p: number;
  };
}

const cases = referenceCases<VectorInput & { readonly permutations: readonly (readonly number[])[] }, Expected>(
  'mmd2_rbf',
);

describe('maximum mean discrepancy, compared with scikit-learn', () => {
  it.each(cases)('$name', ({ input, expected }) => {
    const { x, y } = vectorsOf(input);
    const distances = pairDistances(x, y);
    for (const { gamma, mmd2_unbiased } of expected.by_gamma) {
      expect(maximumMeanDiscrepancy(distances, gamma)).toEqual(near(mmd2_unbiased));
    }
    const assignments = input.permutations.map((rows) => Uint32Array.from(rows));
    const test = twoBandwidthTest(distances, 1 / expected.median_sq_dist_x, assignments);
    expect({ ...test, permuted: [...test.permuted] }).toEqual(near(expected.two_bandwidth));
  });
});

const discrepancyOf = (x: readonly (readonly number[])[], y: readonly (readonly number[])[]) =>
  maximumMeanDiscrepancy(pairDistances(rowsToMatrix(x), rowsToMatrix(y)), 0.05);

describe('maximum mean discrepancy', () => {
  it('is symmetric and depends neither on the order of the rows nor on a rotation', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        const discrepancy = discrepancyOf(x, y);
        expect(discrepancyOf(y, x)).toBeCloseTo(discrepancy, 12);
        expect(discrepancyOf(reversed(x), reversed(y))).toBeCloseTo(discrepancy, 12);
        const turned = pairDistances(rotated(rowsToMatrix(x)), rotated(rowsToMatrix(y)));
        expect(maximumMeanDiscrepancy(turned, 0.05)).toBeCloseTo(discrepancy, 10);
      }),
    );
  });

  it('stays finite if the median distance is 0 because most rows are duplicates', () => {
    const distances = pairDistances(rowsToMatrix([[1], [1], [1]]), rowsToMatrix([[1], [1], [2]]));
    const gamma = 1 / medianSquaredDistance(distances);
    expect(gamma).toBe(Number.POSITIVE_INFINITY);
    // The mean distance is 1 within x, 1/3 within y, and 2/3 between them.
    expect(maximumMeanDiscrepancy(distances, gamma)).toBeCloseTo(0, 12);
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

  it('returns the smallest possible p, and not 0, for samples far apart', () => {
    expect(test(cluster(0), cluster(9), 1).p).toBe(0.01);
  });

  it('returns 1 if all rows are equal', () => {
    const equal = Array.from({ length: 5 }, () => [1, 2]);
    expect(test(equal, equal, 1).p).toBe(1);
  });

  it('is the same for the same seed and differs for another seed', () => {
    const again = test(cluster(0), cluster(0.3), 7);
    expect(test(cluster(0), cluster(0.3), 7)).toEqual(again);
    expect(test(cluster(0), cluster(0.3), 8).permuted).not.toEqual(again.permuted);
  });

  it('computes each permuted discrepancy from the rows that are assigned to x', () => {
    const x = cluster(0);
    const y = cluster(0.5);
    const pooled = [...x, ...y];
    const distances = pairDistances(rowsToMatrix(x), rowsToMatrix(y));
    const assignments = [...drawAssignments(12, 12, 3, 1)];
    const { permuted } = twoBandwidthTest(distances, 0.5, assignments);
    for (const [b, rows] of assignments.entries()) {
      const assignedToX = new Set(rows);
      const swapped = pairDistances(
        rowsToMatrix(pooled.filter((_, row) => assignedToX.has(row))),
        rowsToMatrix(pooled.filter((_, row) => !assignedToX.has(row))),
      );
      const wide = maximumMeanDiscrepancy(swapped, 0.5);
      const narrow = maximumMeanDiscrepancy(swapped, 3);
      expect(permuted[b]).toBeCloseTo((wide + narrow) / 2, 12);
    }
  });
});

describe('random selection of rows', () => {
  it('selects each row at most once, and all rows equally often in the long run', () => {
    const random = createRandom(1);
    const times = new Uint32Array(6);
    for (let draw = 0; draw < 3000; draw++) {
      const rows = drawRows(2, 6, random);
      expect(new Set(rows).size).toBe(2);
      for (const row of rows) times[row] = (times[row] ?? 0) + 1;
    }
    // Each row is expected to be drawn 1,000 times, with a standard deviation of 26.
    for (const count of times) expect(Math.abs(count - 1000)).toBeLessThan(130);
  });
});

/** Vectors around (1, 0, offset), of any length. */
function cloud(count: number, seed: number, offset = 0): Matrix {
  const uniform = uniforms(seed);
  const around = (centre: number, length: number): number => length * (centre + uniform() - 0.5);
  return matrixOf(
    Array.from({ length: count }, () => {
      const length = 0.5 + uniform();
      return [around(1, length), around(0, length), around(offset, length)];
    }),
  );
}

describe('the drift of embeddings', () => {
  it('is absent between samples of the same distribution, and detected between different distributions', () => {
    const same = compareEmbeddings(cloud(150, 1), cloud(120, 2), 1);
    const moved = compareEmbeddings(cloud(150, 1), cloud(120, 2, 0.5), 1);
    expect(same.mmdP).toBeGreaterThan(0.05);
    expect(Math.abs(same.energyDistance)).toBeLessThan(0.02);
    expect(moved.mmdP).toBe(1 / 200);
    expect(moved.mmdUnbiased).toBeGreaterThan(10 * Math.abs(same.mmdUnbiased));
    expect(moved.centroid.distance).toBeGreaterThan(5 * same.centroid.distance);
  });

  it('depends only on the direction of vectors, not on their length', () => {
    const x = cloud(40, 3);
    const y = cloud(40, 4, 0.2);
    const doubled: Matrix = { ...x, data: x.data.map((value) => 2 * value) };
    expect(compareEmbeddings(doubled, y, 1)).toEqual(compareEmbeddings(x, y, 1));
  });

  it('uses all rows of small samples', () => {
    const x = cloud(60, 5);
    const y = cloud(50, 6);
    const { energyDistance: found, sampled } = compareEmbeddings(x, y, 1);
    expect(sampled).toEqual({ reference: 60, current: 50 });
    expect(found).toBe(energyDistance(pairDistances(unitVectors(x), unitVectors(y))));
  });

  it('uses a seeded subsample of larger samples, and all rows for the centroids', () => {
    const x = cloud(90, 7);
    const y = cloud(30, 8);
    const [first, second] = [compareEmbeddings(x, y, 1, 50), compareEmbeddings(x, y, 2, 50)];
    expect(first.sampled).toEqual({ reference: 50, current: 30 });
    expect(second.energyDistance).not.toBe(first.energyDistance);
    expect(second.centroid).toEqual(first.centroid);
  });

  it('is the same for the same seed', () => {
    const x = cloud(80, 9);
    const y = cloud(70, 10);
    expect(compareEmbeddings(x, y, 3, 60)).toEqual(compareEmbeddings(x, y, 3, 60));
  });

  it('cannot be computed for a single vector', () => {
    expect(() => compareEmbeddings(cloud(1, 1), cloud(9, 2), 1)).toThrow(RangeError);
  });
});

describe('centroids, compared with NumPy', () => {
  it.each(referenceCases<VectorInput, Readonly<Record<string, number>>>('centroid'))('$name', ({ input, expected }) => {
    const { x, y } = vectorsOf(input);
    const shift = centroidShift(x, y);
    expect({
      euclidean: shift.distance,
      cosine_distance: shift.cosineDistance,
      norm_x: shift.resultantLengthX,
      norm_y: shift.resultantLengthY,
    }).toMatchObject(Object(near(expected)));
  });
});

describe('centroids', () => {
  it('do not move if rows are duplicated or reordered', () => {
    fc.assert(
      fc.property(someRows, (x) => {
        const shift = centroidShift(rowsToMatrix(x), rowsToMatrix(reversed([...x, ...x])));
        expect(shift.distance).toBeCloseTo(0, 12);
        expect(shift.cosineDistance).toBeCloseTo(0, 12);
        expect(shift.resultantLengthX).toBeCloseTo(shift.resultantLengthY, 12);
      }),
    );
  });

  it('shift equally in either direction and under any rotation', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        const shift = centroidShift(rowsToMatrix(x), rowsToMatrix(y));
        const back = centroidShift(rowsToMatrix(y), rowsToMatrix(x));
        const turned = centroidShift(rotated(rowsToMatrix(x)), rotated(rowsToMatrix(y)));
        expect(back.distance).toBeCloseTo(shift.distance, 12);
        expect(back.resultantLengthX).toBeCloseTo(shift.resultantLengthY, 12);
        expect(turned.distance).toBeCloseTo(shift.distance, 12);
        expect(turned.cosineDistance).toBeCloseTo(shift.cosineDistance, 12);
      }),
    );
  });

  it('without a direction are at cosine distance 1 from everything', () => {
    const opposite = rowsToMatrix([
      [1, 0],
      [-1, 0],
    ]);
    expect(centroidShift(opposite, rowsToMatrix([[1, 0]]))).toEqual({
      distance: 1,
      cosineDistance: 1,
      resultantLengthX: 0,
      resultantLengthY: 1,
    });
  });

  it('need at least one row, and rows of equal length', () => {
    expect(() => centroidShift(rowsToMatrix([[1]]), rowsToMatrix([[1, 0]]))).toThrow(RangeError);
    expect(() => centroidShift(rowsToMatrix([]), rowsToMatrix([]))).toThrow(RangeError);
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pairDistances } from '../../../../src/density/rules/pair-distances.ts';
import {
  compareStoreWithTraffic,
  manifoldCoverage,
  storeShift,
  takeStoreSnapshot,
} from '../../../../src/density/rules/store-snapshot.ts';
import { matrixOf } from '../../../../src/math/vector/matrix.ts';
import { uniforms } from '../../../support/uniforms.ts';
import { near, referenceCases, reversed, rowsToMatrix, someRows } from './two-sample-reference.ts';

interface Input {
  readonly real: readonly (readonly number[])[];
  readonly fake: readonly (readonly number[])[];
  readonly scale: number;
  readonly k: number;
}

interface Expected {
  readonly precision: number;
  readonly coverage: number;
}

const coverageOf = (real: readonly (readonly number[])[], fake: readonly (readonly number[])[], k: number, scale = 1) =>
  manifoldCoverage(pairDistances(rowsToMatrix(real, scale), rowsToMatrix(fake, scale)), k);

describe('precision and coverage, compared with scikit-learn', () => {
  it.each(referenceCases<Input, Expected>('prdc'))('$name', ({ input, expected }) => {
    const { precision, coverage } = expected;
    expect(coverageOf(input.real, input.fake, input.k, input.scale)).toEqual(near({ precision, coverage }));
  });
});

const distinctRows = fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.nat(9), fc.nat(9)), {
  minLength: 2,
  maxLength: 12,
  selector: String,
});

describe('precision and coverage', () => {
  it('are shares, and 1 for a sample of distinct rows against itself', () => {
    fc.assert(
      fc.property(distinctRows, distinctRows, fc.integer({ min: 1, max: 4 }), (x, y, k) => {
        const { precision, coverage } = coverageOf(x, y, k);
        for (const share of [precision, coverage]) {
          expect(share).toBeGreaterThanOrEqual(0);
          expect(share).toBeLessThanOrEqual(1);
        }
        expect(coverageOf(x, reversed(x), k)).toEqual({ precision: 1, coverage: 1 });
      }),
    );
  });

  it('ignore the order of rows', () => {
    fc.assert(
      fc.property(someRows, someRows, (x, y) => {
        expect(coverageOf(reversed(x), reversed(y), 2)).toEqual(coverageOf(x, y, 2));
      }),
    );
  });

  it('exclude everything from the ball of a row that has at least k duplicates', () => {
    const copies = [[1], [1], [1]];
    expect(coverageOf(copies, [[1], [2]], 2)).toEqual({ precision: 0, coverage: 0 });
  });

  it('use the farthest neighbor if there are fewer than k neighbors', () => {
    expect(coverageOf([[0], [3]], [[2.9], [3.1]], 5)).toEqual({ precision: 1, coverage: 1 });
    expect(coverageOf([[0], [3]], [[3], [6]], 5)).toEqual({ precision: 0.5, coverage: 0.5 });
  });

  it('need two rows in each sample', () => {
    expect(() => coverageOf([[1]], [[1], [2]], 1)).toThrow(RangeError);
  });
});

const uniform = uniforms(7);

/** Vectors near an axis, with a norm of about 2. */
function around(axis: number, count: number, dimensions = 8): Float32Array[] {
  return Array.from({ length: count }, () =>
    Float32Array.from({ length: dimensions }, (_, i) => (i === axis ? 2 : (uniform() - 0.5) * 0.3)),
  );
}

const store = matrixOf([...around(0, 300), ...around(1, 200), ...around(2, 100)]);

describe('a snapshot of a store', () => {
  it('contains the share of each topic, the mean vector length and the number of rows', () => {
    const snapshot = takeStoreSnapshot(store, 1);
    const shares = [0, 1, 2].map((axis) => {
      const members = [...(snapshot?.shares.keys() ?? [])].filter((cluster) => {
        const direction = snapshot?.clusters.data.subarray(cluster * 8, cluster * 8 + 8) ?? [];
        return (direction[axis] ?? 0) > 0.8;
      });
      return members.reduce((sum, cluster) => sum + (snapshot?.shares[cluster] ?? 0), 0);
    });
    expect(shares[0]).toBeCloseTo(1 / 2, 9);
    expect(shares[1]).toBeCloseTo(1 / 3, 9);
    expect(shares[2]).toBeCloseTo(1 / 6, 9);
    expect(snapshot?.meanLength).toBeCloseTo(2, 1);
    expect(snapshot?.rows).toBe(600);
  });

  it('is the same for the same sample and seed', () => {
    expect(takeStoreSnapshot(store, 3)).toEqual(takeStoreSnapshot(store, 3));
  });

  it('excludes vectors without a direction', () => {
    const broken = matrixOf([...around(0, 5), new Float32Array(8), new Float32Array(8).fill(Number.NaN)]);
    expect(takeStoreSnapshot(broken, 1)).toMatchObject({ rows: 5 });
    expect(takeStoreSnapshot(matrixOf([new Float32Array(8)]), 1)).toBeNull();
  });

  it('has no shift relative to itself, and shifts when a topic is lost', () => {
    const before = takeStoreSnapshot(store, 1);
    const lost = takeStoreSnapshot(matrixOf([...around(0, 300), ...around(1, 200)]), 1);
    if (before === null || lost === null) throw new Error('both have vectors');
    expect(storeShift(before, before)).toEqual({
      centroidCosineDistance: expect.closeTo(0, 12) as number,
      lengthRatio: 1,
    });
    expect(storeShift(before, lost)?.centroidCosineDistance).toBeGreaterThan(0.02);
    expect(storeShift(before, { centroid: new Float64Array(4), meanLength: 1 })).toBeNull();
  });
});

describe('a store compared with its traffic', () => {
  const snapshot = takeStoreSnapshot(store, 1);
  if (snapshot === null) throw new Error('the store has vectors');
  const compare = (queries: readonly Float32Array[], weights?: readonly number[]) =>
    compareStoreWithTraffic(store, snapshot, matrixOf(queries), weights ?? queries.map(() => 1));

  it('with the same distribution as its live queries has a small divergence and is near most of them', () => {
    const traffic = compare([...around(0, 150), ...around(1, 100), ...around(2, 50)]);
    expect(traffic?.divergenceBits).toBeLessThan(0.1);
    expect(traffic?.queriesApart).toBeLessThan(0.3);
  });

  it('with live queries of one topic only has unused clusters', () => {
    const traffic = compare(around(2, 200));
    expect(traffic?.divergenceBits).toBeGreaterThan(0.5);
    expect(traffic?.chunksUnqueried).toBeGreaterThan(0.8);
    expect(traffic?.queryShares).toContain(0);
  });

  it('is far from live queries that it does not cover', () => {
    expect(compare(around(5, 100))?.queriesApart).toBe(1);
  });

  it('is weighted by inverse inclusion probabilities', () => {
    const queries = [...around(0, 50), ...around(2, 50)];
    const traffic = compare(
      queries,
      queries.map((_, index) => (index < 50 ? 9 : 1)),
    );
    const first = [...(traffic?.queryShares ?? [])].filter(
      (_, cluster) => (snapshot.clusters.data[cluster * 8] ?? 0) > 0.8,
    );
    expect(first.reduce((sum, share) => sum + share, 0)).toBeCloseTo(0.9, 9);
  });

  it('cannot be compared with too few queries or with queries of another dimension', () => {
    expect(compare(around(0, 1))).toBeNull();
    expect(compare(around(0, 10, 4))).toBeNull();
  });
});

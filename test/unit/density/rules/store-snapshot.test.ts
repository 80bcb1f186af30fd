import { describe, expect, it } from 'vitest';
import {
  compareStoreWithTraffic,
  storeShift,
  takeStoreSnapshot,
} from '../../../../src/density/rules/store-snapshot.ts';
import { matrixOf } from '../../../../src/vector/matrix.ts';
import { uniforms } from '../../../support/uniforms.ts';

const uniform = uniforms(7);

/** Vectors near an axis, of length 2. */
function around(axis: number, count: number, dimensions = 8): Float32Array[] {
  return Array.from({ length: count }, () =>
    Float32Array.from({ length: dimensions }, (_, i) => (i === axis ? 2 : (uniform() - 0.5) * 0.3)),
  );
}

const store = matrixOf([...around(0, 300), ...around(1, 200), ...around(2, 100)]);

describe('a snapshot of a store', () => {
  it('finds its topics with their shares, its middle and the length of its vectors', () => {
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

  it('leaves out and counts vectors without a direction', () => {
    const broken = matrixOf([...around(0, 5), new Float32Array(8), new Float32Array(8).fill(Number.NaN)]);
    expect(takeStoreSnapshot(broken, 1)).toMatchObject({ rows: 5, zeroRows: 1, notFiniteRows: 1 });
    expect(takeStoreSnapshot(matrixOf([new Float32Array(8)]), 1)).toBeNull();
  });

  it('shifts by nothing to itself, and by what a lost topic takes away', () => {
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

describe('a store against its traffic', () => {
  const snapshot = takeStoreSnapshot(store, 1);
  if (snapshot === null) throw new Error('the store has vectors');
  const compare = (queries: readonly Float32Array[], weights?: readonly number[]) =>
    compareStoreWithTraffic(store, snapshot, matrixOf(queries), weights ?? queries.map(() => 1));

  it('that asks as the store is stocked diverges little and leaves nothing unasked', () => {
    const traffic = compare([...around(0, 150), ...around(1, 100), ...around(2, 50)]);
    expect(traffic?.divergenceBits).toBeLessThan(0.1);
    expect(traffic?.queriesApart).toBeLessThan(0.3);
  });

  it('that asks of one topic alone leaves the others unasked', () => {
    const traffic = compare(around(2, 200));
    expect(traffic?.divergenceBits).toBeGreaterThan(0.5);
    expect(traffic?.chunksUnasked).toBeGreaterThan(0.8);
    expect(traffic?.clusters[0]?.densityRatio).toBeGreaterThan(3);
    expect(traffic?.clusters.at(-1)?.queryShare).toBe(0);
  });

  it('that asks for what the store does not hold is apart from it', () => {
    expect(compare(around(5, 100))?.queriesApart).toBe(1);
  });

  it('is weighed by inverse inclusion probabilities', () => {
    const queries = [...around(0, 50), ...around(2, 50)];
    const traffic = compare(
      queries,
      queries.map((_, index) => (index < 50 ? 9 : 1)),
    );
    const first =
      traffic?.clusters.filter(({ cluster }) => (snapshot.clusters.data[cluster * 8] ?? 0) > 0.8) ?? [];
    expect(first.reduce((sum, { queryShare }) => sum + queryShare, 0)).toBeCloseTo(0.9, 9);
  });

  it('is not compared with too few queries or those of another model', () => {
    expect(compare(around(0, 1))).toBeNull();
    expect(compare(around(0, 10, 4))).toBeNull();
  });
});

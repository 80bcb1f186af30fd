import { describe, expect, it } from 'vitest';
import { compareEmbeddings, energyDistance } from '../../../../src/density/rules/embedding-drift.ts';
import { pairDistances, unitVectors } from '../../../../src/density/rules/pair-distances.ts';
import { type Matrix, matrixOf } from '../../../../src/vector/matrix.ts';
import { uniforms } from '../../../support/uniforms.ts';

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
  it('is not found between samples of one distribution, and is found between two', () => {
    const same = compareEmbeddings(cloud(150, 1), cloud(120, 2), 1);
    const moved = compareEmbeddings(cloud(150, 1), cloud(120, 2, 0.5), 1);
    expect(same.mmdP).toBeGreaterThan(0.05);
    expect(Math.abs(same.energyDistance)).toBeLessThan(0.02);
    expect(moved.mmdP).toBe(1 / 200);
    expect(moved.mmdUnbiased).toBeGreaterThan(10 * Math.abs(same.mmdUnbiased));
    expect(moved.centroid.distance).toBeGreaterThan(5 * same.centroid.distance);
  });

  it('sees the direction of vectors alone, not their length', () => {
    const x = cloud(40, 3);
    const y = cloud(40, 4, 0.2);
    const doubled: Matrix = { ...x, data: x.data.map((value) => 2 * value) };
    expect(compareEmbeddings(doubled, y, 1)).toEqual(compareEmbeddings(x, y, 1));
  });

  it('takes all rows of small samples', () => {
    const x = cloud(60, 5);
    const y = cloud(50, 6);
    const { energyDistance: found, sampled } = compareEmbeddings(x, y, 1);
    expect(sampled).toEqual({ reference: 60, current: 50 });
    expect(found).toBe(energyDistance(pairDistances(unitVectors(x), unitVectors(y))).u);
  });

  it('takes some of more rows, drawn with the seed, and all of them for the centroids', () => {
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

  it('cannot be told of a single vector', () => {
    expect(() => compareEmbeddings(cloud(1, 1), cloud(9, 2), 1)).toThrow(RangeError);
  });
});

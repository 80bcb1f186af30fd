import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assignRegions, findRegions, regionCount } from '../../../../src/density/rules/baseline-spread.ts';
import { lengthOf, matrixOf } from '../../../../src/math/vector/matrix.ts';
import { lloyd, seededSphericalKMeans, sphericalKMeans } from '../../../../src/math/vector/spherical-k-means.ts';
import {
  differences,
  driftCases,
  type ScaledVectors,
  scaledMatrix,
  scaledNumbers,
} from '../../../support/drift-conformance.ts';
import { evenQuestions, queryWorld } from '../../../support/query-world.ts';
import { uniforms } from '../../../support/uniforms.ts';

const SETTINGS = { k: 4, starts: 2, iterations: 20, seed: 1 };

const coordinate = fc.integer({ min: -50, max: 50 });
const points = fc.array(fc.tuple(coordinate, coordinate, coordinate), { minLength: 5, maxLength: 40 });

/** Returns the vectors of queries that alternate between four topics. */
function fourTopics(seed: number, count = 200) {
  return queryWorld(seed, 4, 4).ask(evenQuestions(count, [0, 1, 2, 3], new Date(0), 1)).vectors;
}

describe('the nearest centroid', () => {
  it('equals the one computed in float64, to the last digit', () => {
    const uniform = uniforms(5);
    const base = Array.from({ length: 24 }, () => uniform() - 0.5);
    // Eight centroids that float32 can hardly distinguish, and four that clearly differ; rows of many lengths, and a
    // zero row.
    const start = Array.from({ length: 12 }, (_, j) =>
      base.map((value) => (j < 8 ? value * (1 + (uniform() - 0.5) * 1e-6) : uniform() - 0.5)),
    ).flat();
    const rows = matrixOf([
      ...Array.from({ length: 150 }, (_, i) => base.map((value) => (value + uniform() / 4) * 10 ** ((i % 9) - 4))),
      base.map(() => 0),
    ]);
    const { labels, closeness } = lloyd(rows, Float64Array.from(start), 0);
    for (let row = 0; row < rows.rows; row++) {
      const point = rows.data.subarray(row * 24, (row + 1) * 24);
      let label = 0;
      let best = Number.NEGATIVE_INFINITY;
      for (let j = 0; j < 12; j++) {
        const centroid = start.slice(j * 24, (j + 1) * 24);
        const near = point.reduce((sum, value, c) => sum + value * (centroid[c] ?? 0), 0);
        if (near > best) [best, label] = [near, j];
      }
      expect(labels[row]).toBe(label);
      const length = lengthOf(point);
      expect(closeness[row]).toBe(length === 0 ? 0 : best * (1 / length));
    }
  });
});

describe('seededSphericalKMeans', () => {
  it('finds separate topics', () => {
    const { labels } = seededSphericalKMeans(fourTopics(11), SETTINGS);
    for (let i = 4; i < labels.length; i++) expect(labels[i]).toBe(labels[i % 4]);
    expect(new Set(labels).size).toBe(4);
  });

  it('returns the same clusters for the same seed', () => {
    const rows = fourTopics(12);
    expect(seededSphericalKMeans(rows, SETTINGS)).toEqual(seededSphericalKMeans(rows, SETTINGS));
  });

  it('assigns every row to its nearest centroid, and normalises every centroid that has a direction', () => {
    fc.assert(
      fc.property(points, fc.integer({ min: 1, max: 6 }), (given, k) => {
        const { centroids, labels, closeness } = seededSphericalKMeans(matrixOf(given), { ...SETTINGS, k });
        for (const [row, point] of given.entries()) {
          const length = Math.hypot(...point);
          const cosines = Array.from({ length: k }, (_, j) =>
            length === 0 ? 0 : point.reduce((sum, x, c) => sum + (x * (centroids[j * 3 + c] ?? 0)) / length, 0),
          );
          expect(cosines[labels[row] ?? -1]).toBeCloseTo(Math.max(...cosines), 10);
          expect(closeness[row]).toBeCloseTo(Math.max(...cosines), 10);
        }
        for (let j = 0; j < k; j++) {
          const length = lengthOf(centroids.subarray(j * 3, j * 3 + 3));
          expect(length === 0 || Math.abs(length - 1) < 1e-12).toBe(true);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('never returns looser clusters with more iterations or more starts', () => {
    fc.assert(
      fc.property(points, (given) => {
        const rows = matrixOf(given);
        const objective = (iterations: number, starts: number): number =>
          seededSphericalKMeans(rows, { ...SETTINGS, iterations, starts }).objective;
        expect(objective(5, 1)).toBeGreaterThanOrEqual(objective(1, 1) - 1e-9);
        expect(objective(5, 3)).toBeGreaterThanOrEqual(objective(5, 1) - 1e-9);
      }),
      { numRuns: 50 },
    );
  });

  it('leaves a centroid without rows in place', () => {
    const clusters = sphericalKMeans(
      matrixOf([
        [1, 0],
        [2, 0.1],
      ]),
      [5, 0, 0, -3],
      3,
    );
    expect([...clusters.labels]).toEqual([0, 0]);
    expect(clusters.centroids.slice(2)).toEqual(Float64Array.of(0, -1));
  });
});

describe('a row without direction', () => {
  it('moves no centroid and causes no NaN', () => {
    const good = [
      [1, 0],
      [0.9, 0.1],
      [0, 1],
    ];
    const bad = [
      [Number.NaN, 1],
      [0, 0],
      [Number.POSITIVE_INFINITY, 1],
    ];
    const start = [1, 0, 0, 1];
    const clean = sphericalKMeans(matrixOf(good), start, 5);
    const dirty = sphericalKMeans(matrixOf([...good, ...bad]), start, 5);
    expect(dirty.centroids).toEqual(clean.centroids);
    expect(dirty.objective).toBe(clean.objective);
    expect(dirty.labels.slice(3)).toEqual(Int32Array.of(0, 0, 0));
  });
});

describe('regions', () => {
  it.each([
    [0, 1],
    [599, 1],
    [600, 2],
    [5000, 16],
    [1e6, 32],
  ])('of %d baseline queries number %d', (queries, count) => {
    expect(regionCount(queries)).toBe(count);
  });

  it('contain later queries about the same topics', () => {
    const regions = findRegions(fourTopics(13), 1, 4);
    const labels = assignRegions(fourTopics(13, 80), regions);
    for (let i = 4; i < labels.length; i++) expect(labels[i]).toBe(labels[i % 4]);
  });

  it('are computed from every n-th row of a very large baseline', () => {
    const rows = { rows: 50_000, columns: 2, data: new Float32Array(100_000) };
    for (let i = 0; i < 50_000; i++) rows.data[2 * i + (i % 2)] = 1;
    const regions = findRegions(rows, 1, 1);
    // Only every third row is read. Of these rows, one more points in one direction than in the other.
    expect(regions.centroids[0]).toBeCloseTo(Math.SQRT1_2, 3);
    expect(regions.centroids[1]).toBeCloseTo(Math.SQRT1_2, 3);
  });

  it('reject vectors of another dimension', () => {
    expect(() => assignRegions(matrixOf([[1, 0, 0]]), findRegions(matrixOf([[1, 0]]), 1))).toThrow(
      'The queries have 3 dimensions and the baseline has 2',
    );
  });
});

/** Compares results with reference values from numpy, scipy and scikit-learn; each file states its formula and its tool. */
describe('spherical k-means against reference values', () => {
  interface Input {
    readonly points: ScaledVectors;
    readonly initial_centroids: ScaledVectors;
    readonly scale: number;
    readonly iterations: number;
  }
  interface Spherical {
    readonly centroids: ScaledVectors;
    readonly labels: readonly number[];
    readonly objective_sum_cosine: number;
  }

  it.each(driftCases<Input, Spherical>('spherical_kmeans'))(
    'returns the values of the case $name',
    ({ input, expected }) => {
      const points = scaledMatrix(input.points, input.scale);
      const clusters = sphericalKMeans(points, scaledNumbers(input.initial_centroids, input.scale), input.iterations);
      expect([...clusters.labels]).toEqual(expected.labels);
      expect(differences(clusters.centroids, expected.centroids.flat())).toEqual([]);
      expect(differences([clusters.objective], [expected.objective_sum_cosine])).toEqual([]);
    },
  );
});

/** Against reference values of numpy, scipy and scikit-learn; each file names its formula and its tool. */
import { describe, expect, it } from 'vitest';
import { kMeans } from '../../../../src/core/clustering/k-means.ts';
import { medoids, sphericalKMeans } from '../../../../src/core/clustering/spherical-k-means.ts';
import {
  differences,
  driftCases,
  type ScaledVectors,
  scaledMatrix,
  scaledNumbers,
} from '../../../support/drift-conformance.ts';

describe('k-means', () => {
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
    readonly medoids: readonly number[];
  }
  interface Euclidean {
    readonly centroids: ScaledVectors;
    readonly labels: readonly number[];
    readonly counts: readonly number[];
    readonly shares: readonly number[];
    readonly inertia: number;
  }

  it.each(driftCases<Input, Spherical>('spherical_kmeans'))(
    'between directions: $name',
    ({ input, expected }) => {
      const points = scaledMatrix(input.points, input.scale);
      const clusters = sphericalKMeans(
        points,
        scaledNumbers(input.initial_centroids, input.scale),
        input.iterations,
      );
      expect([...clusters.labels]).toEqual(expected.labels);
      expect(differences(clusters.centroids, expected.centroids.flat())).toEqual([]);
      expect(differences([clusters.objective], [expected.objective_sum_cosine])).toEqual([]);
      expect(medoids(clusters)).toEqual(expected.medoids);
    },
  );

  it.each(driftCases<Input, Euclidean>('kmeans'))('between points: $name', ({ input, expected }) => {
    const points = scaledMatrix(input.points, input.scale);
    const clusters = kMeans(
      points,
      Float64Array.from(scaledNumbers(input.initial_centroids, input.scale)),
      input.iterations,
    );
    expect([...clusters.labels]).toEqual(expected.labels);
    expect(clusters.counts).toEqual(expected.counts);
    expect(differences(clusters.shares, expected.shares)).toEqual([]);
    expect(differences(clusters.centroids, expected.centroids.flat())).toEqual([]);
    expect(differences([clusters.inertia], [expected.inertia])).toEqual([]);
  });
});

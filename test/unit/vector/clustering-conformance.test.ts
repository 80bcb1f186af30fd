/** Against reference values of numpy, scipy and scikit-learn; each file names its formula and its tool. */
import { describe, expect, it } from 'vitest';
import { medoids, sphericalKMeans } from '../../../src/vector/spherical-k-means.ts';
import {
  differences,
  driftCases,
  type ScaledVectors,
  scaledMatrix,
  scaledNumbers,
} from '../../support/drift-conformance.ts';

describe('spherical k-means', () => {
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

  it.each(driftCases<Input, Spherical>('spherical_kmeans'))('$name', ({ input, expected }) => {
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
  });
});

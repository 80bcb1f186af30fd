/** What a vector store holds, by a uniform sample of it: its topics, its middle, and what changed since the last look. */

import { medoids, seededSphericalKMeans } from '../../clustering/spherical-k-means.ts';
import { lengthOf, type Matrix, normaliseRows, rowOf, selectRows } from '../../vector/matrix.ts';
import { dotProduct } from '../../vector/similarity.ts';

export interface StoreSnapshot {
  /** Sampled vectors with a direction, and those without one. */
  readonly rows: number;
  readonly zeroRows: number;
  readonly notFiniteRows: number;
  /** Mean of the directions, not scaled to length 1. */
  readonly centroid: Float64Array;
  /** Mean length of the vectors. */
  readonly meanLength: number;
  /** Row-major directions of the clusters. */
  readonly clusters: Matrix;
  /** Share of the sample in each cluster, 0..1. */
  readonly shares: Float64Array;
  /** Row of the sample that is most typical of each cluster, null for an empty one. */
  readonly medoids: readonly (number | null)[];
}

const MOST_CLUSTERS = 32;
const ROWS_PER_CLUSTER = 30;

/**
 * Clusters a sample by direction: K = min(32, rows / 30), at least 1.
 *
 * @param sample uniform over the store
 * @returns null when no vector of the sample has a direction
 */
export function takeStoreSnapshot(sample: Matrix, seed: number): StoreSnapshot | null {
  const { matrix, directedRows: kept, zeroRows, notFiniteRows } = normaliseRows(sample);
  if (kept.length === 0) return null;
  const directions = selectRows(matrix, kept);
  const k = Math.max(1, Math.min(MOST_CLUSTERS, Math.floor(kept.length / ROWS_PER_CLUSTER)));
  const clustering = seededSphericalKMeans(directions, { k, starts: 2, iterations: 20, seed });
  const shares = new Float64Array(k);
  for (const label of clustering.labels) shares[label] = (shares[label] ?? 0) + 1 / kept.length;
  return {
    rows: kept.length,
    zeroRows: zeroRows.length,
    notFiniteRows: notFiniteRows.length,
    centroid: meanRow(directions),
    meanLength: kept.reduce((sum, row) => sum + lengthOf(rowOf(sample, row)), 0) / kept.length,
    clusters: { rows: k, columns: sample.columns, data: Float32Array.from(clustering.centroids) },
    shares,
    medoids: medoids(clustering).map((index) => (index === null ? null : (kept[index] ?? null))),
  };
}

/** What moved between two snapshots of one store. */
export interface StoreShift {
  /** 1 - cosine of the two centroids, 0..2; 1 when one of them has no direction. */
  readonly centroidCosineDistance: number;
  /** Mean length now over mean length before. */
  readonly lengthRatio: number;
}

/** @returns null when the vectors are of another dimension: that is another model, and no shift */
export function storeShift(
  before: Pick<StoreSnapshot, 'centroid' | 'meanLength'>,
  after: Pick<StoreSnapshot, 'centroid' | 'meanLength'>,
): StoreShift | null {
  if (before.centroid.length !== after.centroid.length) return null;
  const lengths = lengthOf(before.centroid) * lengthOf(after.centroid);
  return {
    centroidCosineDistance: lengths === 0 ? 1 : 1 - dotProduct(before.centroid, after.centroid) / lengths,
    lengthRatio: before.meanLength === 0 ? 1 : after.meanLength / before.meanLength,
  };
}

function meanRow({ rows, columns, data }: Matrix): Float64Array {
  const mean = new Float64Array(columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      mean[column] = (mean[column] ?? 0) + (data[row * columns + column] ?? 0) / rows;
    }
  }
  return mean;
}

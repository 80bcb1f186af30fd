import { type Matrix, rowLengths } from '../vector/matrix.ts';
import { lloyd } from './lloyd.ts';

export interface KMeans {
  readonly centroids: Float64Array;
  readonly labels: Int32Array;
  readonly counts: readonly number[];
  /** `counts` over the number of rows; all 0 without rows. */
  readonly shares: readonly number[];
  /** Sum of the squared distances of the rows to their centroids. */
  readonly inertia: number;
}

/**
 * k-means between points from given centroids: `iterations` steps of Lloyd's algorithm with squared Euclidean
 * distances, then a final assignment; 0 iterations only assign.
 *
 * @param start row-major centroids of the rows' dimension
 */
export function kMeans(rows: Matrix, start: Float64Array, iterations: number): KMeans {
  const { centroids, labels, closeness, k } = lloyd(rows, start, iterations, 'euclidean');
  const counts = Array.from({ length: k }, () => 0);
  for (const label of labels) counts[label] = (counts[label] ?? 0) + 1;
  let inertia = 0;
  for (const [row, length] of rowLengths(rows).entries()) {
    inertia += Math.max(0, length * length - 2 * (closeness[row] ?? 0));
  }
  const shares = counts.map((count) => (rows.rows === 0 ? 0 : count / rows.rows));
  return { centroids, labels, counts, shares, inertia };
}

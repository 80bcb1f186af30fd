/** k-means between directions, for embeddings whose length means nothing. */
import { createRandom } from '../stats/random.ts';
import { inverseLengths, lengthOf, type Matrix, rowOf } from '../vector/matrix.ts';
import { type Clustering, lloyd } from './lloyd.ts';

export interface SphericalKMeans extends Clustering {
  /** Sum over the rows of the cosine to their centroid; the larger, the tighter. */
  readonly objective: number;
}

export interface SeededStarts {
  readonly k: number;
  /** Runs from different starts, of which the tightest is kept. */
  readonly starts: number;
  readonly iterations: number;
  readonly seed: number;
}

/**
 * Spherical k-means (Dhillon and Modha 2001) from given centroids: `iterations` steps of Lloyd's algorithm by cosine,
 * then a final assignment.
 *
 * @param start row-major centroids of any length, at least one
 */
export function sphericalKMeans(rows: Matrix, start: ArrayLike<number>, iterations: number): SphericalKMeans {
  const centroids = Float64Array.from(start);
  for (let from = 0; from < centroids.length; from += rows.columns) {
    const centroid = centroids.subarray(from, from + rows.columns);
    const length = lengthOf(centroid);
    if (length > 0) centroid.set(centroid.map((value) => value / length));
  }
  const clustering = lloyd(rows, centroids, iterations, 'sphere');
  let objective = 0;
  for (const cosine of clustering.closeness) objective += cosine;
  return { ...clustering, objective };
}

/**
 * Spherical k-means from centroids drawn by k-means++ (Arthur and Vassilvitskii 2007, with 1 - cosine for the squared
 * distance). The same rows and settings give the same clusters. With fewer distinct rows than `k`, some clusters stay
 * empty.
 */
export function seededSphericalKMeans(
  rows: Matrix,
  { k, starts, iterations, seed }: SeededStarts,
): SphericalKMeans {
  const unit = uniformsOf(seed);
  let best = sphericalKMeans(rows, plusPlusStart(rows, k, unit), iterations);
  for (let start = 1; start < starts; start++) {
    const next = sphericalKMeans(rows, plusPlusStart(rows, k, unit), iterations);
    if (next.objective > best.objective) best = next;
  }
  return best;
}

/**
 * The most typical member of each cluster: the row with the largest cosine to its centroid, the first on ties; null
 * for a cluster without members.
 */
export function medoids({ k, labels, closeness }: Clustering): (number | null)[] {
  const chosen: (number | null)[] = Array.from({ length: k }, () => null);
  for (const [row, label] of labels.entries()) {
    const current = chosen[label] ?? null;
    if (current === null || (closeness[row] ?? 0) > (closeness[current] ?? 0)) chosen[label] = row;
  }
  return chosen;
}

function plusPlusStart(rows: Matrix, k: number, uniform: () => number): Float64Array {
  const { columns } = rows;
  const scales = inverseLengths(rows);
  const centroids = new Float64Array(k * columns);
  const farness = new Float64Array(rows.rows).fill(1);
  for (let j = 0; j < k && rows.rows > 0; j++) {
    const chosen = drawByWeight(farness, uniform());
    const centroid = centroids.subarray(j * columns, (j + 1) * columns);
    centroid.set(Float64Array.from(rowOf(rows, chosen), (value) => value * (scales[chosen] ?? 0)));
    for (const [row, far] of farness.entries()) {
      const cosine = dotOf(rows, row, centroid) * (scales[row] ?? 0);
      farness[row] = Math.min(far, Math.max(0, 1 - cosine));
    }
  }
  return centroids;
}

function dotOf({ data, columns }: Matrix, row: number, vector: Float64Array): number {
  const start = row * columns;
  let sum = 0;
  for (let c = 0; c < columns; c++) sum += (data[start + c] as number) * (vector[c] as number);
  return sum;
}

/** An index drawn with probability proportional to its weight; any index when all weights are 0. */
function drawByWeight(weights: Float64Array, uniform: number): number {
  let total = 0;
  for (const weight of weights) total += weight;
  if (total === 0) return Math.floor(uniform * weights.length);
  let rest = uniform * total;
  let last = 0;
  for (const [index, weight] of weights.entries()) {
    if (weight === 0) continue;
    last = index;
    rest -= weight;
    if (rest < 0) break;
  }
  return last;
}

function uniformsOf(seed: number): () => number {
  const fill = createRandom(seed);
  const draw = new Uint32Array(1);
  return () => {
    fill(draw);
    return (draw[0] ?? 0) / 2 ** 32;
  };
}

/** k-means that compares only the directions of vectors, because the lengths of embeddings have no meaning. */
import { createRandom } from '../stats/random.ts';
import { cosineBlocks } from './cosine-kernel.ts';
import { inverseLengths, inverseOf, lengthOf, type Matrix, rowLengths, rowOf, rowProduct } from './matrix.ts';

interface SeededStarts {
  readonly k: number;
  readonly seed: number;
  /** Number of starts; the tightest result is returned. */
  readonly starts?: number;
  readonly iterations?: number;
}

/**
 * Spherical k-means (Dhillon and Modha 2001) from given centroids: `iterations` steps of Lloyd's algorithm by cosine,
 * then a final assignment.
 *
 * @param start row-major centroids of any length, at least one
 */
export function sphericalKMeans(rows: Matrix, start: ArrayLike<number>, iterations: number) {
  const centroids = Float64Array.from(start);
  for (let from = 0; from < centroids.length; from += rows.columns) {
    const centroid = centroids.subarray(from, from + rows.columns);
    const length = lengthOf(centroid);
    if (length > 0) centroid.set(centroid.map((value) => value / length));
  }
  const clustering = lloyd(rows, centroids, iterations);
  let objective = 0;
  for (const cosine of clustering.closeness) objective += cosine;
  return {
    ...clustering,
    /** Sum of the cosines of all rows to their centroids; a larger sum means tighter clusters. */
    objective,
  };
}

/**
 * Spherical k-means from centroids chosen by k-means++ (Arthur and Vassilvitskii 2007, with 1 - cosine in place of the
 * squared distance). The same rows and settings return the same clusters. If there are fewer distinct rows than `k`,
 * some clusters stay empty.
 */
export function seededSphericalKMeans(rows: Matrix, { k, seed, starts = 2, iterations = 20 }: SeededStarts) {
  const unit = uniformsOf(seed);
  let best = sphericalKMeans(rows, plusPlusStart(rows, k, unit), iterations);
  for (let start = 1; start < starts; start++) {
    const next = sphericalKMeans(rows, plusPlusStart(rows, k, unit), iterations);
    if (next.objective > best.objective) best = next;
  }
  return best;
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
      const cosine = rowProduct(rows.data, row, centroid, 0, columns) * (scales[row] ?? 0);
      farness[row] = Math.min(far, Math.max(0, 1 - cosine));
    }
  }
  return centroids;
}

/** Returns an index with probability proportional to its weight; any index if all weights are 0. */
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

export interface Clustering {
  /** Number of centroids, including those without members. */
  readonly k: number;
  /** Row-major, `k` rows. */
  readonly centroids: Float64Array;
  /** Index of the nearest centroid of each row. */
  readonly labels: Int32Array;
  /** Cosine of each row to its centroid. */
  readonly closeness: Float64Array;
}

const BLOCK = 64;

/**
 * Lloyd's algorithm on directions (each row is treated as if it had length 1). Each of the `iterations` assigns each
 * row to its nearest centroid (if there is a tie, to the one with the lowest index), then moves each centroid to the
 * direction of the mean of its rows (a centroid without rows does not move). Finally, assigns each row once more. Stops
 * early if no assignment changes, because further iterations would not change the result. A row that is zero or not
 * finite moves no centroid and has the label 0.
 *
 * @param start row-major centroids of length 1
 */
export function lloyd(rows: Matrix, start: Float64Array, iterations: number): Clustering {
  const lengths = rowLengths(rows);
  const scales = inverseOf(lengths);
  const centroids = Float64Array.from(start);
  let nearest = assign(rows, lengths, centroids);
  for (let step = 0; step < iterations; step++) {
    moveCentroids(rows, scales, centroids, nearest.labels);
    const next = assign(rows, lengths, centroids);
    const moved = next.labels.some((label, row) => label !== nearest.labels[row]);
    nearest = next;
    if (!moved) break;
  }
  return { k: rows.columns === 0 ? 0 : centroids.length / rows.columns, centroids, ...nearest };
}

/**
 * Assigns each row to the unit centroid with the largest cosine; if there is a tie, to the lowest index. The label of a
 * row without a direction (zero or not finite) is 0.
 *
 * @param lengths row lengths, if they are known
 */
export function nearestDirections(rows: Matrix, centroids: Float64Array, lengths = rowLengths(rows)): Int32Array {
  return assign(rows, lengths, centroids).labels;
}

/**
 * Assigns rows to their nearest centroids. First compares each row with all centroids in 16-bit integers, and then, in
 * float64, with the centroids that may still be nearest. The result is the same as with float64 alone.
 */
function assign(rows: Matrix, lengths: Float64Array, centroids: Float64Array) {
  const { columns, data } = rows;
  const k = columns === 0 ? 0 : centroids.length / columns;
  const sizes = Float64Array.from({ length: k }, (_, j) =>
    lengthOf(centroids.subarray(j * columns, (j + 1) * columns)),
  );
  const labels = new Int32Array(rows.rows);
  const closeness = new Float64Array(rows.rows);
  const scales = inverseOf(lengths);
  const blocks = cosineBlocks(columns, k, BLOCK);
  blocks.setLeft({ columns, data: Float32Array.from(centroids) }, 0, k, inverseOf(sizes));
  for (let from = 0; from < rows.rows; from += BLOCK) {
    const to = Math.min(from + BLOCK, rows.rows);
    blocks.setRight(rows, from, to, scales);
    const cosines = blocks.cosines();
    const tolerance = blocks.tolerance();
    for (let row = from; row < to; row++) {
      const length = lengths[row] as number;
      if (!(length < Number.POSITIVE_INFINITY) || length === 0) continue;
      const first = (row - from) * blocks.stride;
      let atLeast = Number.NEGATIVE_INFINITY;
      for (let j = 0; j < k; j++) {
        atLeast = Math.max(atLeast, (sizes[j] as number) * ((cosines[first + j] as number) - tolerance));
      }
      let label = 0;
      let best = Number.NEGATIVE_INFINITY;
      for (let j = 0; j < k; j++) {
        if ((sizes[j] as number) * ((cosines[first + j] as number) + tolerance) < atLeast) continue;
        const exact = rowProduct(data, row, centroids, j, columns);
        if (!(exact > best)) continue;
        best = exact;
        label = j;
      }
      labels[row] = label;
      closeness[row] = best * (scales[row] as number);
    }
  }
  return { labels, closeness };
}

function moveCentroids(rows: Matrix, scales: Float64Array, centroids: Float64Array, labels: Int32Array): void {
  const { columns, data } = rows;
  const sums = new Float64Array(centroids.length);
  const counts = new Uint32Array(columns === 0 ? 0 : centroids.length / columns);
  for (let row = 0; row < rows.rows; row++) {
    const label = labels[row] ?? 0;
    const scale = scales[row] ?? 0;
    if (scale === 0) continue;
    counts[label] = (counts[label] ?? 0) + 1;
    const source = row * columns;
    const target = label * columns;
    for (let c = 0; c < columns; c++) {
      sums[target + c] = (sums[target + c] as number) + (data[source + c] as number) * scale;
    }
  }
  for (const [j, count] of counts.entries()) {
    const sum = sums.subarray(j * columns, (j + 1) * columns);
    const divisor = lengthOf(sum);
    if (count === 0 || divisor === 0) continue;
    for (let c = 0; c < columns; c++) centroids[j * columns + c] = (sum[c] ?? 0) / divisor;
  }
}

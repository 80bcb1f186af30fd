import { cosineBlocks } from '../vector/cosine-kernel.ts';
import { rowProduct } from '../vector/dot-products.ts';
import { inverseOf, lengthOf, type Matrix, rowLengths } from '../vector/matrix.ts';

/** Where distances are measured: between directions (rows count as scaled to length 1), or between points. */
export type Geometry = 'sphere' | 'euclidean';

export interface Clustering {
  /** Number of centroids, among them those without members. */
  readonly k: number;
  /** Row-major, `k` rows. */
  readonly centroids: Float64Array;
  /** Nearest centroid of each row. */
  readonly labels: Int32Array;
  /** How near each row is to its centroid: the cosine on the sphere, x . c - |c|^2 / 2 between points. */
  readonly closeness: Float64Array;
}

const BLOCK = 64;
/** Relative error of a sum of two numbers in float64, with room. */
const ROUNDING = 1e-15;

/**
 * Lloyd's algorithm: `iterations` times assign each row to its nearest centroid (ties to the lowest index) and move
 * each centroid to the mean of its rows (on the sphere: to the mean's direction; one without rows stays), then assign
 * once more. Ends early when no row moves, which changes nothing in the result. On the sphere a row without direction
 * (zero or not finite) moves no centroid and has the label 0.
 *
 * @param start row-major centroids; on the sphere of length 1
 */
export function lloyd(rows: Matrix, start: Float64Array, iterations: number, geometry: Geometry): Clustering {
  const lengths = rowLengths(rows);
  const scales = geometry === 'sphere' ? inverseOf(lengths) : new Float64Array(rows.rows).fill(1);
  const centroids = Float64Array.from(start);
  let nearest = assign(rows, lengths, centroids, geometry);
  for (let step = 0; step < iterations; step++) {
    moveCentroids(rows, scales, centroids, nearest.labels, geometry);
    const next = assign(rows, lengths, centroids, geometry);
    const moved = next.labels.some((label, row) => label !== nearest.labels[row]);
    nearest = next;
    if (!moved) break;
  }
  return { k: rows.columns === 0 ? 0 : centroids.length / rows.columns, centroids, ...nearest };
}

/**
 * Nearest of the given unit centroids for each row, by the largest cosine; ties to the lowest index. A row without
 * direction has the label 0.
 *
 * @param lengths of the rows, where they are known
 */
export function nearestDirections(
  rows: Matrix,
  centroids: Float64Array,
  lengths: Float64Array = rowLengths(rows),
): Int32Array {
  return assign(rows, lengths, centroids, 'sphere').labels;
}

/**
 * Compares in float32 first, and in float64 those centroids that may still be the nearest: the result is that of
 * float64 alone, in a fraction of the time.
 */
function assign(
  rows: Matrix,
  lengths: Float64Array,
  centroids: Float64Array,
  geometry: Geometry,
): Pick<Clustering, 'labels' | 'closeness'> {
  const { columns, data } = rows;
  const k = columns === 0 ? 0 : centroids.length / columns;
  const sizes = Float64Array.from({ length: k }, (_, j) =>
    lengthOf(centroids.subarray(j * columns, (j + 1) * columns)),
  );
  const offsets = sizes.map((size) => (geometry === 'sphere' ? 0 : size ** 2 / 2));
  const labels = new Int32Array(rows.rows);
  const closeness = new Float64Array(rows.rows);
  const scales = inverseOf(lengths);
  const blocks = cosineBlocks(columns, BLOCK, k);
  blocks.setRight({ columns, data: centroids }, 0, k, inverseOf(sizes));
  for (let from = 0; from < rows.rows; from += BLOCK) {
    const to = Math.min(from + BLOCK, rows.rows);
    blocks.setLeft(rows, from, to, scales);
    const cosines = blocks.cosines(0, to - from);
    for (let row = from; row < to; row++) {
      const length = lengths[row] as number;
      if (!(length < Number.POSITIVE_INFINITY) || (length === 0 && geometry === 'sphere')) continue;
      // On the sphere its own length makes no centroid nearer than another.
      const scale = geometry === 'sphere' ? 1 : length;
      const first = (row - from) * blocks.stride;
      let atLeast = Number.NEGATIVE_INFINITY;
      for (let j = 0; j < k; j++) {
        const near = scale * (sizes[j] as number) * ((cosines[first + j] as number) - blocks.tolerance);
        atLeast = Math.max(atLeast, near - (offsets[j] as number) * (1 + ROUNDING));
      }
      let label = 0;
      let best = Number.NEGATIVE_INFINITY;
      for (let j = 0; j < k; j++) {
        const offset = offsets[j] as number;
        const near = scale * (sizes[j] as number) * ((cosines[first + j] as number) + blocks.tolerance);
        if (near - offset * (1 - ROUNDING) < atLeast) continue;
        const exact = rowProduct(data, row, centroids, j, columns) - offset;
        if (!(exact > best)) continue;
        best = exact;
        label = j;
      }
      labels[row] = label;
      closeness[row] = geometry === 'sphere' ? best * (scales[row] as number) : best;
    }
  }
  return { labels, closeness };
}

function moveCentroids(
  rows: Matrix,
  scales: Float64Array,
  centroids: Float64Array,
  labels: Int32Array,
  geometry: Geometry,
): void {
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
    const divisor = geometry === 'sphere' ? lengthOf(sum) : count;
    if (count === 0 || divisor === 0) continue;
    for (let c = 0; c < columns; c++) centroids[j * columns + c] = (sum[c] ?? 0) / divisor;
  }
}

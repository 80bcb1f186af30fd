/** Distances of all pairs of vectors, both within and between two samples, computed once for several statistics. */
import { medianInPlace } from '../../math/stats/descriptive.ts';
import { dotProducts, lengthOf, type Matrix } from '../../math/vector/matrix.ts';

/** Vectors in either precision: float32 as read, float64 after they have been scaled. */
export interface Vectors {
  readonly rows: number;
  readonly columns: number;
  readonly data: Float32Array | Float64Array;
}

/** Offset of the pairs of row i: add j (> i) to get the index of the pair (i, j). */
export function pairOffset(size: number, i: number): number {
  return i * size - (i * (i + 1)) / 2 - i - 1;
}

/**
 * Scales each row to length 1, in float64.
 *
 * @throws RangeError for a row of length zero
 */
export function unitVectors({ rows, columns, data }: Matrix): Vectors {
  const scaled = new Float64Array(data.length);
  for (let row = 0; row < rows; row++) {
    const start = row * columns;
    const length = lengthOf(data.subarray(start, start + columns));
    if (length === 0) throw new RangeError(`Row ${row} is a zero vector; it has no direction.`);
    for (let i = start; i < start + columns; i++) scaled[i] = (data[i] ?? 0) / length;
  }
  return { rows, columns, data: scaled };
}

/**
 * Block sizes: small enough for a block of rows, a block of partner rows and their products to fit into the
 * second-level cache.
 */
const BLOCK = 32;
const PARTNER_BLOCK = 128;

/** If a squared distance is below this share of |a|^2 + |b|^2, its computation from products loses too many digits. */
const CLOSE = 1e-6;

/** A value (distance or kernel) for every pair of rows in the pool of two samples; the rows of x come first. */
export type PairTable = ReturnType<typeof pairDistances>;

/**
 * Squared Euclidean distances of all pairs, as |a|^2 + |b|^2 - 2 a.b. For close rows, sums the squared differences
 * instead, so that equal rows have a distance of exactly 0.
 *
 * Takes (n + m)^2 d / 2 operations and 4 (n + m)^2 bytes: a few seconds and 64 MB for 2,000 + 2,000 rows of 1,536
 * numbers.
 *
 * @throws RangeError if a sample is empty, or if the numbers of columns differ
 */
export function pairDistances(x: Vectors, y: Vectors) {
  if (x.rows === 0 || y.rows === 0 || x.columns !== y.columns) {
    throw new RangeError('Both samples need at least one row, and all rows must have the same length.');
  }
  const size = x.rows + y.rows;
  const columns = x.columns;
  const pooled = new Float64Array(size * columns);
  pooled.set(x.data);
  pooled.set(y.data, x.data.length);
  const squares = Float64Array.from({ length: size }, (_, row) => squareOf(pooled, row, columns));
  const squared: Float64Array = new Float64Array((size * (size - 1)) / 2);
  const products = new Float64Array(BLOCK * PARTNER_BLOCK);
  for (let from = 0; from < size; from += BLOCK) {
    const to = Math.min(from + BLOCK, size);
    const rows = pooled.subarray(from * columns, to * columns);
    for (let first = from; first < size; first += PARTNER_BLOCK) {
      const end = Math.min(first + PARTNER_BLOCK, size);
      const partners = pooled.subarray(first * columns, end * columns);
      dotProducts(rows, to - from, partners, end - first, columns, products);
      for (let i = from; i < to; i++) {
        const offset = pairOffset(size, i);
        for (let j = Math.max(first, i + 1); j < end; j++) {
          const both = (squares[i] ?? 0) + (squares[j] ?? 0);
          const value = both - 2 * (products[(i - from) * (end - first) + j - first] ?? 0);
          squared[offset + j] = value > CLOSE * both ? value : squaredDifference(pooled, i, j, columns);
        }
      }
    }
  }
  /** The value of pair (i, j), i < j, of the n + m pooled rows is at `pairOffset(n + m, i) + j`. */
  const values = squared;
  return { n: x.rows, m: y.rows, values };
}

function squareOf(rows: Float64Array, row: number, columns: number): number {
  let sum = 0;
  for (let k = row * columns; k < (row + 1) * columns; k++) sum += (rows[k] ?? 0) ** 2;
  return sum;
}

function squaredDifference(rows: Float64Array, i: number, j: number, columns: number): number {
  let sum = 0;
  for (let k = 0; k < columns; k++) {
    sum += ((rows[i * columns + k] ?? 0) - (rows[j * columns + k] ?? 0)) ** 2;
  }
  return sum;
}

/** Sums `quantity(value)` separately over the pairs within x, the pairs within y, and the pairs between x and y. */
export function sumOverPairs({ n, m, values }: PairTable, quantity: (value: number) => number) {
  const size = n + m;
  let withinX = 0;
  let withinY = 0;
  let between = 0;
  for (let i = 0; i < size; i++) {
    const offset = pairOffset(size, i);
    for (let j = i + 1; j < size; j++) {
      const value = quantity(values[offset + j] ?? 0);
      if (j < n) withinX += value;
      else if (i < n) between += value;
      else withinY += value;
    }
  }
  return { withinX, withinY, between };
}

/**
 * Median of the squared distances of all pairs; if their number is even, the mean of the two middle values.
 *
 * @throws RangeError if there are no pairs
 */
export function medianSquaredDistance({ values }: PairTable): number {
  return medianInPlace(values.slice());
}

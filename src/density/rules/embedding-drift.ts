/**
 * Differences between the vectors of two sets of queries. These differences are descriptive only: a change in topics is
 * not necessarily a loss of coverage.
 */
import { createRandom, type RandomSource } from '../../math/stats/random.ts';
import { dotProduct, lengthOf, type Matrix, selectRows } from '../../math/vector/matrix.ts';
import {
  medianSquaredDistance,
  type PairTable,
  pairDistances,
  pairOffset,
  sumOverPairs,
  unitVectors,
  type Vectors,
} from './pair-distances.ts';

/**
 * Squared maximum mean discrepancy (Gretton et al. 2012) for the kernel exp(-gamma |a - b|^2): mean within x + mean
 * within y - 2 mean between. Self-pairs are excluded, so that the result is 0 on average if there is no drift; the
 * result may be negative.
 *
 * @param gamma > 0; infinity stands for the kernel that is 1 for equal rows and 0 for different rows
 * @throws RangeError if a sample has fewer than two rows
 */
export function maximumMeanDiscrepancy(distances: PairTable, gamma: number): number {
  const { n, m } = distances;
  requirePairs(n, m);
  const sums = sumOverPairs(distances, (squared) => gaussian(squared, gamma));
  return (2 * sums.withinX) / (n * (n - 1)) + (2 * sums.withinY) / (m * (m - 1)) - (2 * sums.between) / (n * m);
}

/**
 * Ratio of the second kernel's gamma to the first kernel's gamma. The second, narrower kernel detects changes in a few
 * rows, which the first kernel, with the median bandwidth, smooths away.
 */
const NARROW = 6;

/**
 * Permutation test of the unbiased squared discrepancy with two bandwidths: the mean of the kernels with gamma and 6
 * gamma. Evaluates (n + m)^2 / 2 kernels. Each permutation takes min(n, m)^2 / 2 operations.
 *
 * @param assignments for each permutation, the indices of the n pooled rows that act as x, in any order; in the pool,
 *   the rows of x come first
 * @throws RangeError if a sample has fewer than two rows
 */
export function twoBandwidthTest(distances: PairTable, gamma: number, assignments: Iterable<Uint32Array>) {
  const { n, m, values } = distances;
  requirePairs(n, m);
  const mix = (squared: number): number => (gaussian(squared, gamma) + gaussian(squared, NARROW * gamma)) / 2;
  const kernel: PairTable = { n, m, values: values.map(mix) };
  const { totals, total } = marginalsOf(kernel);
  const statistic = (playX: Uint32Array): number => {
    // Adds up only the pairs within the smaller sample; the other sums follow from the totals.
    const rows = n <= m ? playX.toSorted() : othersThan(playX, n + m);
    const within = sumWithin(kernel, rows);
    const touching = rows.reduce((sum, row) => sum + (totals[row] ?? 0), 0);
    const withinOthers = total - touching + within;
    const [withinX, withinY] = n <= m ? [within, withinOthers] : [withinOthers, within];
    const between = touching - 2 * within;
    return (2 * withinX) / (n * (n - 1)) + (2 * withinY) / (m * (m - 1)) - (2 * between) / (n * m);
  };
  const observed = statistic(Uint32Array.from({ length: n }, (_, row) => row));
  const permuted = Float64Array.from(assignments, statistic);
  // Because of rounding, equal sums may differ in the last digits if their terms are added in a different order.
  const least = observed - 1e-12;
  const reached = permuted.reduce((count, value) => count + (value >= least ? 1 : 0), 0);
  return {
    /** Unbiased squared discrepancy between the two samples. */
    observed,
    permuted,
    /** (1 + #{permuted >= observed}) / (permutations + 1): a valid p-value, never 0. */
    p: (1 + reached) / (permuted.length + 1),
  };
}

/**
 * For each permutation, selects n of the n + m pooled rows uniformly at random to act as x. The same seed always
 * produces the same selections.
 */
export function* drawAssignments(n: number, m: number, permutations: number, seed: number): Generator<Uint32Array> {
  const fillRandom = createRandom(seed);
  for (let b = 0; b < permutations; b++) yield drawRows(n, n + m, fillRandom);
}

/**
 * Selects `count` of `size` rows without replacement, in no particular order, by a partial Fisher-Yates shuffle.
 *
 * @param count at most `size`
 */
export function drawRows(count: number, size: number, fillRandom: RandomSource): Uint32Array {
  const rows = Uint32Array.from({ length: size }, (_, row) => row);
  const draws = new Uint32Array(count);
  fillRandom(draws);
  for (let i = 0; i < count; i++) {
    const chosen = i + Math.floor(((draws[i] ?? 0) / 2 ** 32) * (size - i));
    const kept = rows[i] ?? 0;
    rows[i] = rows[chosen] ?? 0;
    rows[chosen] = kept;
  }
  return rows.slice(0, count);
}

function gaussian(squaredDistance: number, gamma: number): number {
  return squaredDistance === 0 ? 1 : Math.exp(-gamma * squaredDistance);
}

function requirePairs(n: number, m: number): void {
  if (n < 2 || m < 2) throw new RangeError('The discrepancy needs at least two rows in each sample.');
}

/** Row numbers below `size` that are not in the list, ascending. */
function othersThan(rows: Uint32Array, size: number): Uint32Array {
  const isGiven = new Uint8Array(size);
  for (const row of rows) isGiven[row] = 1;
  return Uint32Array.from({ length: size }, (_, row) => row).filter((row) => isGiven[row] === 0);
}

/** Sums the values of all pairs and, for each pooled row, the values of the pairs that contain it. */
function marginalsOf({ n, m, values }: PairTable): { totals: Float64Array; total: number } {
  const size = n + m;
  const totals = new Float64Array(size);
  let total = 0;
  for (let i = 0; i < size; i++) {
    const offset = pairOffset(size, i);
    let own = 0;
    for (let j = i + 1; j < size; j++) {
      const value = values[offset + j] ?? 0;
      own += value;
      totals[j] = (totals[j] ?? 0) + value;
    }
    totals[i] = (totals[i] ?? 0) + own;
    total += own;
  }
  return { totals, total };
}

/** Sum of the values over all pairs of the given rows, which must be in ascending order. */
function sumWithin({ n, m, values }: PairTable, rows: Uint32Array): number {
  let sum = 0;
  for (let a = 0; a < rows.length; a++) {
    const offset = pairOffset(n + m, rows[a] ?? 0);
    for (let b = a + 1; b < rows.length; b++) sum += values[offset + (rows[b] ?? 0)] ?? 0;
  }
  return sum;
}

const MAX_PAIRED_ROWS = 2000;
const PERMUTATIONS = 199;

/**
 * Compares two samples of vectors. The same rows and seed always produce the same result.
 *
 * @param reference at least two nonzero rows
 * @param current at least two nonzero rows
 * @param mostPairedRows maximum number of rows per sample in statistics over all pairs of rows; larger samples are
 *   subsampled
 * @throws RangeError if a sample is too small or has a zero vector, or if the numbers of columns differ
 */
export function compareEmbeddings(
  reference: Matrix,
  current: Matrix,
  seed: number,
  mostPairedRows: number = MAX_PAIRED_ROWS,
) {
  const fillRandom = createRandom(seed);
  const subsample = (rows: Matrix): Matrix =>
    rows.rows <= mostPairedRows ? rows : selectRows(rows, drawRows(mostPairedRows, rows.rows, fillRandom).toSorted());
  const x = subsample(reference);
  const y = subsample(current);
  const distances = pairDistances(unitVectors(x), unitVectors(y));
  // The median heuristic; infinite if most rows are duplicates.
  const gamma = 1 / medianSquaredDistance(distances);
  const assignments = drawAssignments(x.rows, y.rows, PERMUTATIONS, seed + 1);
  return {
    /** Squared maximum mean discrepancy, unbiased, with gamma = 1 / median squared distance of the pooled rows. */
    mmdUnbiased: maximumMeanDiscrepancy(distances, gamma),
    /** p-value of the permutation test with the bandwidths gamma and 6 gamma. */
    mmdP: twoBandwidthTest(distances, gamma, assignments).p,
    /** Energy distance, computed without self-pairs (U form). */
    energyDistance: energyDistance(distances),
    /** Shift of the centroid, computed from all rows. */
    centroid: centroidShift(reference, current),
    /** Number of rows of each sample that the statistics over all pairs use. */
    sampled: { reference: x.rows, current: y.rows },
  };
}

/**
 * Compares the mean directions of two samples, after scaling each row to length 1.
 *
 * @throws RangeError if a sample is empty or has a row of length zero, or if the numbers of columns differ
 */
export function centroidShift(x: Vectors, y: Vectors) {
  if (x.columns !== y.columns) throw new RangeError('The rows of both samples must have the same length.');
  const a = meanDirection(x);
  const b = meanDirection(y);
  const lengthX = Math.sqrt(dotProduct(a, a));
  const lengthY = Math.sqrt(dotProduct(b, b));
  const difference = a.map((value, i) => value - (b[i] ?? 0));
  return {
    /** Euclidean distance between the means, from 0 to 2. */
    distance: Math.sqrt(dotProduct(difference, difference)),
    /** 1 - cosine between the means, from 0 to 2; 1 if a mean is zero. */
    cosineDistance: lengthX === 0 || lengthY === 0 ? 1 : 1 - dotProduct(a, b) / (lengthX * lengthY),
    /** Mean resultant length of x, from 0 (no common direction) to 1 (all rows have the same direction). */
    resultantLengthX: lengthX,
    resultantLengthY: lengthY,
  };
}

function meanDirection({ rows, columns, data }: Vectors): Float64Array {
  if (rows === 0) throw new RangeError('Both samples need at least one row.');
  const sum = new Float64Array(columns);
  for (let row = 0; row < rows; row++) {
    const vector = data.subarray(row * columns, (row + 1) * columns);
    const length = lengthOf(vector);
    if (length === 0) throw new RangeError(`Row ${row} is a zero vector; it has no direction.`);
    for (let k = 0; k < columns; k++) sum[k] = (sum[k] ?? 0) + (vector[k] ?? 0) / length;
  }
  return sum.map((value) => value / rows);
}

/**
 * Energy distance between two samples of vectors (Szekely and Rizzo 2013), 2 E|X - Y| - E|X - X'| - E|Y - Y'|, in units
 * of the vectors. Self-pairs are excluded, so that the result is 0 on average if there is no drift; the result may be
 * negative.
 *
 * @throws RangeError if a sample has fewer than two rows
 */
export function energyDistance(distances: PairTable): number {
  const { n, m } = distances;
  if (n < 2 || m < 2) throw new RangeError('The energy distance needs at least two rows in each sample.');
  const sums = sumOverPairs(distances, Math.sqrt);
  return (2 * sums.between) / (n * m) - (2 * sums.withinX) / (n * (n - 1)) - (2 * sums.withinY) / (m * (m - 1));
}

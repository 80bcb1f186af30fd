/** How far the vectors of two sets of queries differ. It describes; a change of topics alone is no loss of coverage. */
import { createRandom } from '../../stats/random.ts';
import { dotProduct, lengthOf, type Matrix, selectRows } from '../../vector/matrix.ts';
import {
  drawAssignments,
  drawRows,
  maximumMeanDiscrepancy,
  medianHeuristic,
  twoBandwidthTest,
} from './mmd.ts';
import {
  medianSquaredDistance,
  type PairTable,
  pairDistances,
  sumOverPairs,
  unitVectors,
  type Vectors,
} from './pair-distances.ts';

/** Statistics of vectors scaled to length 1. */
export interface EmbeddingDrift {
  /** Squared maximum mean discrepancy, unbiased, with gamma = 1 / median squared distance of the pooled rows. */
  readonly mmdUnbiased: number;
  /** p value of the permutation test with the bandwidths of gamma and 6 gamma. */
  readonly mmdP: number;
  /** In the U form. */
  readonly energyDistance: number;
  /** Of all rows. */
  readonly centroid: CentroidShift;
  /** Rows that the statistics over all pairs were computed on. */
  readonly sampled: { readonly reference: number; readonly current: number };
}

const MAX_PAIRED_ROWS = 2000;
const PERMUTATIONS = 199;

/**
 * Compares two samples of vectors. The same rows and seed give the same result.
 *
 * @param reference at least two rows of any length but zero
 * @param current the same
 * @param mostPairedRows of each sample; of more, that many are drawn for the statistics over all pairs
 * @throws RangeError if a sample is too small or has a zero vector, or the columns differ
 */
export function compareEmbeddings(
  reference: Matrix,
  current: Matrix,
  seed: number,
  mostPairedRows: number = MAX_PAIRED_ROWS,
): EmbeddingDrift {
  const fillRandom = createRandom(seed);
  const subsample = (rows: Matrix): Matrix =>
    rows.rows <= mostPairedRows
      ? rows
      : selectRows(rows, drawRows(mostPairedRows, rows.rows, fillRandom).toSorted());
  const x = subsample(reference);
  const y = subsample(current);
  const distances = pairDistances(unitVectors(x), unitVectors(y));
  const gamma = medianHeuristic(medianSquaredDistance(distances, 'pooled'));
  const assignments = drawAssignments(x.rows, y.rows, PERMUTATIONS, seed + 1);
  return {
    mmdUnbiased: maximumMeanDiscrepancy(distances, gamma).unbiased,
    mmdP: twoBandwidthTest(distances, gamma, assignments).p,
    energyDistance: energyDistance(distances).u,
    centroid: centroidShift(reference, current),
    sampled: { reference: x.rows, current: y.rows },
  };
}

/** How far apart the mean directions of two samples are. */
interface CentroidShift {
  /** Euclidean distance of the means, from 0 to 2. */
  readonly distance: number;
  /** 1 - cosine of the means, from 0 to 2; 1 when a mean is zero and has no direction. */
  readonly cosineDistance: number;
  /** Mean resultant length of x, from 0 (no common direction) to 1 (all rows equal). */
  readonly resultantLengthX: number;
  /** The same of y. */
  readonly resultantLengthY: number;
}

/**
 * Compares the mean directions of two samples: each row is divided by its length first.
 *
 * @throws RangeError if a sample is empty or has a row of length zero, or the columns differ
 */
export function centroidShift(x: Vectors, y: Vectors): CentroidShift {
  if (x.columns !== y.columns) throw new RangeError('Both samples need rows of the same length.');
  const a = meanDirection(x);
  const b = meanDirection(y);
  const lengthX = Math.sqrt(dotProduct(a, a));
  const lengthY = Math.sqrt(dotProduct(b, b));
  const difference = a.map((value, i) => value - (b[i] ?? 0));
  return {
    distance: Math.sqrt(dotProduct(difference, difference)),
    cosineDistance: lengthX === 0 || lengthY === 0 ? 1 : 1 - dotProduct(a, b) / (lengthX * lengthY),
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

// Energy distance, Szekely and Rizzo 2013.

interface EnergyDistance {
  /** Means over all pairs, a row with itself included: never negative. */
  readonly v: number;
  /** Without those: 0 on average without drift, and then as often below it. */
  readonly u: number;
}

/**
 * Energy distance of two samples of vectors, 2 E|X - Y| - E|X - X'| - E|Y - Y'|, in units of the vectors.
 *
 * @throws RangeError if a sample has fewer than two rows
 */
export function energyDistance(distances: PairTable): EnergyDistance {
  const { n, m } = distances;
  if (n < 2 || m < 2) throw new RangeError('The energy distance needs at least two rows in each sample.');
  const sums = sumOverPairs(distances, Math.sqrt);
  const between = (2 * sums.between) / (n * m);
  return {
    v: between - (2 * sums.withinX) / (n * n) - (2 * sums.withinY) / (m * m),
    u: between - (2 * sums.withinX) / (n * (n - 1)) - (2 * sums.withinY) / (m * (m - 1)),
  };
}

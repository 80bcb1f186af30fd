import { lengthOf } from '../../vector/matrix.ts';
import { dotProduct } from '../../vector/similarity.ts';
import type { Vectors } from './pair-distances.ts';

/** How far apart the mean directions of two samples are. */
export interface CentroidShift {
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

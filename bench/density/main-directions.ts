/** Computes the principal directions of vectors, which serve to reduce vectors to a few dimensions. */
import { dotProduct, lengthOf, type Matrix } from '../../src/math/vector/matrix.ts';
import { randomNumbers } from '../random-numbers.ts';

/** Number of iterations; further iterations change the directions by less than the precision of a byte. */
const ROUNDS = 40;
const SEED = 1;

/**
 * Returns the orthonormal directions in which the rows have the largest norm, by orthogonal iteration on the Gram
 * matrix (Golub and Van Loan, "Matrix Computations", section 8.2). Does not subtract the mean, because cosines must not
 * change.
 */
export function mainDirections({ rows, columns, data }: Matrix, count: number): Float64Array[] {
  const gram = Array.from({ length: columns }, () => new Float64Array(columns));
  for (let row = 0; row < rows; row++) {
    const vector = data.subarray(row * columns, (row + 1) * columns);
    for (const [i, sums] of gram.entries())
      for (let j = 0; j < columns; j++) sums[j] = (sums[j] ?? 0) + (vector[i] ?? 0) * (vector[j] ?? 0);
  }
  const random = randomNumbers(SEED);
  let directions = orthonormal(
    Array.from({ length: count }, () => Float64Array.from({ length: columns }, () => random.normal())),
  );
  for (let round = 0; round < ROUNDS; round++) {
    directions = orthonormal(
      directions.map((direction) => Float64Array.from(gram, (sums) => dotProduct(sums, direction))),
    );
  }
  return directions;
}

/** Orthogonalizes each direction against the previous directions, and scales it to length 1 (Gram-Schmidt). */
function orthonormal(vectors: readonly Float64Array[]): Float64Array[] {
  const done: Float64Array[] = [];
  for (const vector of vectors) {
    const rest = Float64Array.from(vector);
    for (const one of done) {
      const along = dotProduct(rest, one);
      for (let at = 0; at < rest.length; at++) rest[at] = (rest[at] ?? 0) - along * (one[at] ?? 0);
    }
    const length = lengthOf(rest);
    done.push(rest.map((value) => value / length));
  }
  return done;
}

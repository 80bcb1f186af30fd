/** The directions in which vectors are longest, so that they can be cut to few dimensions. */
import { dotProduct, lengthOf, type Matrix } from '../../src/math/vector/matrix.ts';
import { randomNumbers } from '../random-numbers.ts';

/** Rounds until the directions stand; more change no byte that matters. */
const ROUNDS = 40;
const SEED = 1;

/**
 * The orthonormal directions in which the rows are longest, by orthogonal iteration on the Gram matrix (Golub and Van
 * Loan, "Matrix Computations", section 8.2). Not of the differences from the mean: cosines are to stay as they are.
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

/** Gram and Schmidt, each direction against those before it. */
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

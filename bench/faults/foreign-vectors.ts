/**
 * Vectors of another model: rotated copies of the vectors, or vectors of another encoder, truncated or padded to the
 * same dimension.
 */
import { randomNumbers } from '../random-numbers.ts';
import { UnrecordedTextError, unit } from './vectors.ts';

const turns = new Map<number, { readonly places: readonly number[]; readonly signs: readonly number[] }>();
const SEED = 99;

/** A random orthogonal transformation that permutes dimensions and changes signs. */
function turnOf(dimensions: number) {
  const known = turns.get(dimensions);
  if (known !== undefined) return known;
  const random = randomNumbers(SEED);
  const keys = Array.from({ length: dimensions }, (_, at) => ({ at, key: random.uniform() }));
  const turn = {
    places: keys.toSorted((a, b) => a.key - b.key).map(({ at }) => at),
    signs: keys.map(() => (random.uniform() < 0.5 ? -1 : 1)),
  };
  turns.set(dimensions, turn);
  return turn;
}

/** Interpolates between the vector itself (0) and the vector of another model (1). */
export function foreign(vector: Float32Array, strength: number): Float32Array {
  const { places, signs } = turnOf(vector.length);
  return unit(
    vector.map((value, at) => (1 - strength) * value + strength * (signs[at] ?? 1) * (vector[places[at] ?? 0] ?? 0)),
  );
}

/**
 * Returns the vector of another encoder, truncated or padded with zeros. If the other encoder has no vector for the
 * text, returns a rotated copy of `own`.
 */
export function fitted(other: () => Float32Array, own: Float32Array): Float32Array {
  try {
    const vector = other();
    return unit(Array.from(own, (_, at) => vector[at] ?? 0));
  } catch (error) {
    if (!(error instanceof UnrecordedTextError)) throw error;
    return foreign(own, 1);
  }
}

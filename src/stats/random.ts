/** Fills the whole target with pseudo-random integers of 32 bits. */
export type RandomSource = (target: Uint32Array) => void;

/**
 * The generator xoshiro128** of Blackman and Vigna (2018), period 2^128 - 1. The same seed gives the same numbers
 * everywhere, in the same order however they are asked for; it is no source of secrets.
 *
 * @param seed an integer; its low 32 bits count, and near seeds give unrelated numbers
 */
export function createRandom(seed: number): RandomSource {
  const state = Int32Array.of(mix(seed + 1), mix(seed + 2), mix(seed + 3), mix(seed + 4) | 1);
  return (target) => {
    // The state is held in local variables during the loop: half the time of a function call for each number.
    let [a = 0, b = 0, c = 0, d = 0] = state;
    for (let i = 0; i < target.length; i++) {
      const product = Math.imul(b, 5);
      target[i] = Math.imul((product << 7) | (product >>> 25), 9);
      const shifted = b << 9;
      c ^= a;
      d ^= b;
      b ^= c;
      a ^= d;
      c ^= shifted;
      d = (d << 11) | (d >>> 21);
    }
    state.set([a, b, c, d]);
  };
}

/** Spreads the bits of an integer over 32 bits (the finaliser of MurmurHash3 on a Weyl sequence). */
function mix(value: number): number {
  let bits = Math.imul(value, 0x9e3779b9);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}

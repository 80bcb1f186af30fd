/** Fills the whole target array with pseudo-random 32-bit integers. */
export type RandomSource = (target: Uint32Array) => void;

/**
 * The generator xoshiro128** by Blackman and Vigna (2018), period 2^128 - 1. The same seed yields the same numbers on
 * every machine, regardless of how many numbers are requested at a time. Not suitable for secrets.
 *
 * @param seed an integer, of which only the low 32 bits are used; similar seeds yield unrelated numbers
 */
export function createRandom(seed: number): RandomSource {
  const state = Int32Array.of(mix(seed + 1), mix(seed + 2), mix(seed + 3), mix(seed + 4) | 1);
  return (target) => {
    // The loop keeps the state in local variables; calling a function for each number would take twice as long.
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

/** Spreads the bits of an integer over 32 bits (the MurmurHash3 finalizer on a Weyl sequence). */
function mix(value: number): number {
  let bits = Math.imul(value, 0x9e3779b9);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}

/** Returns `count` of the items, each equally likely, in an order that depends on the seed. */
export function drawn<Item>(items: readonly Item[], count: number, seed: number): Item[] {
  const keys = new Uint32Array(items.length);
  createRandom(seed)(keys);
  return items
    .map((item, i) => ({ item, key: keys[i] ?? 0 }))
    .toSorted((a, b) => a.key - b.key)
    .slice(0, count)
    .map(({ item }) => item);
}

/**
 * Returns a uniform sample without replacement from a stream of unknown length, and stores only the sample in memory.
 * Uses Algorithm R in Vitter 1985, and shuffles the result, so any part of the sample is also a uniform sample. The
 * same seed and the same stream always yield the same sample.
 */
export function createReservoir<Item>(size: number, seed: number) {
  const below = createIntegers(seed);
  const kept: Item[] = [];
  let offered = 0;
  return {
    offer(item: Item): void {
      offered += 1;
      if (kept.length < size) {
        kept.push(item);
        return;
      }
      const place = below(offered);
      if (place < size) kept[place] = item;
    },
    /**
     * Returns `size` of the offered items, or all of them if there are fewer, in random order. All subsets are equally
     * likely.
     */
    chosen(): Item[] {
      const items = [...kept];
      // Fisher-Yates shuffle, from the end.
      for (let last = items.length - 1; last > 0; last -= 1) {
        const place = below(last + 1);
        const item = items[last] as Item;
        items[last] = items[place] as Item;
        items[place] = item;
      }
      return items;
    },
  };
}

/**
 * Draws integers from 0 to a limit (exclusive), each from 53 random bits. If the limit is below 10^9, no integer is
 * favored by more than 1e-7.
 */
function createIntegers(seed: number): (limit: number) => number {
  const random = createRandom(seed);
  const bits = new Uint32Array(2);
  return (limit) => {
    random(bits);
    const unit = ((bits[0] ?? 0) * 2 ** 21 + ((bits[1] ?? 0) >>> 11)) / 2 ** 53;
    return Math.floor(unit * limit);
  };
}

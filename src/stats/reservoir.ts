import { createRandom } from './random.ts';

export interface Reservoir<Item> {
  offer(item: Item): void;
  /** min(size, offered) of the items, each set of them equally likely, in random order. */
  chosen(): Item[];
}

/**
 * Draws a uniform sample without replacement from a stream of unknown length in memory for the sample alone:
 * Algorithm R of Vitter 1985, shuffled at the end, so that a part of the sample is a uniform sample too. The same seed
 * and the same stream give the same sample.
 */
export function createReservoir<Item>(size: number, seed: number): Reservoir<Item> {
  const below = createIntegers(seed);
  const kept: Item[] = [];
  let offered = 0;
  return {
    offer(item) {
      offered += 1;
      if (kept.length < size) {
        kept.push(item);
        return;
      }
      const place = below(offered);
      if (place < size) kept[place] = item;
    },
    chosen() {
      const items = [...kept];
      // Fisher and Yates, from the end.
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

/** Integers from 0 up to a limit, from 53 random bits each: below a limit of 10^9 none is favoured by more than 1e-7. */
function createIntegers(seed: number): (limit: number) => number {
  const random = createRandom(seed);
  const bits = new Uint32Array(2);
  return (limit) => {
    random(bits);
    const unit = ((bits[0] ?? 0) * 2 ** 21 + ((bits[1] ?? 0) >>> 11)) / 2 ** 53;
    return Math.floor(unit * limit);
  };
}

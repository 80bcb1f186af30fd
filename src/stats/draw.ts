import { createRandom } from './random.ts';

/** `count` of the items, each equally likely, in an order that the seed decides. */
export function drawn<Item>(items: readonly Item[], count: number, seed: number): Item[] {
  const keys = new Uint32Array(items.length);
  createRandom(seed)(keys);
  return items
    .map((item, i) => ({ item, key: keys[i] ?? 0 }))
    .toSorted((a, b) => a.key - b.key)
    .slice(0, count)
    .map(({ item }) => item);
}

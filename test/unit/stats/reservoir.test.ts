import { array, assert, integer, nat, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createReservoir } from '../../../src/stats/reservoir.ts';
import { unevenness } from '../../support/vector-documents.ts';

function drawn<Item>(items: readonly Item[], size: number, seed: number): Item[] {
  const reservoir = createReservoir<Item>(size, seed);
  for (const item of items) reservoir.offer(item);
  return reservoir.chosen();
}

describe('a reservoir', () => {
  it('keeps as many different items as fit, the same for the same seed', () => {
    assert(
      property(array(nat(), { maxLength: 50 }), integer({ min: 0, max: 20 }), nat(), (values, size, seed) => {
        const items = values.map((value, place) => ({ value, place }));
        const chosen = drawn(items, size, seed);
        expect(chosen).toHaveLength(Math.min(size, items.length));
        expect(new Set(chosen.map(({ place }) => place)).size).toBe(chosen.length);
        expect(drawn(items, size, seed)).toEqual(chosen);
      }),
    );
  });

  it('keeps each item equally often, also in the first place of the sample', () => {
    const items = Array.from({ length: 60 }, (_, place) => place);
    const kept = items.map(() => 0);
    const first = items.map(() => 0);
    for (let seed = 0; seed < 3000; seed += 1) {
      const chosen = drawn(items, 15, seed);
      for (const place of chosen) kept[place] = (kept[place] ?? 0) + 1;
      first[chosen[0] ?? 0] = (first[chosen[0] ?? 0] ?? 0) + 1;
    }
    expect(Math.abs(unevenness([kept], 15 / 60))).toBeLessThan(4.9);
    expect(Math.abs(unevenness([first], 0))).toBeLessThan(4.9);
  });
});

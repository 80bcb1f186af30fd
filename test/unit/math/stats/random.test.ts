import { array, assert, integer, nat, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unevenness } from '../../../../src/connectors/stores/store-tests/subject.ts';
import { createReservoir, drawn } from '../../../../src/math/stats/random.ts';

const items = Array.from({ length: 10 }, (_, i) => i);

describe('randomly drawn items', () => {
  it('are distinct, as many as requested, and the same for the same seed', () => {
    const four = drawn(items, 4, 1);
    expect(new Set(four).size).toBe(4);
    expect(drawn(items, 4, 1)).toEqual(four);
    expect(drawn(items, 20, 1).toSorted((a, b) => a - b)).toEqual(items);
  });

  it('are equally likely', () => {
    const counts = items.map(() => 0);
    for (let seed = 0; seed < 2000; seed++) {
      for (const item of drawn(items, 3, seed)) counts[item] = (counts[item] ?? 0) + 1;
    }
    // Each item is expected 600 times; five standard deviations are 102.
    for (const count of counts) expect(Math.abs(count - 600)).toBeLessThan(103);
  });
});

function sampled<Item>(items: readonly Item[], size: number, seed: number): Item[] {
  const reservoir = createReservoir<Item>(size, seed);
  for (const item of items) reservoir.offer(item);
  return reservoir.chosen();
}

describe('a reservoir', () => {
  it('keeps as many different items as fit, and the same items for the same seed', () => {
    assert(
      property(array(nat(), { maxLength: 50 }), integer({ min: 0, max: 20 }), nat(), (values, size, seed) => {
        const items = values.map((value, place) => ({ value, place }));
        const chosen = sampled(items, size, seed);
        expect(chosen).toHaveLength(Math.min(size, items.length));
        expect(new Set(chosen.map(({ place }) => place)).size).toBe(chosen.length);
        expect(sampled(items, size, seed)).toEqual(chosen);
      }),
    );
  });

  it('keeps each item equally often, and places each item first equally often', () => {
    const items = Array.from({ length: 60 }, (_, place) => place);
    const kept = items.map(() => 0);
    const first = items.map(() => 0);
    for (let seed = 0; seed < 3000; seed += 1) {
      const chosen = sampled(items, 15, seed);
      for (const place of chosen) kept[place] = (kept[place] ?? 0) + 1;
      first[chosen[0] ?? 0] = (first[chosen[0] ?? 0] ?? 0) + 1;
    }
    expect(Math.abs(unevenness([kept], 15 / 60))).toBeLessThan(4.9);
    expect(Math.abs(unevenness([first], 0))).toBeLessThan(4.9);
  });
});

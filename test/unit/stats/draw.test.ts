import { describe, expect, it } from 'vitest';
import { drawn } from '../../../src/stats/draw.ts';

const items = Array.from({ length: 10 }, (_, i) => i);

describe('items that are drawn', () => {
  it('are each there once, as many as were asked for, the same for the same seed', () => {
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
    // 600 each; five standard deviations are 102.
    for (const count of counts) expect(Math.abs(count - 600)).toBeLessThan(103);
  });
});

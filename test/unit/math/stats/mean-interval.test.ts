import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bcaInterval } from '../../../../src/math/stats/descriptive.ts';
import { createRandom } from '../../../../src/math/stats/random.ts';

const SETTINGS = { confidence: 0.95, replicates: 1999, seed: 1 };

describe('bcaInterval', () => {
  it('lies within the range of the values, in order, and shifts with them', () => {
    const values = fc.array(fc.integer({ min: -8, max: 8 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(values, (given) => {
        const { low, high } = bcaInterval(given, SETTINGS);
        expect(low).toBeGreaterThanOrEqual(Math.min(...given));
        expect(low).toBeLessThanOrEqual(high);
        expect(high).toBeLessThanOrEqual(Math.max(...given));
        const shifted = bcaInterval(
          given.map((value) => value + 100),
          SETTINGS,
        );
        expect(shifted.low).toBeCloseTo(low + 100, 9);
        expect(shifted.high).toBeCloseTo(high + 100, 9);
      }),
      { numRuns: 30 },
    );
  });

  it('counts a replicate equal to the mean as one half, so that a symmetric sample has no bias', () => {
    const { bias, acceleration } = bcaInterval([0, 1], SETTINGS);
    expect(Math.abs(bias)).toBeLessThan(0.1);
    expect(acceleration).toBe(0);
  });

  it('is a point for values without spread', () => {
    expect(bcaInterval([0.1, 0.1, 0.1], SETTINGS)).toEqual({ low: 0.1, high: 0.1, bias: 0, acceleration: 0 });
  });

  it('is the same for the same seed in any order of the values, and differs for another seed', () => {
    const values = Array.from({ length: 30 }, (_, i) => Math.sqrt(i));
    expect(bcaInterval(values, SETTINGS)).toEqual(bcaInterval(values.toReversed(), SETTINGS));
    expect(bcaInterval(values, { ...SETTINGS, seed: 2 })).not.toEqual(bcaInterval(values, SETTINGS));
  });
});

function draw(seed: number, ...counts: readonly number[]): number[] {
  const fill = createRandom(seed);
  return counts.flatMap((count) => {
    const target = new Uint32Array(count);
    fill(target);
    return [...target];
  });
}

describe('createRandom', () => {
  it('returns the same numbers however they are requested', () => {
    expect(draw(7, 3, 1, 4)).toEqual(draw(7, 8));
  });

  it('returns different numbers for similar seeds and for seed 0', () => {
    const streams = [0, 1, 2, 3].map((seed) => draw(seed, 100).join());
    expect(new Set(streams).size).toBe(4);
  });

  it('draws every value equally often, in a chi-square test at the level 0.0001', () => {
    const counts = Array.from({ length: 64 }, () => 0);
    for (const number of draw(1, 64_000)) {
      const cell = Math.floor((number * 64) / 2 ** 32);
      counts[cell] = (counts[cell] ?? 0) + 1;
    }
    const chiSquare = counts.reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0);
    expect(chiSquare).toBeLessThan(113.5);
  });
});

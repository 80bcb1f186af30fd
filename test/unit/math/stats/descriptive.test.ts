import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { medianInPlace } from '../../../../src/math/stats/descriptive.ts';

describe('median', () => {
  it('is the middle of the sorted values, or the mean of the middle two', () => {
    const values = fc.array(
      fc.oneof(fc.integer({ min: -5, max: 5 }), fc.double({ noNaN: true, min: -1e6, max: 1e6 })),
      {
        minLength: 1,
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(values, (given) => {
        const sorted = given.toSorted((a, b) => a - b);
        const [lower = 0, upper = 0] = [sorted[(given.length - 1) >>> 1], sorted[given.length >>> 1]];
        expect(medianInPlace(Float64Array.from(given)) + 0).toBe((lower + upper) / 2 + 0);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['equal', () => 1, 1],
    ['ascending', (i: number) => i, 99_999.5],
    ['descending', (i: number) => -i, -99_999.5],
    ['rising and falling', (i: number) => Math.min(i, 199_999 - i), 49_999.5],
  ])('is found in linear time among many %s values', (_what, valueAt, median) => {
    expect(medianInPlace(Float64Array.from({ length: 200_000 }, (_, i) => valueAt(i)))).toBe(median);
  });

  it('of an empty list throws an error', () => {
    expect(() => medianInPlace(new Float64Array(0))).toThrow(RangeError);
  });
});

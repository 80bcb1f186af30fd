import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wassersteinDistance } from '../../../../src/density/rules/two-sample-statistics.ts';
import { aScoreSample, near, referenceCases, type ScoreInput } from './two-sample-reference.ts';

// Those with weights are of no concern here.
const cases = referenceCases<ScoreInput, { readonly W1: number }>('wasserstein_1d').filter(
  ({ input }) => !('wx' in input),
);

describe('Wasserstein-1, as SciPy', () => {
  it.each(cases)('$name', ({ input: { x, y }, expected }) => {
    expect(wassersteinDistance(x, y)).toEqual(near(expected.W1));
  });
});

describe('Wasserstein-1', () => {
  it('is the distance that all scores were shifted by', () => {
    fc.assert(
      fc.property(aScoreSample, fc.integer({ min: -64, max: 64 }), (x, sixteenths) => {
        const shift = sixteenths / 16;
        const moved = x.map((value) => value + shift);
        expect(wassersteinDistance(x, moved)).toBeCloseTo(Math.abs(shift), 12);
      }),
    );
  });

  it('does not change when both samples are shifted, and grows with their scale', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        const distance = wassersteinDistance(x, y);
        const plus = (value: number): number => value + 3;
        const times = (value: number): number => value * -2;
        expect(wassersteinDistance(x.map(plus), y.map(plus))).toBeCloseTo(distance, 12);
        expect(wassersteinDistance(x.map(times), y.map(times))).toBeCloseTo(2 * distance, 12);
      }),
    );
  });

  it('is symmetric, 0 for equal samples, and no detour is shorter', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, aScoreSample, (x, y, z) => {
        const distance = wassersteinDistance(x, y);
        expect(wassersteinDistance(x, x.toReversed())).toBe(0);
        expect(wassersteinDistance(y, x)).toBeCloseTo(distance, 12);
        expect(wassersteinDistance(x, z) + wassersteinDistance(z, y)).toBeGreaterThanOrEqual(
          distance - 1e-12,
        );
      }),
    );
  });

  it('refuses a sample without scores', () => {
    expect(() => wassersteinDistance([1], [])).toThrow(RangeError);
  });
});

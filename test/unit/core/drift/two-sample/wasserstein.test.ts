import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  wassersteinDistance,
  weightedWassersteinDistance,
} from '../../../../../src/core/drift/two-sample/wasserstein.ts';
import { aScoreSample, near, referenceCases, type ScoreInput } from './two-sample-reference.ts';

interface WassersteinInput extends ScoreInput {
  readonly wx?: readonly number[];
  readonly wy?: readonly number[];
}

const cases = referenceCases<WassersteinInput, { readonly W1: number }>('wasserstein_1d');

const ones = (values: readonly number[]): number[] => values.map(() => 1);

describe('Wasserstein-1, as SciPy', () => {
  it.each(cases)('$name', ({ input: { x, y, wx, wy }, expected }) => {
    const weighted = weightedWassersteinDistance(
      { values: x, weights: wx ?? ones(x) },
      { values: y, weights: wy ?? ones(y) },
    );
    expect(weighted).toEqual(near(expected.W1));
    if (wx === undefined) expect(wassersteinDistance(x, y)).toEqual(near(expected.W1));
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

  it('takes a weight of 2 as a second copy', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        const doubledFirst = { values: x, weights: x.map((_, i) => (i === 0 ? 2 : 1)) };
        const [first = 0] = x;
        expect(weightedWassersteinDistance(doubledFirst, { values: y, weights: ones(y) })).toBeCloseTo(
          wassersteinDistance([first, ...x], y),
          12,
        );
      }),
    );
  });

  it('refuses samples without weight', () => {
    const y = { values: [1], weights: [1] };
    for (const weights of [[], [0], [1, 1]]) {
      expect(() => weightedWassersteinDistance({ values: [1], weights }, y)).toThrow(RangeError);
    }
    expect(() => wassersteinDistance([1], [])).toThrow(RangeError);
  });
});

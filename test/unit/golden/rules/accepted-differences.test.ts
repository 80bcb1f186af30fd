import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { acceptedVariance } from '../../../../src/golden/rules/accepted-differences.ts';

describe('what accepted days and generations differ by', () => {
  it('is not known before there are five', () => {
    expect(acceptedVariance([0.01, -0.01, 0, 0.02])).toBeNull();
    expect(acceptedVariance([0.01, -0.01, 0, 0.02, 0])).not.toBeNull();
  });

  it('is the upper bound of their variance about the baseline', () => {
    // 0.554298 is the 1 % quantile of chi-square with five degrees of freedom.
    expect(acceptedVariance([0.01, 0.01, 0.01, 0.01, 0.01])).toBeCloseTo(0.0005 / 0.554298, 8);
    expect(acceptedVariance([0, 0, 0, 0, 0])).toBe(0);
  });

  it('comes closer to what they show with each of them', () => {
    const bounds = [5, 10, 30].map((count) => acceptedVariance(Array.from({ length: count }, () => 0.01)) ?? 0);
    expect(bounds.toSorted((a, b) => b - a)).toEqual(bounds);
    expect(bounds.at(-1)).toBeGreaterThan(0.0001);
  });

  it('is learned from the first thirty, so that an index cannot drift away with it', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { maxLength: 40 }), (later) => {
        const first = Array.from({ length: 30 }, (_, i) => (i % 3) / 100);
        expect(acceptedVariance([...first, ...later])).toBe(acceptedVariance(first));
      }),
    );
  });
});

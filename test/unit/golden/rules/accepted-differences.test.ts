import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { acceptedDropVariance, acceptedVariance } from '../../../../src/golden/rules/run-noise.ts';

describe('the variance between accepted days and generations', () => {
  it('is unknown with fewer than five differences', () => {
    expect(acceptedVariance([0.01, -0.01, 0, 0.02])).toBeNull();
    expect(acceptedVariance([0.01, -0.01, 0, 0.02, 0])).not.toBeNull();
  });

  it('is an upper bound of the variance of the differences from the baseline', () => {
    // 0.554298 is the 1 % quantile of chi-square with five degrees of freedom.
    expect(acceptedVariance([0.01, 0.01, 0.01, 0.01, 0.01])).toBeCloseTo(0.0005 / 0.554298, 8);
    expect(acceptedVariance([0, 0, 0, 0, 0])).toBe(0);
  });

  it('approaches the observed variance with each additional difference', () => {
    const bounds = [5, 10, 30].map((count) => acceptedVariance(Array.from({ length: count }, () => 0.01)) ?? 0);
    expect(bounds.toSorted((a, b) => b - a)).toEqual(bounds);
    expect(bounds.at(-1)).toBeGreaterThan(0.0001);
  });

  it('is estimated from the first 30 differences, so that a drifting index cannot inflate the variance', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { maxLength: 40 }), (later) => {
        const first = Array.from({ length: 30 }, (_, i) => (i % 3) / 100);
        expect(acceptedVariance([...first, ...later])).toBe(acceptedVariance(first));
      }),
    );
  });
});

describe('the variance of accepted drops', () => {
  const rises = [0.002, 0.004, 0.002, 0.004, 0.002];
  const drops = [-0.02, -0.01, -0.02, -0.01, -0.02];

  it('is unknown with fewer than five differences, and not estimated from drops alone with fewer than five drops', () => {
    expect(acceptedDropVariance(drops.slice(1))).toBeNull();
    const fewDrops = [...rises, ...drops.slice(1)];
    expect(acceptedDropVariance(fewDrops)).toBe(acceptedVariance(fewDrops));
  });

  it('is the variance of the drops alone if they are larger than the rises', () => {
    // The variance is the sum of the squared drops, divided by 1.145476 (the 5 % quantile of chi-square with five
    // degrees of freedom).
    expect(acceptedDropVariance([...rises, ...drops])).toBeCloseTo(0.0014 / 1.145476, 8);
    expect(acceptedDropVariance([...rises, ...drops])).toBeGreaterThan(acceptedVariance([...rises, ...drops]) ?? 0);
  });

  it('is never less than that of all differences, whatever their order', () => {
    const difference = fc.double({ min: -1, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.array(difference, { minLength: 5, maxLength: 30 }), (differences) => {
        const found = acceptedDropVariance(differences) ?? 0;
        expect(found).toBeGreaterThanOrEqual(acceptedVariance(differences) ?? 0);
        expect(acceptedDropVariance(differences.toReversed())).toBeCloseTo(found, 10);
      }),
    );
  });
});

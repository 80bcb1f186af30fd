import { array, assert, double, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { logShareEvidence, normalMixtureInterval } from '../../../../src/math/stats/sequential.ts';

/** Returns ln n!. */
const logFactorial = (n: number): number =>
  Array.from({ length: n }, (_, i) => Math.log(i + 1)).reduce((a, b) => a + b, 0);

describe('anytime-valid bounds', () => {
  it('lie where the mixture ratio reaches 1 / alpha', () => {
    const [variance, scale, alpha] = [1e-4, 0.02, 0.01];
    const { low, high } = normalMixtureInterval(0.3, variance, scale, alpha);
    // The density of the estimate under the mixture, divided by its density under the true value.
    const ratio = (distance: number): number =>
      Math.sqrt(variance / (variance + scale ** 2)) *
      Math.exp((distance ** 2 * scale ** 2) / (2 * variance * (variance + scale ** 2)));
    expect(ratio(high - 0.3)).toBeCloseTo(100, 8);
    expect(0.3 - low).toBeCloseTo(high - 0.3, 12);
  });

  it('narrow with a smaller variance, and widen with a smaller alpha', () => {
    const positive = double({ min: 1e-8, max: 1, noNaN: true });
    assert(
      property(positive, positive, double({ min: 1e-3, max: 1, noNaN: true }), (variance, scale, share) => {
        const width = (v: number, alpha: number): number => {
          const { low, high } = normalMixtureInterval(0, v, scale, alpha);
          return high - low;
        };
        expect(width(variance, 0.01)).toBeGreaterThan(0);
        expect(width(variance * share, 0.01)).toBeLessThanOrEqual(width(variance, 0.01) * (1 + 1e-12));
        expect(width(variance, 0.01 * share)).toBeGreaterThanOrEqual(width(variance, 0.01));
      }),
    );
  });
});

describe('the e-value against a split', () => {
  it('has the mean 1 over all possible counts of a number of draws', () => {
    const [shares, n] = [[0.5, 0.3, 0.2], 12];
    let mean = 0;
    for (let a = 0; a <= n; a++) {
      for (let b = 0; a + b <= n; b++) {
        const counts = [a, b, n - a - b];
        const chance = counts.reduce(
          (sum, count, kind) => sum + count * Math.log(shares[kind] ?? 0) - logFactorial(count),
          logFactorial(n),
        );
        mean += Math.exp(chance + logShareEvidence(counts, shares, 10));
      }
    }
    expect(mean).toBeCloseTo(1, 10);
  });

  it('is 1 before the first draw, and does not depend on the order of the kinds', () => {
    assert(
      property(array(integer({ min: 0, max: 5000 }), { minLength: 3, maxLength: 3 }), ([a = 0, b = 0, c = 0]) => {
        const found = logShareEvidence([a, b, c], [0.5, 0.3, 0.2], 1000);
        const turned = logShareEvidence([c, a, b], [0.2, 0.5, 0.3], 1000);
        expect(turned).toBeCloseTo(found, 6);
      }),
    );
    expect(logShareEvidence([0, 0], [0.5, 0.5], 1000)).toBeCloseTo(0, 12);
  });

  it('is high if the counts deviate from the split, and below 1 if the counts match', () => {
    expect(logShareEvidence([5000, 5500], [0.5, 0.5], 1000)).toBeGreaterThan(Math.log(100));
    expect(logShareEvidence([5000, 5000], [0.5, 0.5], 1000)).toBeLessThan(0);
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { weightedCountInterval } from '../../../../../src/live/rules/feedback/clicks-over-expected-clicks.ts';

const Z = 1.959963984540054;

describe('the interval of a weighted count', () => {
  // Exact 95 % Poisson limits (Garwood 1936).
  it.each([
    [1, 0.0253, 5.5716, 0.5],
    [5, 1.6235, 11.6683, 0.02],
    [10, 4.7954, 18.3904, 0.003],
    [20, 12.2165, 30.8884, 0.002],
    [100, 81.3637, 121.627, 0.001],
  ])('of %d events of weight 1 is that of Poisson', (count, low, high, relative) => {
    const interval = weightedCountInterval(count, count, 1, Z);
    expect(Math.abs(interval.low / low - 1)).toBeLessThan(relative);
    expect(Math.abs(interval.high / high - 1)).toBeLessThan(Math.min(relative, 0.01));
  });

  it('of no events reaches from 0 to 3.7 of them', () => {
    const { low, high } = weightedCountInterval(0, 0, 2, Z);
    expect(low).toBe(0);
    expect(Math.abs(high / (2 * 3.6889) - 1)).toBeLessThan(0.01);
  });

  it('grows with the weight of the events as the count does', () => {
    const one = weightedCountInterval(12, 12, 1, Z);
    const ten = weightedCountInterval(120, 1200, 10, Z);
    expect(ten.low).toBeCloseTo(10 * one.low, 9);
    expect(ten.high).toBeCloseTo(10 * one.high, 9);
  });

  it('encloses the count, is finite and never below 0', () => {
    const size = fc.double({ min: 0, max: 1e9, noNaN: true });
    const weight = fc.double({ min: 1, max: 1e6, noNaN: true });
    const quantile = fc.double({ min: 1, max: 700, noNaN: true });
    fc.assert(
      fc.property(size, size, weight, quantile, (count, variance, largest, z) => {
        const { low, high } = weightedCountInterval(count, variance, largest, z);
        expect(low).toBeGreaterThanOrEqual(0);
        expect(low).toBeLessThanOrEqual(count);
        expect(high).toBeGreaterThanOrEqual(count);
        expect(high).toBeLessThan(Number.POSITIVE_INFINITY);
      }),
      { numRuns: 500 },
    );
  });
});

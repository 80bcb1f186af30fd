import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { incompleteBeta, logBeta } from '../../../src/stats/incomplete-beta.ts';
import { normalCdf, normalQuantile } from '../../../src/stats/normal.ts';
import { studentTCdf, studentTInterval, studentTQuantile } from '../../../src/stats/student-t.ts';
import { wilsonInterval } from '../../../src/stats/wilson.ts';

const probability = fc.double({ min: 1e-12, max: 1 - 1e-12, noNaN: true });

describe('normal distribution', () => {
  it('returns from every probability to itself', () => {
    fc.assert(
      fc.property(probability, (p) => {
        expect(Math.abs(normalCdf(normalQuantile(p)) - p)).toBeLessThanOrEqual(
          1e-12 * Math.min(p, 1 - p) + 2e-16,
        );
      }),
    );
  });

  it('is symmetric, and steady where the series gives way to the continued fraction', () => {
    for (const z of [0.1, 1, 2.9999999, 3, 3.0000001, 5])
      expect(normalCdf(z) + normalCdf(-z)).toBeCloseTo(1, 14);
    expect(normalCdf(-3.0000000001) / normalCdf(-2.9999999999)).toBeCloseTo(1, 8);
  });

  it('has its far tail and its infinite ends', () => {
    expect(normalCdf(-37.5) / 4.605353009581955e-308).toBeCloseTo(1, 9);
    expect(normalQuantile(0)).toBe(Number.NEGATIVE_INFINITY);
    expect(normalQuantile(1)).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('t distribution', () => {
  it('returns from every probability to itself, for any degrees of freedom', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-9, max: 0.999, noNaN: true }),
        fc.integer({ min: 1, max: 100_000 }),
        (p, df) => {
          expect(studentTCdf(studentTQuantile(p, df), df) / p).toBeCloseTo(1, 10);
        },
      ),
    );
  });

  it('with one degree of freedom is the Cauchy distribution', () => {
    for (const t of [-1e6, -3, -0.5, 0, 0.5, 3]) {
      expect(studentTCdf(t, 1)).toBeCloseTo(0.5 + Math.atan(t) / Math.PI, 14);
    }
  });

  it('with very many is the normal distribution', () => {
    const z = normalQuantile(0.975);
    // Cornish and Fisher's expansion, whose next term is of the order df^-2.
    expect(studentTQuantile(0.975, 1e6)).toBeCloseTo(z + (z ** 3 + z) / 4e6, 9);
  });

  it('has infinite ends, and the whole line as interval of one value', () => {
    expect(studentTQuantile(0, 5)).toBe(Number.NEGATIVE_INFINITY);
    expect(studentTQuantile(1, 5)).toBe(Number.POSITIVE_INFINITY);
    expect(studentTInterval(0.5, 0, 1, 0.95)).toEqual({
      low: Number.NEGATIVE_INFINITY,
      high: Number.POSITIVE_INFINITY,
    });
  });
});

describe('incompleteBeta', () => {
  it.each([
    ['x for a = b = 1', 0.3, 1, 1, 0.3],
    ['x^a for b = 1', 0.3, 2.5, 1, 0.3 ** 2.5],
    ['1 - (1 - x)^b for a = 1', 0.3, 1, 4, 1 - 0.7 ** 4],
    ['a binomial tail', 0.4, 3, 5, 0.580096],
    ['0 at 0', 0, 2, 3, 0],
    ['1 at 1', 1, 2, 3, 1],
  ])('is %s', (_what, x, a, b, expected) => {
    expect(incompleteBeta(x, 1 - x, a, b)).toBeCloseTo(expected, 13);
  });

  it('is symmetric in its arguments', () => {
    const parameter = fc.double({ min: 0.1, max: 500, noNaN: true });
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), parameter, parameter, (x, a, b) => {
        expect(incompleteBeta(x, 1 - x, a, b) + incompleteBeta(1 - x, x, b, a)).toBeCloseTo(1, 11);
      }),
    );
  });
});

describe('logBeta', () => {
  it.each([
    [1, 1, 0],
    [0.5, 0.5, Math.log(Math.PI)],
    [3, 4, -Math.log(60)],
    [1, 1e9, -Math.log(1e9)],
  ])('of %d and %d', (a, b, expected) => {
    expect(logBeta(a, b)).toBeCloseTo(expected, 12);
  });
});

describe('wilsonInterval', () => {
  it('lies in [0, 1] and encloses the rate', () => {
    fc.assert(
      fc.property(fc.nat(1000), fc.integer({ min: 1, max: 1000 }), (hits, n) => {
        const rate = Math.min(hits, n) / n;
        const { low, high } = wilsonInterval(rate, n, 0.95);
        expect(low).toBeGreaterThanOrEqual(0);
        expect(low).toBeLessThanOrEqual(rate);
        expect(high).toBeGreaterThanOrEqual(rate);
        expect(high).toBeLessThanOrEqual(1);
      }),
    );
  });
});

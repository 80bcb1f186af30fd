import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  binomialUpperTail,
  chiSquareQuantile,
  chiSquareTail,
  hypergeometricUpperTail,
  incompleteBeta,
  logBeta,
  normalCdf,
  normalQuantile,
  studentTCdf,
  studentTQuantile,
} from '../../../../src/math/stats/distributions.ts';
import { studentTInterval, wilsonInterval } from '../../../../src/math/stats/intervals.ts';

const probability = fc.double({ min: 1e-12, max: 1 - 1e-12, noNaN: true });

describe('normal distribution', () => {
  it('has a quantile function that inverts the CDF', () => {
    fc.assert(
      fc.property(probability, (p) => {
        expect(Math.abs(normalCdf(normalQuantile(p)) - p)).toBeLessThanOrEqual(1e-12 * Math.min(p, 1 - p) + 2e-16);
      }),
    );
  });

  it('is symmetric, and continuous where the series is replaced by the continued fraction', () => {
    for (const z of [0.1, 1, 2.9999999, 3, 3.0000001, 5]) expect(normalCdf(z) + normalCdf(-z)).toBeCloseTo(1, 14);
    expect(normalCdf(-3.0000000001) / normalCdf(-2.9999999999)).toBeCloseTo(1, 8);
  });

  it('is correct in the far tail, and has infinite quantiles at 0 and 1', () => {
    expect(normalCdf(-37.5) / 4.605353009581955e-308).toBeCloseTo(1, 9);
    expect(normalQuantile(0)).toBe(Number.NEGATIVE_INFINITY);
    expect(normalQuantile(1)).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('t distribution', () => {
  it('has a quantile function that inverts the CDF for any degrees of freedom', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-9, max: 0.999, noNaN: true }), fc.integer({ min: 1, max: 100_000 }), (p, df) => {
        expect(studentTCdf(studentTQuantile(p, df), df) / p).toBeCloseTo(1, 10);
      }),
    );
  });

  it('with one degree of freedom is the Cauchy distribution', () => {
    for (const t of [-1e6, -3, -0.5, 0, 0.5, 3]) {
      expect(studentTCdf(t, 1)).toBeCloseTo(0.5 + Math.atan(t) / Math.PI, 14);
    }
  });

  it('with very many degrees of freedom is the normal distribution', () => {
    const z = normalQuantile(0.975);
    // The expected value is from the Cornish-Fisher expansion, whose next term is of the order df^-2.
    expect(studentTQuantile(0.975, 1e6)).toBeCloseTo(z + (z ** 3 + z) / 4e6, 9);
  });

  it('has infinite quantiles at 0 and 1, and an unbounded interval for a single value', () => {
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

  it('adds up to 1 with its value for the mirrored arguments', () => {
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
  ])('returns the known value for %d and %d', (a, b, expected) => {
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

/** Reference implementation by repeated convolution, without logarithms. */
function probabilities(n: number, p: number): number[] {
  let row = [1];
  for (let trial = 0; trial < n; trial++) {
    row = Array.from({ length: row.length + 1 }, (_, k) => (row[k] ?? 0) * (1 - p) + (row[k - 1] ?? 0) * p);
  }
  return row;
}

describe('the binomial distribution', () => {
  it('has an upper tail that equals the sum of its probabilities', () => {
    const trials = fc.integer({ min: 0, max: 60 });
    const chance = fc.constantFrom(0.5, 0.1, 0.3, 0.75, 0.987);
    fc.assert(
      fc.property(trials, fc.nat(60), chance, (n, drawn, p) => {
        const k = Math.min(drawn, n);
        const atLeast = probabilities(n, p).slice(k);
        const sum = atLeast.reduce((total, value) => total + value, 0);
        expect(binomialUpperTail(k, n, p)).toBeCloseTo(sum, 12);
      }),
      { numRuns: 500 },
    );
  });

  it('is precise in the far tail', () => {
    expect(binomialUpperTail(1000, 1000, 0.5) / 2 ** -1000).toBeCloseTo(1, 9);
  });
});

describe('the chi-square tail', () => {
  it.each([
    [0.5, 1, 0.47950012218695337],
    [3.84, 1, 0.05004352124870519],
    [20, 1, 7.744216431044088e-6],
    [1, 2, 0.6065306597126334],
    [11.07, 5, 0.050009618622405425],
    [133.6, 31, 1.065697302302912e-14],
    [500, 400, 0.00048221275959343273],
    [1600, 1000, 1.7420398244388335e-30],
    [1000, 1001, 0.5029742172681295],
  ])('equals SciPy for P(X > %d) with df %d', (value, df, p) => {
    expect(Math.abs(chiSquareTail(value, df) / p - 1)).toBeLessThan(1e-11);
  });

  it('is 1 at 0', () => {
    expect(chiSquareTail(0, 1)).toBe(1);
    expect(chiSquareTail(0, 4)).toBe(1);
  });
});

describe('the chi-square quantile', () => {
  it.each([
    [0.05, 1, 0.003932140000019522],
    [0.05, 9, 3.325112843066815],
    [0.5, 4, 3.3566939800333224],
    [0.975, 8, 17.534546139484647],
  ])('of %d with df %d equals SciPy', (p, df, value) => {
    expect(Math.abs(chiSquareQuantile(p, df) / value - 1)).toBeLessThan(1e-9);
  });
});

function choose(n: number, k: number): bigint {
  if (k < 0 || k > n) return 0n;
  let ways = 1n;
  for (let i = 1; i <= k; i++) ways = (ways * BigInt(n - k + i)) / BigInt(i);
  return ways;
}

describe('hypergeometricUpperTail', () => {
  it('equals an exact count in integers', () => {
    const urn = fc.integer({ min: 1, max: 60 }).chain((size) =>
      fc.record({
        size: fc.constant(size),
        marked: fc.nat(size),
        draws: fc.nat(size),
        minimum: fc.nat(size),
      }),
    );
    fc.assert(
      fc.property(urn, ({ minimum, ...urn }) => {
        let ways = 0n;
        for (let k = minimum; k <= urn.draws; k++) {
          ways += choose(urn.marked, k) * choose(urn.size - urn.marked, urn.draws - k);
        }
        const exact = Number(ways) / Number(choose(urn.size, urn.draws));
        expect(Math.abs(hypergeometricUpperTail(minimum, urn) - exact)).toBeLessThan(1e-12);
        if (exact > 0 && exact < 0.5) expect(hypergeometricUpperTail(minimum, urn) / exact).toBeCloseTo(1, 10);
      }),
      { numRuns: 500 },
    );
  });

  it('is 1 at the smallest possible count and 0 above the largest', () => {
    const urn = { size: 10, marked: 8, draws: 5 };
    expect(hypergeometricUpperTail(3, urn)).toBe(1);
    expect(hypergeometricUpperTail(4, urn)).toBeLessThan(1);
    expect(hypergeometricUpperTail(6, urn)).toBe(0);
  });

  it('is precise for a large urn', () => {
    // The probability that 300 draws from 1,000 items draw exactly the 300 marked items is 1 / choose(1000, 300).
    const p = hypergeometricUpperTail(300, { size: 1000, marked: 300, draws: 300 });
    expect(Math.log10(p)).toBeCloseTo(-Math.log10(Number(choose(1000, 300))), 9);
  });
});

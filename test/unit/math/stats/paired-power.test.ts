import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { studentTCdf } from '../../../../src/math/stats/distributions.ts';
import {
  noncentralTUpperTail,
  pairedTPower,
  pairedTSampleSize,
  smallestDetectableDifference,
  type TestPlan,
} from '../../../../src/math/stats/paired-tests.ts';

const USUAL: TestPlan = { alpha: 0.05, sided: 2, power: 0.8 };

describe('noncentralTUpperTail', () => {
  it.each([
    [2, 5, 1, 0.2219253373837851],
    [12.7, 1, 1, 0.067795864002887],
    [2, 19, 3, 0.8356435284187124],
    [-1, 3, 0.5, 0.90787879018564],
    [2.8, 199, 2.8, 0.5013977897456797],
  ])('equals mpmath for P(T > %d) with df %d and noncentrality %d', (t, df, noncentrality, expected) => {
    expect(noncentralTUpperTail(t, df, noncentrality)).toBeCloseTo(expected, 12);
  });

  it('is the t distribution if the noncentrality is 0', () => {
    fc.assert(
      fc.property(fc.double({ min: -30, max: 30, noNaN: true }), fc.integer({ min: 1, max: 100_000 }), (t, df) => {
        expect(noncentralTUpperTail(t, df, 0)).toBeCloseTo(studentTCdf(-t, df), 11);
      }),
    );
  });
});

describe('power of the paired t test', () => {
  it('is the significance level if nothing changed', () => {
    for (const sided of [1, 2] as const) {
      expect(pairedTPower(0, 30, { alpha: 0.01, sided })).toBeCloseTo(0.01, 11);
    }
  });

  it('is reached with the sample size, but not with one query fewer', () => {
    const effect = fc.double({ min: 0.02, max: 3, noNaN: true });
    const plan = fc.record({
      alpha: fc.constantFrom(0.001, 0.01, 0.05),
      sided: fc.constantFrom(1 as const, 2 as const),
      power: fc.constantFrom(0.5, 0.8, 0.95),
    });
    fc.assert(
      fc.property(effect, plan, (size, of) => {
        const n = pairedTSampleSize(size, 1, of);
        expect(pairedTPower(size, n, of)).toBeGreaterThanOrEqual(of.power);
        if (n > 2) expect(pairedTPower(size, n - 1, of)).toBeLessThan(of.power);
      }),
      { numRuns: 40 },
    );
  });

  it('needs two queries if all change by the same amount', () => {
    expect(pairedTSampleSize(0.02, 0, USUAL)).toBe(2);
  });
});

describe('smallestDetectableDifference', () => {
  it.each([
    [100, 0.15, 0.042],
    [500, 0.2, 0.025],
    [1000, 0.07, 0.006],
  ])('with %d queries and a spread of %d is %d', (n, standardDeviation, expected) => {
    expect(smallestDetectableDifference(standardDeviation, n, USUAL)).toBeCloseTo(expected, 3);
  });

  it('is detected with the planned power, even with few queries', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 5000 }), fc.double({ min: 0.01, max: 0.6, noNaN: true }), (n, sd) => {
        const smallest = smallestDetectableDifference(sd, n, USUAL) ?? Number.NaN;
        expect(pairedTPower(smallest / sd, n, USUAL)).toBeCloseTo(0.8, 9);
      }),
      { numRuns: 30 },
    );
  });

  it('is about 2.8 sd / sqrt(n) for many queries', () => {
    expect(smallestDetectableDifference(0.3, 10_000, USUAL)).toBeCloseTo(2.8016 * 0.003, 5);
  });

  it('does not depend on earlier calls', () => {
    const asked = [10, 50, 51].flatMap((n) =>
      [USUAL, { ...USUAL, alpha: 0.01 }, { ...USUAL, sided: 1 as const }, { ...USUAL, power: 0.9 }].flatMap((plan) =>
        [0.1, 0.3].map((sd) => ({ sd, n, plan })),
      ),
    );
    const answers = asked.map(({ sd, n, plan }) => smallestDetectableDifference(sd, n, plan));
    const backwards = asked.toReversed().map(({ sd, n, plan }) => smallestDetectableDifference(sd, n, plan));
    expect(backwards.toReversed()).toEqual(answers);
    expect(new Set(answers).size).toBe(asked.length);
  });

  it('is null for a single query, and 0 without spread', () => {
    expect(smallestDetectableDifference(0.3, 1, USUAL)).toBeNull();
    expect(smallestDetectableDifference(0, 50, USUAL)).toBe(0);
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  binomialLowerTail,
  binomialPmf,
  binomialTwoSidedP,
  binomialUpperTail,
} from '../../../src/stats/binomial.ts';

/** By repeated convolution, without logarithms. */
function probabilities(n: number, p: number): number[] {
  let row = [1];
  for (let trial = 0; trial < n; trial++) {
    row = Array.from({ length: row.length + 1 }, (_, k) => (row[k] ?? 0) * (1 - p) + (row[k - 1] ?? 0) * p);
  }
  return row;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

describe('the binomial distribution', () => {
  it('agrees with the sum of its probabilities, in both tails and two-sided', () => {
    const trials = fc.integer({ min: 0, max: 60 });
    const chance = fc.constantFrom(0.5, 0.1, 0.3, 0.75, 0.987);
    fc.assert(
      fc.property(trials, fc.nat(60), chance, (n, drawn, p) => {
        const k = Math.min(drawn, n);
        const exact = probabilities(n, p);
        const seen = exact[k] ?? 0;
        expect(binomialPmf(k, n, p)).toBeCloseTo(seen, 12);
        expect(binomialLowerTail(k, n, p)).toBeCloseTo(sum(exact.slice(0, k + 1)), 12);
        expect(binomialUpperTail(k, n, p)).toBeCloseTo(sum(exact.slice(k)), 12);
        const asRare = exact.filter((value) => value <= seen * (1 + 1e-7));
        expect(binomialTwoSidedP(k, n, p)).toBeCloseTo(k === n * p ? 1 : sum(asRare), 11);
      }),
      { numRuns: 500 },
    );
  });

  it('has the sign test of 1 of 10: 22 of 1,024 outcomes', () => {
    expect(binomialTwoSidedP(1, 10)).toBeCloseTo(22 / 1024, 14);
    expect(binomialTwoSidedP(9, 10)).toBeCloseTo(22 / 1024, 14);
    expect(binomialTwoSidedP(5, 10)).toBe(1);
  });

  it('finds nothing in no trials', () => {
    expect(binomialTwoSidedP(0, 0)).toBe(1);
  });

  it('keeps the digits of a far tail', () => {
    expect(binomialTwoSidedP(0, 1000) / 2 ** -999).toBeCloseTo(1, 9);
  });

  it('is certain where the probability is 0 or 1', () => {
    expect([
      binomialPmf(0, 5, 0),
      binomialPmf(5, 5, 1),
      binomialPmf(3, 5, 1),
      binomialPmf(6, 5, 0.5),
    ]).toEqual([1, 1, 0, 0]);
  });
});

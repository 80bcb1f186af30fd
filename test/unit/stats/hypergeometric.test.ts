import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hypergeometricUpperTail } from '../../../src/stats/hypergeometric.ts';

function choose(n: number, k: number): bigint {
  if (k < 0 || k > n) return 0n;
  let ways = 1n;
  for (let i = 1; i <= k; i++) ways = (ways * BigInt(n - k + i)) / BigInt(i);
  return ways;
}

describe('hypergeometricUpperTail', () => {
  it('agrees with counting, in whole numbers', () => {
    const urn = fc.integer({ min: 1, max: 60 }).chain((size) =>
      fc.record({
        size: fc.constant(size),
        marked: fc.nat(size),
        draws: fc.nat(size),
        least: fc.nat(size),
      }),
    );
    fc.assert(
      fc.property(urn, ({ least, ...urn }) => {
        let ways = 0n;
        for (let k = least; k <= urn.draws; k++) {
          ways += choose(urn.marked, k) * choose(urn.size - urn.marked, urn.draws - k);
        }
        const exact = Number(ways) / Number(choose(urn.size, urn.draws));
        expect(Math.abs(hypergeometricUpperTail(least, urn) - exact)).toBeLessThan(1e-12);
        if (exact > 0 && exact < 0.5) expect(hypergeometricUpperTail(least, urn) / exact).toBeCloseTo(1, 10);
      }),
      { numRuns: 500 },
    );
  });

  it('is certain at the smallest and impossible above the largest count', () => {
    const urn = { size: 10, marked: 8, draws: 5 };
    expect(hypergeometricUpperTail(3, urn)).toBe(1);
    expect(hypergeometricUpperTail(4, urn)).toBeLessThan(1);
    expect(hypergeometricUpperTail(6, urn)).toBe(0);
  });

  it('keeps the digits of a large urn', () => {
    // All 300 marked of 1,000 drawn in 300 draws: 1 in choose(1000, 300).
    const p = hypergeometricUpperTail(300, { size: 1000, marked: 300, draws: 300 });
    expect(Math.log10(p)).toBeCloseTo(-Math.log10(Number(choose(1000, 300))), 9);
  });
});

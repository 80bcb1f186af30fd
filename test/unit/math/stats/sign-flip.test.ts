import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mcnemarExact, pairedT } from '../../../../src/math/stats/paired-tests.ts';
import { type SignFlip, signFlipTest } from '../../../../src/math/stats/sign-flip.ts';
import { uniforms } from '../../../support/uniforms.ts';

/**
 * Reference implementation that counts all 2^m sign assignments, in integers if the differences are multiples of
 * 1/unit.
 */
function counted(differences: readonly number[], unit: number): Omit<SignFlip, 'method'> {
  const sizes = differences.map((difference) => Math.round(Math.abs(difference) * unit));
  const observed = differences.reduce((sum, difference) => sum + Math.round(difference * unit), 0);
  let ways = new Map([[0, 1n]]);
  for (const size of sizes) {
    const next = new Map<number, bigint>();
    for (const [sum, count] of ways) {
      for (const moved of [sum - size, sum + size]) next.set(moved, (next.get(moved) ?? 0n) + count);
    }
    ways = next;
  }
  const share = (holds: (sum: number) => boolean): number => {
    const count = [...ways].reduce((total, [sum, of]) => (holds(sum) ? total + of : total), 0n);
    return Number((count * 10n ** 20n) / 2n ** BigInt(sizes.length)) / 1e20;
  };
  return {
    p: share((sum) => Math.abs(sum) >= Math.abs(observed)),
    pDrop: share((sum) => sum <= observed),
    pGain: share((sum) => sum >= observed),
  };
}

/** Asserts that the result equals the counted shares, up to rounding. */
function exactly({ p, pDrop, pGain }: Omit<SignFlip, 'method'>) {
  return {
    p: expect.closeTo(p, 12),
    pDrop: expect.closeTo(pDrop, 12),
    pGain: expect.closeTo(pGain, 12),
    method: 'exact',
  };
}

/** Differences of reciprocal ranks, which are multiples of 1/2520. */
function reciprocalRankDifferences(n: number, seed: number): number[] {
  const random = uniforms(seed);
  const rank = (): number => 1 + Math.floor(random() * 10);
  return Array.from({ length: n }, () => 1 / rank() - 1 / rank());
}

describe('signFlipTest with exact counts', () => {
  it('counts all sign assignments of a few differences', () => {
    const differences = fc.array(
      fc.integer({ min: -7, max: 7 }).map((steps) => steps / 7),
      { maxLength: 14 },
    );
    fc.assert(
      fc.property(differences, (given) => {
        expect(signFlipTest(given)).toEqual(exactly(counted(given, 7)));
      }),
    );
  });

  it.each([33, 50])('counts all sign assignments of %d differences of reciprocal ranks', (n) => {
    const given = reciprocalRankDifferences(n, n);
    expect(signFlipTest(given)).toEqual(exactly(counted(given, 2520)));
  });

  it('counts all sign assignments of 16 differences without a common unit', () => {
    const random = uniforms(5);
    const given = Array.from({ length: 16 }, () => Math.round((random() - 0.4) * 1e7) / 1e7);
    expect(signFlipTest(given)).toEqual(exactly(counted(given, 1e7)));
  });

  it("equals McNemar's test for hits and misses, however many", () => {
    fc.assert(
      fc.property(fc.nat(3000), fc.nat(3000), (lost, gained) => {
        const differences = [...new Float64Array(lost).fill(-1), ...new Float64Array(gained).fill(1)];
        const { p, pDrop, method } = signFlipTest(differences);
        const expected = mcnemarExact(lost, gained);
        expect(method).toBe('exact');
        expect(Math.abs(p - expected.p)).toBeLessThanOrEqual(1e-9 * expected.p + 1e-300);
        expect(Math.abs(pDrop - expected.pDrop)).toBeLessThanOrEqual(1e-9 * expected.pDrop + 1e-300);
      }),
      { numRuns: 30 },
    );
  });

  it('treats sums that differ only by rounding as equal', () => {
    // In binary, 0.1 + 0.2 differs from 0.3, but both must count as equally far from 0.
    expect(signFlipTest([0.1, 0.2, -0.3])).toEqual({ p: 1, pDrop: 0.625, pGain: 0.625, method: 'exact' });
  });

  it.each([
    ['no differences at all', []],
    ['only zeros', [0, 0, -0]],
  ])('finds no difference in %s', (_what, differences) => {
    expect(signFlipTest(differences)).toEqual({ p: 1, pDrop: 1, pGain: 1, method: 'exact' });
  });

  it('never detects a drop of a single query', () => {
    expect(signFlipTest([-1])).toMatchObject({ p: 1, pGain: 1, method: 'exact' });
  });

  it('is never 0, however many queries drop', () => {
    for (const n of [5, 2_000, 20_000]) expect(signFlipTest(new Float64Array(n).fill(-0.5)).p).toBeGreaterThan(0);
  });
});

describe('signFlipTest with random draws', () => {
  function noisy(n: number, shift: number): Float64Array {
    const random = uniforms(n);
    return Float64Array.from({ length: n }, () => random() - 0.5 + shift);
  }

  it.each([
    [200, 0],
    [200, -0.04],
    [5_000, -0.01],
    [100_000, 0.002],
  ])('agrees with the t test on %d differences that spread evenly around %d', (n, shift) => {
    const differences = noisy(n, shift);
    const drawn = signFlipTest(differences);
    const expected = pairedT(differences);
    expect(drawn.method).toBe('monte_carlo');
    // The limit is four standard errors of 9,999 samples, plus the difference between the two tests.
    expect(Math.abs(drawn.p - expected.p)).toBeLessThan(0.025);
    expect(Math.abs(drawn.pDrop - expected.pDrop)).toBeLessThan(0.025);
    expect(Math.abs(drawn.pGain - expected.pGain)).toBeLessThan(0.025);
  });

  it('returns the same p each time, for any order of the queries', () => {
    const differences = noisy(300, -0.02);
    expect(signFlipTest(differences.toReversed())).toEqual(signFlipTest(differences));
  });

  it('returns the same p if the runs are swapped', () => {
    const differences = noisy(300, -0.02);
    expect(signFlipTest(differences.map((d) => -d)).p).toBe(signFlipTest(differences).p);
  });

  it('is never 0', () => {
    expect(signFlipTest(noisy(400, -0.5)).p).toBe(1 / 100_000);
  });
});

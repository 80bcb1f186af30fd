/**
 * Checks the significance tests for two runs against reference values from SciPy and exact arithmetic. The README next
 * to the reference file describes where the values come from.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { bcaInterval } from '../../../../src/math/stats/descriptive.ts';
import { newcombePairedInterval } from '../../../../src/math/stats/intervals.ts';
import {
  holm,
  mcnemarExact,
  pairedT,
  pairedTSampleSize,
  type TestPlan,
} from '../../../../src/math/stats/paired-tests.ts';
import { signFlipTest } from '../../../../src/math/stats/sign-flip.ts';

type Pair = readonly [number, number];

interface Reference {
  readonly paired_tests: readonly {
    readonly name: string;
    readonly A: readonly number[];
    readonly B: readonly number[];
    readonly paired_t: {
      readonly n: number;
      readonly mean_diff: number;
      readonly sd_diff: number;
      readonly df: number;
      readonly t?: number;
      readonly p_two_sided?: number;
      readonly p_drop?: number;
      readonly p_gain?: number;
      readonly cohen_dz?: number;
    };
    readonly sign_flip_exact?: {
      readonly p_two_sided: number;
      readonly p_drop: number;
      readonly p_gain: number;
    };
    readonly sign_flip_monte_carlo?: {
      readonly p_two_sided: number;
      readonly p_drop: number;
      readonly tolerance_for_10000: number;
    };
    readonly bootstrap_mean_diff?: { readonly z0_midrank: number };
  }[];
  readonly paired_proportions: readonly {
    readonly both_hit: number;
    readonly only_A: number;
    readonly only_B: number;
    readonly neither: number;
    readonly newcombe_paired_ci95: Pair;
    readonly mcnemar_exact: {
      readonly p_two_sided: number;
      readonly p_drop: number;
    };
  }[];
  readonly multiplicity: {
    readonly p: readonly number[];
    readonly holm: readonly number[];
  };
  readonly sample_size_paired_t: readonly (TestPlan & {
    readonly delta: number;
    readonly sd_diff: number;
    readonly n: number;
  })[];
}

const path = new URL('../../../fixtures/conformance/ir/significance.json', import.meta.url);
const reference: Reference = JSON.parse(readFileSync(path, 'utf8'));

const pairedTests = reference.paired_tests.map((test) => ({
  ...test,
  differences: test.B.map((b, i) => b - (test.A[i] ?? 0)),
}));

/** Returns NaN if a number is missing, because NaN is not below any bound. */
function relativeError(actual: number | null | undefined, expected = Number.NaN): number {
  if (actual === expected) return 0;
  return Math.abs(((actual ?? Number.NaN) - expected) / expected);
}

describe('paired t test', () => {
  const withSpread = pairedTests.filter((test) => test.paired_t.t !== undefined);

  it('has 8 references with spread and 2 without', () => {
    expect(withSpread).toHaveLength(8);
    expect(pairedTests).toHaveLength(10);
  });

  it.each(pairedTests)('$name: mean, spread and degrees of freedom', ({ differences, paired_t }) => {
    const test = pairedT(differences);
    expect(test).toMatchObject({ n: paired_t.n, df: paired_t.df });
    expect(relativeError(test.mean, paired_t.mean_diff)).toBeLessThan(1e-9);
    expect(relativeError(test.standardDeviation, paired_t.sd_diff)).toBeLessThan(1e-9);
  });

  it.each(withSpread)('$name: t, p and effect size', ({ differences, paired_t }) => {
    const test = pairedT(differences);
    expect(relativeError(test.t, paired_t.t)).toBeLessThan(1e-9);
    expect(relativeError(test.p, paired_t.p_two_sided)).toBeLessThan(1e-9);
    expect(relativeError(test.pDrop, paired_t.p_drop)).toBeLessThan(1e-9);
    expect(relativeError(test.pGain, paired_t.p_gain)).toBeLessThan(1e-9);
    expect(relativeError(test.mean / test.standardDeviation, paired_t.cohen_dz)).toBeLessThan(1e-9);
  });
});

describe('sign-flip randomization', () => {
  const exact = pairedTests.filter((test) => test.sign_flip_exact !== undefined);
  const drawn = pairedTests.filter((test) => test.sign_flip_monte_carlo !== undefined);

  it.each(exact)('$name: exact p-values', ({ differences, sign_flip_exact }) => {
    const test = signFlipTest(differences);
    expect(test.method).toBe('exact');
    expect(relativeError(test.p, sign_flip_exact?.p_two_sided)).toBeLessThan(1e-9);
    expect(relativeError(test.pDrop, sign_flip_exact?.p_drop)).toBeLessThan(1e-9);
    expect(relativeError(test.pGain, sign_flip_exact?.p_gain)).toBeLessThan(1e-9);
  });

  it.each(drawn)('$name: p-values within the Monte Carlo tolerance', ({ differences, sign_flip_monte_carlo }) => {
    const test = signFlipTest(differences);
    const { p_two_sided = 0, p_drop = 0, tolerance_for_10000 = 0 } = sign_flip_monte_carlo ?? {};
    expect(Math.abs(test.p - p_two_sided)).toBeLessThanOrEqual(tolerance_for_10000);
    expect(Math.abs(test.pDrop - p_drop)).toBeLessThanOrEqual(tolerance_for_10000);
  });

  it('covers every reference', () => {
    expect(exact.length + drawn.length).toBe(pairedTests.length);
  });
});

describe('bootstrap', () => {
  it.each(pairedTests.filter((test) => test.bootstrap_mean_diff !== undefined))(
    '$name: bias within 4 standard errors of 9,999 replicates',
    ({ differences, bootstrap_mean_diff }) => {
      const { bias } = bcaInterval(differences, { confidence: 0.95, replicates: 9999, seed: 1 });
      expect(Math.abs(bias - (bootstrap_mean_diff?.z0_midrank ?? Number.NaN))).toBeLessThan(0.05);
    },
  );
});

describe('difference of proportions', () => {
  it.each(reference.paired_proportions)('paired: $both_hit, $only_A, $only_B, $neither', (counts) => {
    const { low, high } = newcombePairedInterval(
      {
        both: counts.both_hit,
        onlyBaseline: counts.only_A,
        onlyCandidate: counts.only_B,
        neither: counts.neither,
      },
      0.95,
    );
    // The reference is A - B; recalld returns candidate - baseline.
    expect(relativeError(-high, counts.newcombe_paired_ci95[0])).toBeLessThan(1e-9);
    expect(relativeError(-low, counts.newcombe_paired_ci95[1])).toBeLessThan(1e-9);
  });

  it.each(reference.paired_proportions)('McNemar: $only_A lost, $only_B gained', (counts) => {
    const { p, pDrop } = mcnemarExact(counts.only_A, counts.only_B);
    expect(relativeError(p, counts.mcnemar_exact.p_two_sided)).toBeLessThan(1e-9);
    expect(relativeError(pDrop, counts.mcnemar_exact.p_drop)).toBeLessThan(1e-9);
  });
});

describe('multiple testing', () => {
  it("adjusts p-values by Holm's method", () => {
    const { p, holm: expectedHolm } = reference.multiplicity;
    for (const [i, adjusted] of holm(p).entries()) expect(relativeError(adjusted, expectedHolm[i])).toBeLessThan(1e-9);
  });
});

describe('sample size', () => {
  it.each(reference.sample_size_paired_t)(
    'paired t: difference $delta, sd $sd_diff, alpha $alpha on $sided sides, power $power',
    ({ delta, sd_diff, n, ...plan }) => {
      expect(pairedTSampleSize(delta, sd_diff, plan)).toBe(n);
    },
  );
});

/**
 * Checks results against reference values from SciPy and exact arithmetic; the README next to the reference file states
 * the provenance of the values.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { bcaInterval, moments } from '../../../../src/math/stats/descriptive.ts';
import { normalCdf, normalQuantile, studentTCdf, studentTQuantile } from '../../../../src/math/stats/distributions.ts';
import { studentTInterval, wilsonInterval } from '../../../../src/math/stats/intervals.ts';

interface Reference {
  readonly distributions: {
    readonly normal_cdf: readonly { readonly z: number; readonly p: number }[];
    readonly normal_quantile: readonly { readonly p: number; readonly z: number }[];
    readonly t_two_sided: readonly { readonly t: number; readonly df: number; readonly p: number }[];
    readonly t_quantile_975: readonly { readonly df: number; readonly q: number }[];
  };
  readonly wilson: {
    readonly cases: readonly {
      readonly rate: number;
      readonly n: number;
      readonly ci95: readonly [number, number];
      readonly ci90: readonly [number, number];
    }[];
  };
  readonly paired_tests: readonly {
    readonly name: string;
    readonly A: readonly number[];
    readonly B: readonly number[];
    readonly paired_t: {
      readonly mean_diff: number;
      readonly sd_diff: number;
      readonly ci95?: readonly [number, number];
    };
    readonly bootstrap_mean_diff?: {
      readonly bca_midrank_z0: readonly [number, number];
      readonly acceleration: number;
      readonly tolerance_for_10000_resamples: number;
    };
  }[];
}

const path = new URL('../../../fixtures/conformance/ir/significance.json', import.meta.url);
const reference: Reference = JSON.parse(readFileSync(path, 'utf8'));

const differences = reference.paired_tests.map((test) => ({
  ...test,
  values: test.B.map((b, i) => b - (test.A[i] ?? 0)),
}));

function relativeError(actual: number, expected: number): number {
  return actual === expected ? 0 : Math.abs((actual - expected) / expected);
}

describe('normal distribution', () => {
  it.each(reference.distributions.normal_cdf)('P(Z <= $z)', ({ z, p }) => {
    expect(relativeError(normalCdf(z), p)).toBeLessThan(1e-9);
  });

  it.each(reference.distributions.normal_quantile)('quantile of $p', ({ p, z }) => {
    expect(relativeError(normalQuantile(p), z)).toBeLessThan(1e-9);
  });
});

describe('t distribution', () => {
  it.each(reference.distributions.t_two_sided)('P(|T| >= $t) with df $df', ({ t, df, p }) => {
    expect(relativeError(2 * studentTCdf(-t, df), p)).toBeLessThan(1e-9);
    expect(relativeError(1 - studentTCdf(t, df) + studentTCdf(-t, df), p)).toBeLessThan(1e-9 + 1e-15 / p);
  });

  // The error of SciPy 1.10 at df 49 is 1.3e-9; with 30 digits, the value is 2.009575237129239672...
  it.each(reference.distributions.t_quantile_975)('0.975 quantile with df $df', ({ df, q }) => {
    expect(relativeError(studentTQuantile(0.975, df), q)).toBeLessThan(2e-9);
  });

  it.each([
    [5, 2.5705818356363155],
    [9, 2.262157162798205],
    [49, 2.0095752371292397],
    [1_000_000, 1.959966356814107],
  ])('0.975 quantile with df %d, as in mpmath', (df, q) => {
    expect(relativeError(studentTQuantile(0.975, df), q)).toBeLessThan(1e-10);
  });
});

describe('Wilson interval', () => {
  it.each(reference.wilson.cases)('$rate of $n', ({ rate, n, ci95, ci90 }) => {
    for (const [confidence, [low, high]] of [
      [0.95, ci95],
      [0.9, ci90],
    ] as const) {
      const interval = wilsonInterval(rate, n, confidence);
      expect(relativeError(interval.low, low)).toBeLessThan(1e-9);
      expect(relativeError(interval.high, high)).toBeLessThan(1e-9);
    }
  });
});

describe('mean of paired differences', () => {
  it.each(differences)('$name: mean, standard deviation and t interval', ({ values, paired_t }) => {
    const { mean, standardDeviation } = moments(values);
    expect(relativeError(mean, paired_t.mean_diff)).toBeLessThan(1e-9);
    expect(relativeError(standardDeviation, paired_t.sd_diff)).toBeLessThan(1e-9);
    if (paired_t.ci95 === undefined) return;
    const { low, high } = studentTInterval(mean, standardDeviation, values.length, 0.95);
    expect(low).toBeCloseTo(paired_t.ci95[0], 9);
    expect(high).toBeCloseTo(paired_t.ci95[1], 9);
  });

  it.each(differences.filter((test) => test.bootstrap_mean_diff !== undefined))(
    '$name: BCa interval',
    ({ values, bootstrap_mean_diff }) => {
      const { low, high, acceleration } = bcaInterval(values, {
        confidence: 0.95,
        replicates: 9999,
        seed: 1,
      });
      const [expectedLow = 0, expectedHigh = 0] = bootstrap_mean_diff?.bca_midrank_z0 ?? [];
      const tolerance = bootstrap_mean_diff?.tolerance_for_10000_resamples ?? 0;
      expect(relativeError(acceleration, bootstrap_mean_diff?.acceleration ?? Number.NaN)).toBeLessThan(1e-9);
      expect(Math.abs(low - expectedLow)).toBeLessThanOrEqual(tolerance);
      expect(Math.abs(high - expectedHigh)).toBeLessThanOrEqual(tolerance);
    },
  );
});

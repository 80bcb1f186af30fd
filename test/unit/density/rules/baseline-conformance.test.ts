/** Against reference values of numpy, scipy and scikit-learn; each file names its formula and its tool. */
import { describe, expect, it } from 'vitest';
import { meanXUpper, nullMean, overdispersion } from '../../../../src/density/rules/baseline-spread.ts';
import { differences, driftCases } from '../../../support/drift-conformance.ts';

describe('overdispersion', () => {
  interface Input {
    readonly window_counts: readonly number[];
    readonly window_means: readonly number[];
    readonly pooled_mean: number;
    readonly pooled_var: number;
    readonly density_floor: number;
    readonly z: number;
  }
  interface Expected {
    readonly phi_raw: number;
    readonly phi: number;
    readonly mean_x_upper: number;
    readonly m0: number;
  }

  it.each(driftCases<Input, Expected>('overdispersion'))('$name', ({ input, expected }) => {
    const pooled = { mean: input.pooled_mean, variance: input.pooled_var };
    const windows = input.window_counts.map((sessions, i) => ({
      sessions,
      meanX: input.window_means[i] ?? 0,
    }));
    const { phiRaw, phi } = overdispersion(windows, pooled);
    const sessions = input.window_counts.reduce((sum, count) => sum + count, 0);
    const upper = meanXUpper(pooled, phi, sessions, input.z);
    expect(
      differences(
        [phiRaw, phi, upper, nullMean(upper, input.density_floor)],
        [expected.phi_raw, expected.phi, expected.mean_x_upper, expected.m0],
      ),
    ).toEqual([]);
  });
});

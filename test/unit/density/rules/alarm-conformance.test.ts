/** Against reference values of numpy, scipy and scikit-learn; each file names its formula and its tool. */
import { describe, expect, it } from 'vitest';
import {
  type CombinedSettings,
  newCombinedDetector,
  newDetector,
  stepCombinedDetector,
  stepDetector,
} from '../../../../src/density/rules/e-detector.ts';
import { differences, driftCases } from '../../../support/drift-conformance.ts';

describe('e-detector', () => {
  interface Input {
    readonly windows: readonly (readonly number[])[];
    readonly m0: number;
    readonly lambdas: readonly number[];
    readonly phi: number;
    readonly threshold: number;
    readonly form: 'sr' | 'cusum';
  }
  interface Expected {
    readonly log_increment: readonly (readonly number[])[];
    readonly log_M: readonly (readonly number[])[];
    readonly log_mean_M: readonly number[];
    readonly first_alarm_window: number;
  }

  it.each(driftCases<Input, Expected>('e_detector'))('$name', ({ input, expected }) => {
    const form = input.form === 'sr' ? ('shiryaev_roberts' as const) : ('cusum' as const);
    const settings = { nullMean: input.m0, phi: input.phi, lambdas: input.lambdas, form };
    let state = newDetector(settings);
    const steps = input.windows.map((scores) => {
      const step = stepDetector(settings, state, scores);
      // As after a restart: what is stored is all there is.
      state = JSON.parse(JSON.stringify(step.state));
      return step;
    });
    expect(
      differences(
        steps.flatMap((step) => step.logIncrements),
        expected.log_increment.flat(),
      ),
    ).toEqual([]);
    expect(
      differences(
        steps.flatMap((step) => step.logM),
        expected.log_M.flat(),
      ),
    ).toEqual([]);
    expect(
      differences(
        steps.map((step) => step.logEvidence),
        expected.log_mean_M,
      ),
    ).toEqual([]);
    expect(steps.findIndex((step) => step.logEvidence >= Math.log(input.threshold))).toBe(
      expected.first_alarm_window,
    );
  });
});

describe('combined e-detector', () => {
  interface Input {
    readonly windows: readonly { readonly y: readonly number[]; readonly region: readonly number[] }[];
    readonly regions: number;
    readonly m0: readonly number[];
    readonly phi: readonly number[];
    readonly lambdas: readonly number[];
    readonly threshold: number;
  }
  interface Expected {
    readonly log_mean_M: readonly (readonly number[])[];
    readonly log_combined: readonly number[];
    readonly first_alarm_window: number;
  }

  it.each(driftCases<Input, Expected>('e_detector_combined'))('$name', ({ input, expected }) => {
    const [global, ...regions] = input.m0.map((m0, i) => ({
      nullMean: m0,
      phi: input.phi[i] ?? 1,
      lambdas: input.lambdas,
    }));
    if (global === undefined) throw new Error('The case has no global detector.');
    const settings: CombinedSettings = {
      global,
      regions: regions.map((region, number) => ({ ...region, region: number })),
    };
    let state = newCombinedDetector(settings);
    const steps = input.windows.map(({ y, region }) => {
      const byRegion = new Map(
        Array.from({ length: input.regions }, (_, r) => [r, y.filter((_, i) => region[i] === r)]),
      );
      const step = stepCombinedDetector(settings, state, { all: y, regions: byRegion });
      state = step.state;
      return step;
    });
    expect(
      differences(
        steps.flatMap((step) => [step.logGlobal, ...step.logRegions.map((region) => region.logEvidence)]),
        expected.log_mean_M.flat(),
      ),
    ).toEqual([]);
    expect(
      differences(
        steps.map((step) => step.logEvidence),
        expected.log_combined,
      ),
    ).toEqual([]);
    expect(steps.findIndex((step) => step.logEvidence >= Math.log(input.threshold))).toBe(
      expected.first_alarm_window,
    );
  });
});

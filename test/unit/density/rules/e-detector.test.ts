import { describe, expect, it } from 'vitest';
import {
  type CombinedDetectors,
  newCombinedDetector,
  stepCombinedDetector,
} from '../../../../src/density/rules/e-detector.ts';
import { differences, driftCases } from '../../../support/drift-conformance.ts';

const SETTINGS = { nullMean: 0.24, phi: 1.3 };

describe('the combined detector', () => {
  it('equals the global one if no region is monitored', () => {
    const settings = { global: SETTINGS, regions: [] };
    const step = stepCombinedDetector(settings, newCombinedDetector(settings), {
      all: [0.9, 0.8],
      regions: new Map([[0, [0.9]]]),
    });
    expect(step.logEvidence).toBe(step.logGlobal);
  });

  it('counts a window without queries in a region as an empty window of that region', () => {
    const settings = { global: SETTINGS, regions: [{ ...SETTINGS, region: 3 }] };
    const step = stepCombinedDetector(settings, newCombinedDetector(settings), {
      all: [0.9],
      regions: new Map(),
    });
    expect(step.logRegions).toEqual([{ region: 3, logEvidence: 0 }]);
  });
});

/** Reference values of numpy, scipy and scikit-learn; each file names its formula and its tool. */
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
    const settings: CombinedDetectors = {
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
    expect(steps.findIndex((step) => step.logEvidence >= Math.log(input.threshold))).toBe(expected.first_alarm_window);
  });
});

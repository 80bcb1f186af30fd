import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DetectorSettings, newDetector, stepDetector } from '../../../../src/math/stats/sequential.ts';
import { differences, driftCases } from '../../../support/drift-conformance.ts';

const SETTINGS: DetectorSettings = { nullMean: 0.24, phi: 1.3 };
const scores = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 40 });

describe('the e-detector', () => {
  it('returns the same e-value, to the last digit, for any order of the sessions in a window', () => {
    fc.assert(
      fc.property(fc.array(scores, { minLength: 1, maxLength: 10 }), (windows) => {
        const run = (order: (window: readonly number[]) => number[]) => {
          let state = newDetector(SETTINGS);
          for (const window of windows) state = stepDetector(SETTINGS, state, order(window)).state;
          return state;
        };
        expect(run((window) => window.toReversed())).toEqual(run((window) => [...window]));
      }),
      { numRuns: 100 },
    );
  });

  it('never returns a lower e-value if a session is covered worse', () => {
    fc.assert(
      fc.property(scores, fc.nat(), fc.double({ min: 0, max: 1, noNaN: true }), (window, which, loss) => {
        const worse = window.map((y, i) => (i === which % window.length ? Math.min(1, y + loss) : y));
        const start = newDetector(SETTINGS);
        const before = stepDetector(SETTINGS, start, window).logEvidence;
        expect(stepDetector(SETTINGS, start, worse).logEvidence).toBeGreaterThanOrEqual(before - 1e-12);
      }),
    );
  });

  it('adds 1 to the e-value for each window without sessions', () => {
    let state = newDetector(SETTINGS);
    const evidence = [1, 2, 3].map(() => {
      const step = stepDetector(SETTINGS, state, []);
      state = step.state;
      return Math.exp(step.logEvidence);
    });
    for (const [i, expected] of [1, 2, 3].entries()) expect(evidence[i]).toBeCloseTo(expected, 12);
  });

  it('represents e-values beyond the range of floating-point numbers', () => {
    const worst = Array.from({ length: 10_000 }, () => 1);
    const best = worst.map(() => 0);
    let state = stepDetector(SETTINGS, newDetector(SETTINGS), worst).state;
    state = stepDetector(SETTINGS, state, worst).state;
    expect(state.carried.every((log) => Number.isFinite(log))).toBe(true);
    expect(Math.max(...state.carried)).toBeGreaterThan(10_000);
    for (let i = 0; i < 40; i++) state = stepDetector(SETTINGS, state, best).state;
    expect(state.carried.every((log) => log >= 0 && Number.isFinite(log))).toBe(true);
    expect(stepDetector(SETTINGS, state, best).logEvidence).toBeLessThan(-100);
  });

  it('never bets more than 90 %, so that no session reduces the e-value to 0', () => {
    const bold: DetectorSettings = { nullMean: 0.9, phi: 1, lambdas: [100] };
    const { logIncrements } = stepDetector(bold, newDetector(bold), [0]);
    expect(logIncrements[0]).toBeCloseTo(Math.log(0.1), 12);
  });

  it('rejects settings and scores that would make the e-value meaningless', () => {
    expect(() => newDetector({ nullMean: 1, phi: 1 })).toThrow(RangeError);
    expect(() => newDetector({ nullMean: 0.2, phi: 0.5 })).toThrow(RangeError);
    expect(() => stepDetector(SETTINGS, newDetector(SETTINGS), [0.1, Number.NaN])).toThrow(RangeError);
    expect(() => stepDetector(SETTINGS, newDetector(SETTINGS), [1.5])).toThrow(RangeError);
  });
});

/** Compares results with reference values from numpy, scipy and scikit-learn; each file states its formula and its tool. */
describe('the e-detector against reference values', () => {
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

  const cases = driftCases<Input, Expected>('e_detector').filter(({ input }) => input.form === 'sr');

  it.each(cases)('returns the values of the case $name', ({ input, expected }) => {
    const settings = { nullMean: input.m0, phi: input.phi, lambdas: input.lambdas };
    let state = newDetector(settings);
    const steps = input.windows.map((scores) => {
      const step = stepDetector(settings, state, scores);
      // Simulates a restart, after which only the stored state remains.
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
    expect(steps.findIndex((step) => step.logEvidence >= Math.log(input.threshold))).toBe(expected.first_alarm_window);
  });
});

import { describe, expect, it } from 'vitest';
import type { QueryOutcome } from '../../../../../src/core/model.ts';
import { queryRate } from '../../../../../src/live/rules/feedback/click-rates.ts';
import { calibrationOf } from '../../../../../src/live/rules/sampling/estimate.ts';
import { uniforms } from '../../../../support/uniforms.ts';

describe('calibrationOf', () => {
  it('divides the counted by the estimated number', () => {
    expect(calibrationOf({ ok: { counted: 90, estimated: 100 }, error: { counted: 10, estimated: 10 } })).toEqual({
      ok: 0.9,
      error: 1,
      empty: 1,
      timeout: 1,
    });
  });

  it('keeps the weights of outcomes without counts or samples', () => {
    const none = { counted: 0, estimated: 40 };
    expect(calibrationOf({ ok: none, empty: { counted: 7, estimated: 0 } })).toEqual({
      ok: 1,
      empty: 1,
      error: 1,
      timeout: 1,
    });
  });
});

describe('a share with calibrated weights', () => {
  /** A window of 500 queries with 30 failures; all failures and a tenth of the rest are sampled. */
  function draw(uniform: () => number) {
    const window = Array.from({ length: 500 }, (_, cluster) => {
      const outcome: QueryOutcome = cluster < 30 ? 'error' : 'ok';
      return { cluster, outcome, probability: outcome === 'error' ? 1 : 0.1 };
    });
    return window.filter(({ probability }) => uniform() < probability);
  }

  function shares(draws: number): { plain: number[]; calibrated: number[] } {
    const uniform = uniforms(3);
    const [plain, calibrated]: [number[], number[]] = [[], []];
    for (let i = 0; i < draws; i++) {
      const samples = draw(uniform);
      const estimated = samples.reduce((sum, { outcome }) => sum + (outcome === 'ok' ? 10 : 0), 0);
      const factors = calibrationOf({ ok: { counted: 470, estimated }, error: { counted: 30, estimated: 30 } });
      const known = samples.map((sample) => ({ ...sample, calibration: factors[sample.outcome] }));
      for (const [into, from] of [
        [plain, samples],
        [calibrated, known],
      ] as const) {
        const rate = queryRate(from, ({ outcome }) => outcome === 'error');
        if (rate.kind === 'rate') into.push(rate.value);
      }
    }
    return { plain, calibrated };
  }

  it('equals the counted share in every sample, whereas plain weights are biased and scatter', () => {
    const { plain, calibrated } = shares(2000);
    for (const share of calibrated) expect(share).toBeCloseTo(0.06, 12);
    const mean = plain.reduce((sum, share) => sum + share, 0) / plain.length;
    expect(mean - 0.06).toBeGreaterThan(0.0005);
    expect(Math.max(...plain)).toBeGreaterThan(0.075);
  });
});

import { describe, expect, it } from 'vitest';
import {
  type CoverageVerdict,
  DENSITY_FLOOR,
  judgeCoverage,
  queryDensity,
} from '../../../../src/density/rules/query-density.ts';
import { baselineScores, percentile, surpriseOf } from '../../../../src/density/rules/query-score.ts';
import { uniforms } from '../../../support/uniforms.ts';

/** Judges scores against reference scores; region of each score = its place modulo `regionCount`. */
function judge(
  scores: readonly number[],
  reference: readonly number[],
  { regionCount = 0, sessions = scores.map((_, i) => i), alpha = 0.05 } = {},
): CoverageVerdict {
  const regionsOf = (values: readonly number[]) =>
    values.map((_, i) => (regionCount === 0 ? -1 : i % regionCount));
  const baseline = baselineScores(reference, regionsOf(reference), regionCount);
  const regions = regionsOf(scores);
  const percentiles = Float64Array.from(scores, (score, i) => percentile(score, regions[i] ?? -1, baseline));
  const window = queryDensity(percentiles, percentiles.map(surpriseOf), regions, sessions);
  if (window === null) throw new Error('no scores');
  return judgeCoverage(window, baseline, alpha);
}

const drawn = (count: number, uniform: () => number): number[] =>
  Array.from({ length: count }, () => uniform());

describe('the verdict on coverage', () => {
  it.each([
    ['one list of 100 reference queries', 100, 0],
    ['400 reference queries in 4 regions', 400, 4],
  ])(
    'passes the density 1 at most in alpha of windows without change, with %s',
    (_what, size, regionCount) => {
      const uniform = uniforms(11);
      const windows = 800;
      let below = 0;
      for (let i = 0; i < windows; i++) {
        const { densityUpperLimit } = judge(drawn(150, uniform), drawn(size, uniform), {
          regionCount,
          alpha: 0.1,
        });
        if (densityUpperLimit < 1) below++;
      }
      // 0.1 of the windows and three standard deviations.
      expect(below / windows).toBeLessThan(0.1 + 3 * Math.sqrt(0.09 / windows));
      expect(below / windows).toBeGreaterThan(0.03);
    },
  );

  it('is worse_covered when a fifth of the queries is below all of the reference', () => {
    const uniform = uniforms(3);
    const scores = drawn(400, uniform).map((score, i) => (i % 5 === 0 ? score - 2 : score));
    const { verdict, densityUpperLimit } = judge(scores, drawn(1000, uniform));
    expect(verdict).toBe('worse_covered');
    expect(densityUpperLimit).toBeLessThan(DENSITY_FLOOR);
  });

  it('is not_worse for a window as the reference, and for a better one', () => {
    const uniform = uniforms(5);
    const reference = drawn(1000, uniform);
    expect(judge(reference, reference).verdict).toBe('not_worse');
    expect(
      judge(
        reference.map((score) => score + 1),
        reference,
      ).verdict,
    ).toBe('not_worse');
  });

  it('does not call a tiny change worse, however many queries show it', () => {
    const uniform = uniforms(7);
    const scores = drawn(50_000, uniform).map((score, i) => (i % 100 === 0 ? score - 2 : score));
    const { verdict, densityUpperLimit } = judge(scores, drawn(50_000, uniform));
    expect(densityUpperLimit).toBeLessThan(1);
    expect(verdict).toBe('not_worse');
  });

  it('is less sure of many queries of few sessions, and of a small alpha', () => {
    const uniform = uniforms(9);
    const reference = drawn(500, uniform);
    const scores = drawn(300, uniform).map((score) => score / 2);
    const plain = judge(scores, reference).densityUpperLimit;
    const sessions = scores.map((_, i) => i % 10);
    expect(judge(scores, reference, { sessions }).densityUpperLimit).toBeGreaterThan(plain);
    expect(judge(scores, reference, { alpha: 0.001 }).densityUpperLimit).toBeGreaterThan(plain);
    expect(judge(scores, reference, { alpha: 0.5 }).densityUpperLimit).toBeLessThan(plain);
  });

  it('takes the whole reference for regions with fewer than 50 queries', () => {
    const uniform = uniforms(13);
    const reference = drawn(98, uniform);
    const scores = drawn(60, uniform);
    expect(judge(scores, reference, { regionCount: 2 })).toEqual(judge(scores, reference));
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mannWhitney } from '../../../../src/density/rules/two-sample-statistics.ts';
import { aScoreSample, near, referenceCases, type ScoreInput } from './two-sample-reference.ts';

const cases = referenceCases<ScoreInput, Readonly<Record<string, number>>>('mann_whitney');

describe('Mann-Whitney, as SciPy', () => {
  it.each(cases)('$name', ({ input, expected }) => {
    const { 'p_exact_two-sided': _, ...asymptotic } = expected;
    const result = mannWhitney(input.x, input.y);
    expect({
      U1: result.u,
      A: result.a,
      cliffs_delta: result.cliffsDelta,
      'p_asymptotic_two-sided': result.pTwoSided,
      p_asymptotic_less: result.pLess,
      p_asymptotic_greater: result.pGreater,
    }).toMatchObject(Object(near(asymptotic)));
  });
});

describe('Mann-Whitney', () => {
  it('counts the pairs, ties half', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        const u = x.reduce(
          (sum, a) => sum + y.reduce((wins, b) => wins + (a > b ? 1 : a === b ? 0.5 : 0), 0),
          0,
        );
        expect(mannWhitney(x, y).u).toBe(u);
      }),
    );
  });

  it('is turned around by exchanging the samples', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        const forth = mannWhitney(x, y);
        const back = mannWhitney(y, x);
        expect(back.a).toBeCloseTo(1 - forth.a, 12);
        expect(back.pTwoSided).toBeCloseTo(forth.pTwoSided, 12);
        expect(back.pLess).toBeCloseTo(forth.pGreater, 12);
      }),
    );
  });

  it('sees only the order of the scores', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        expect(mannWhitney(x.map(Math.exp), y.map(Math.exp))).toEqual(mannWhitney(x, y));
      }),
    );
  });

  it('is 0.5 and certain of nothing for a sample against itself, and for scores that are all equal', () => {
    fc.assert(
      fc.property(aScoreSample, (x) => {
        expect(mannWhitney(x, x)).toMatchObject({ a: 0.5, cliffsDelta: 0, pTwoSided: 1 });
      }),
    );
    expect(mannWhitney([0.5, 0.5], [0.5])).toMatchObject({ a: 0.5, pTwoSided: 1 });
  });

  it('keeps A when every score is doubled', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        expect(mannWhitney([...x, ...x], [...y, ...y]).a).toBeCloseTo(mannWhitney(x, y).a, 12);
      }),
    );
  });

  it('refuses an empty sample', () => {
    expect(() => mannWhitney([], [1])).toThrow('Both samples need at least one value.');
  });
});

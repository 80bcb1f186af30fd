import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type RatioTerm,
  type SessionRatio,
  sessionRatio,
} from '../../../../../src/live/rules/feedback/click-rates.ts';
import { uniforms } from '../../../../support/uniforms.ts';

function ratioOf(terms: readonly RatioTerm[]): SessionRatio {
  const ratio = sessionRatio(terms);
  if (ratio.kind !== 'ratio') throw new Error('There were too few sessions.');
  return ratio;
}

/** Sessions of 1 to 5 queries that are alike within a session. */
function sessions(count: number, seed: number): RatioTerm[] {
  const uniform = uniforms(seed);
  return Array.from({ length: count }, (_, cluster) => cluster).flatMap((cluster) => {
    const mood = uniform();
    const probability = uniform() < 0.3 ? 1 : 0.25;
    return Array.from({ length: 1 + Math.floor(uniform() * 5) }, () => {
      const denominator = 0.2 + uniform();
      return { cluster, probability, numerator: mood * denominator + uniform(), denominator };
    });
  });
}

describe('a ratio over sessions', () => {
  it('is worked out by hand for two sessions', () => {
    // Sums 2 + 2/0.5 = 6 and 4 + 4/0.5 = 12, so 1/2. Residuals of s1: 1 - 0.5 * 3 + 1 - 0.5 = 0; of s2: (2 - 2)/0.5.
    const even = [
      { cluster: 's1', probability: 1, numerator: 1, denominator: 3 },
      { cluster: 's1', probability: 1, numerator: 1, denominator: 1 },
      { cluster: 's2', probability: 0.5, numerator: 2, denominator: 4 },
    ];
    expect(ratioOf(even)).toMatchObject({
      value: 0.5,
      numerator: 6,
      denominator: 12,
      variance: 0,
      n: 3,
      sessions: 2,
    });
    // Ratio 2/4; residuals 1 - 0.5 and 1 - 1.5, so 2/(2 - 1) (0.25 + 0.25) / 4^2.
    const uneven = [
      { cluster: 's1', probability: 1, numerator: 1, denominator: 1 },
      { cluster: 's2', probability: 1, numerator: 1, denominator: 3 },
    ];
    expect(ratioOf(uneven)).toMatchObject({ value: 0.5, variance: 1 / 16, effectiveSessions: 2 });
  });

  it('has the variance that leaving out one session at a time gives', () => {
    const terms = sessions(300, 1);
    const names = [...new Set(terms.map(({ cluster }) => cluster))];
    const values = names.map((name) => ratioOf(terms.filter(({ cluster }) => cluster !== name)).value);
    const centre = values.reduce((sum, value) => sum + value, 0) / names.length;
    const squares = values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
    const jackknife = ((names.length - 1) / names.length) * squares;
    expect(ratioOf(terms).variance / jackknife).toBeCloseTo(1, 1);
  });

  it('is the same when all probabilities are halved', () => {
    const terms = sessions(20, 2);
    const halved = terms.map((term) => ({ ...term, probability: term.probability / 2 }));
    expect(ratioOf(halved).value).toBeCloseTo(ratioOf(terms).value, 12);
    expect(ratioOf(halved).variance).toBeCloseTo(ratioOf(terms).variance, 12);
  });

  it('does not change with queries for which nothing was shown', () => {
    const terms = sessions(20, 3);
    const empty = { cluster: 'empty', probability: 1, numerator: 0, denominator: 0 };
    expect(ratioOf([...terms, empty])).toEqual(ratioOf(terms));
  });

  it('of fewer than two sessions is insufficient data and never NaN', () => {
    const one = { cluster: 's1', probability: 1, numerator: 1, denominator: 1 };
    const outcome = { kind: 'insufficient_data', of: 'sessions', need: 2 };
    expect(sessionRatio([])).toEqual({ ...outcome, have: 0 });
    expect(sessionRatio([one, one])).toEqual({ ...outcome, have: 1 });
  });

  it('refuses a probability that is none, and one so small that weights overflow', () => {
    fc.assert(
      fc.property(fc.constantFrom(0, -0.1, 1.1, Number.NaN, 1e-160, 1e-320), (probability) => {
        const terms = ['s1', 's2'].map((cluster) => ({ cluster, probability, numerator: 1, denominator: 2 }));
        expect(() => sessionRatio(terms)).toThrow(RangeError);
      }),
    );
  });
});

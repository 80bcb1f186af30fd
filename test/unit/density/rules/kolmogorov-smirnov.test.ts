import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kolmogorovSmirnov, kolmogorovTail } from '../../../../src/density/rules/two-sample-statistics.ts';
import { aScoreSample, near, referenceCases, type ScoreInput } from './two-sample-reference.ts';

const cases = referenceCases<ScoreInput, Readonly<Record<string, number>>>('ks_2samp');

describe('Kolmogorov-Smirnov, as SciPy', () => {
  it.each(cases)('$name', ({ input: { x, y }, expected }) => {
    const { p_exact: _, ...asymptotic } = expected;
    const result = kolmogorovSmirnov(x, y);
    expect({
      D: result.d,
      D_plus: result.dPlus,
      D_minus: result.dMinus,
      p_kolmogorov: result.pKolmogorov,
      p_stephens: result.pStephens,
    }).toMatchObject(Object(near(asymptotic)));
  });

  it.each([
    [0.3, 0.9999906941986655],
    [0.999, 0.27107316411506394],
    [1, 0.26999967167735456],
    [1.5, 0.022217962616525127],
    [3, 3.045995948942525e-8],
  ])('P(K > %d)', (z, p) => {
    expect(Math.abs(kolmogorovTail(z) / p - 1)).toBeLessThan(1e-12);
  });
});

describe('Kolmogorov-Smirnov', () => {
  it('is the largest gap of the distribution functions', () => {
    const share = (sample: readonly number[], value: number): number =>
      sample.filter((other) => other <= value).length / sample.length;
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        const gaps = [...x, ...y].map((value) => share(x, value) - share(y, value));
        const { d, dPlus, dMinus } = kolmogorovSmirnov(x, y);
        expect(dPlus).toBeCloseTo(Math.max(0, ...gaps), 12);
        expect(dMinus).toBeCloseTo(Math.max(0, ...gaps.map((gap) => -gap)), 12);
        expect(d).toBe(Math.max(dPlus, dMinus));
      }),
    );
  });

  it('is symmetric, 0 for equal samples, and sees only the order of the scores', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        const result = kolmogorovSmirnov(x, y);
        expect(kolmogorovSmirnov(y, x).d).toBe(result.d);
        expect(kolmogorovSmirnov(x, x.toReversed())).toMatchObject({ d: 0, pKolmogorov: 1, pStephens: 1 });
        expect(kolmogorovSmirnov(x.map(Math.exp), y.map(Math.exp))).toEqual(result);
      }),
    );
  });

  it('does not change when every score is doubled', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        expect(kolmogorovSmirnov([...x, ...x], [...y, ...y]).d).toBeCloseTo(kolmogorovSmirnov(x, y).d, 12);
      }),
    );
  });

  it('refuses an empty sample', () => {
    expect(() => kolmogorovSmirnov([], [1])).toThrow(RangeError);
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  kolmogorovSmirnov,
  kolmogorovTail,
  mannWhitney,
  populationStabilityIndex,
  shareDivergence,
  wassersteinDistance,
} from '../../../../src/density/rules/two-sample-statistics.ts';
import { aScoreSample, near, referenceCases, type ScoreInput } from './two-sample-reference.ts';

// Excludes cases with weights, which `wassersteinDistance` does not support.
const wassersteinCases = referenceCases<ScoreInput, { readonly W1: number }>('wasserstein_1d').filter(
  ({ input }) => !('wx' in input),
);

describe('Wasserstein-1, compared with SciPy', () => {
  it.each(wassersteinCases)('$name', ({ input: { x, y }, expected }) => {
    expect(wassersteinDistance(x, y)).toEqual(near(expected.W1));
  });
});

describe('Wasserstein-1', () => {
  it('is the distance by which all scores were shifted', () => {
    fc.assert(
      fc.property(aScoreSample, fc.integer({ min: -64, max: 64 }), (x, sixteenths) => {
        const shift = sixteenths / 16;
        const moved = x.map((value) => value + shift);
        expect(wassersteinDistance(x, moved)).toBeCloseTo(Math.abs(shift), 12);
      }),
    );
  });

  it('does not change when both samples are shifted, and grows with their scale', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        const distance = wassersteinDistance(x, y);
        const plus = (value: number): number => value + 3;
        const times = (value: number): number => value * -2;
        expect(wassersteinDistance(x.map(plus), y.map(plus))).toBeCloseTo(distance, 12);
        expect(wassersteinDistance(x.map(times), y.map(times))).toBeCloseTo(2 * distance, 12);
      }),
    );
  });

  it('is symmetric, is 0 for equal samples, and satisfies the triangle inequality', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, aScoreSample, (x, y, z) => {
        const distance = wassersteinDistance(x, y);
        expect(wassersteinDistance(x, x.toReversed())).toBe(0);
        expect(wassersteinDistance(y, x)).toBeCloseTo(distance, 12);
        expect(wassersteinDistance(x, z) + wassersteinDistance(z, y)).toBeGreaterThanOrEqual(distance - 1e-12);
      }),
    );
  });

  it('rejects a sample without scores', () => {
    expect(() => wassersteinDistance([1], [])).toThrow(RangeError);
  });
});

const mannWhitneyCases = referenceCases<ScoreInput, { readonly A: number }>('mann_whitney');

describe('Mann-Whitney, compared with SciPy', () => {
  it.each(mannWhitneyCases)('$name', ({ input, expected }) => {
    expect(mannWhitney(input.x, input.y)).toEqual(near(expected.A));
  });
});

describe('Mann-Whitney', () => {
  it('is the share of pairs in which the first sample wins, with ties as one half', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        const u = x.reduce((sum, a) => sum + y.reduce((wins, b) => wins + (a > b ? 1 : a === b ? 0.5 : 0), 0), 0);
        expect(mannWhitney(x, y)).toBeCloseTo(u / (x.length * y.length), 12);
      }),
    );
  });

  it('becomes 1 minus its value if the samples are exchanged', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        expect(mannWhitney(y, x)).toBeCloseTo(1 - mannWhitney(x, y), 12);
      }),
    );
  });

  it('depends only on the order of the scores', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        expect(mannWhitney(x.map(Math.exp), y.map(Math.exp))).toBe(mannWhitney(x, y));
      }),
    );
  });

  it('is 0.5 for a sample against itself, and for scores that are all equal', () => {
    fc.assert(
      fc.property(aScoreSample, (x) => {
        expect(mannWhitney(x, x)).toBe(0.5);
      }),
    );
    expect(mannWhitney([0.5, 0.5], [0.5])).toBe(0.5);
  });

  it('does not change if every score is duplicated', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        expect(mannWhitney([...x, ...x], [...y, ...y])).toBeCloseTo(mannWhitney(x, y), 12);
      }),
    );
  });

  it('rejects an empty sample', () => {
    expect(() => mannWhitney([], [1])).toThrow('Both samples need at least one value.');
  });
});

const cases = referenceCases<ScoreInput, Readonly<Record<string, number>>>('ks_2samp');

describe('Kolmogorov-Smirnov, compared with SciPy', () => {
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
  it('is the largest gap between the distribution functions', () => {
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

  it('is symmetric, 0 for equal samples, and depends only on the order of the scores', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        const result = kolmogorovSmirnov(x, y);
        expect(kolmogorovSmirnov(y, x).d).toBe(result.d);
        expect(kolmogorovSmirnov(x, x.toReversed())).toMatchObject({ d: 0, pKolmogorov: 1, pStephens: 1 });
        expect(kolmogorovSmirnov(x.map(Math.exp), y.map(Math.exp))).toEqual(result);
      }),
    );
  });

  it('does not change if every score is duplicated', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        expect(kolmogorovSmirnov([...x, ...x], [...y, ...y]).d).toBeCloseTo(kolmogorovSmirnov(x, y).d, 12);
      }),
    );
  });

  it('rejects an empty sample', () => {
    expect(() => kolmogorovSmirnov([], [1])).toThrow(RangeError);
  });
});

interface Input {
  readonly current_counts: readonly number[];
  readonly baseline_counts: readonly number[];
}

describe('divergence of shares, compared with SciPy', () => {
  it.each(referenceCases<Input, { readonly JS_divergence_bits: number }>('share_divergence'))(
    '$name',
    ({ input, expected }) => {
      expect(shareDivergence(input.current_counts, input.baseline_counts)).toEqual(near(expected.JS_divergence_bits));
    },
  );
});

const counts = fc.array(fc.tuple(fc.nat(20), fc.nat(20)), { minLength: 1, maxLength: 8 }).map((pairs) => ({
  current: [1, ...pairs.map(([count]) => count)],
  baseline: [2, ...pairs.map(([, count]) => count)],
}));

describe('divergence of shares', () => {
  it('is 0 when the shares are equal, whatever the totals', () => {
    fc.assert(
      fc.property(counts, ({ current }) => {
        const result = shareDivergence(
          current.map((count) => 3 * count),
          current,
        );
        expect(result).toBeCloseTo(0, 12);
      }),
    );
  });

  it('is symmetric, does not depend on the order of the categories, and ignores empty ones', () => {
    fc.assert(
      fc.property(counts, ({ current, baseline }) => {
        const result = shareDivergence(current, baseline);
        const others = [
          shareDivergence(baseline, current),
          shareDivergence(current.toReversed(), baseline.toReversed()),
          shareDivergence([0, ...current], [0, ...baseline]),
        ];
        for (const other of others) expect(other).toBeCloseTo(result, 12);
      }),
    );
  });

  it('is 1 bit if no category is shared', () => {
    expect(shareDivergence([5, 0], [0, 9])).toBe(1);
  });

  it('is 0 for a single category', () => {
    expect(shareDivergence([5], [9])).toBe(0);
  });

  it('rejects counts that are all zero, and lists of different lengths', () => {
    expect(() => shareDivergence([0], [1])).toThrow(RangeError);
    expect(() => shareDivergence([1, 2], [1])).toThrow(RangeError);
  });
});

interface PsiInput {
  readonly baseline: readonly number[];
  readonly current: readonly number[];
  readonly bins: number;
}

describe('population stability index, compared with NumPy', () => {
  it.each(referenceCases<PsiInput, { readonly PSI: number }>('psi'))('$name', ({ input, expected }) => {
    expect(populationStabilityIndex(input.baseline, input.current, input.bins)).toEqual(near(expected.PSI));
  });
});

describe('population stability index', () => {
  it('is 0 for equal samples and never negative', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, fc.integer({ min: 2, max: 12 }), (x, y, bins) => {
        expect(populationStabilityIndex(x, x.toReversed(), bins)).toBe(0);
        expect(populationStabilityIndex(x, y, bins)).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('does not change with the unit of the score', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        const inOtherUnit = (value: number): number => 4 * value + 1;
        const psi = populationStabilityIndex(x, y, 4);
        expect(populationStabilityIndex(x.map(inOtherUnit), y.map(inOtherUnit), 4)).toBe(psi);
      }),
    );
  });

  it('rejects an empty sample', () => {
    expect(() => populationStabilityIndex([1], [], 10)).toThrow(RangeError);
  });
});

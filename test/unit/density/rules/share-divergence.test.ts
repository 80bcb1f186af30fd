import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shareDivergence } from '../../../../src/density/rules/share-divergence.ts';
import { near, referenceCases } from './two-sample-reference.ts';

interface Input {
  readonly current_counts: readonly number[];
  readonly baseline_counts: readonly number[];
}

describe('divergence of shares, as SciPy', () => {
  it.each(referenceCases<Input, Readonly<Record<string, number>>>('share_divergence'))(
    '$name',
    ({ input, expected }) => {
      const result = shareDivergence(input.current_counts, input.baseline_counts);
      expect({
        JS_divergence_bits: result.jensenShannonBits,
        JS_distance: result.jensenShannonDistance,
        TVD: result.totalVariation,
        chi2: result.chiSquare,
        df: result.df,
        p: result.p,
        cramers_v: result.cramersV,
      }).toMatchObject(Object(near(expected)));
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
        expect(result.jensenShannonBits).toBeCloseTo(0, 12);
        expect(result.chiSquare).toBeCloseTo(0, 12);
        expect(result.p).toBeCloseTo(1, 9);
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
        for (const other of others) {
          expect(other.df).toBe(result.df);
          expect(other.jensenShannonBits).toBeCloseTo(result.jensenShannonBits, 12);
          expect(other.chiSquare).toBeCloseTo(result.chiSquare, 9);
        }
      }),
    );
  });

  it('is 1 bit and a total variation of 1 when nothing is shared', () => {
    expect(shareDivergence([5, 0], [0, 9])).toMatchObject({
      jensenShannonBits: 1,
      jensenShannonDistance: 1,
      totalVariation: 1,
      cramersV: 1,
    });
  });

  it('knows that a single category cannot differ', () => {
    expect(shareDivergence([5], [9])).toMatchObject({ jensenShannonBits: 0, df: 0, p: 1 });
  });

  it('refuses lists that count nothing or differ in length', () => {
    expect(() => shareDivergence([0], [1])).toThrow(RangeError);
    expect(() => shareDivergence([1, 2], [1])).toThrow(RangeError);
  });
});

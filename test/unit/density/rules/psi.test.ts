import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { populationStabilityIndex } from '../../../../src/density/rules/share-divergence.ts';
import { aScoreSample, near, referenceCases } from './two-sample-reference.ts';

interface Input {
  readonly baseline: readonly number[];
  readonly current: readonly number[];
  readonly bins: number;
}

interface Expected {
  readonly edges: readonly number[];
  readonly baseline_counts: readonly number[];
  readonly current_counts: readonly number[];
  readonly PSI: number;
  readonly PSI_chi2_scaled: number;
  readonly PSI_null_mean: number;
}

describe('population stability index, as NumPy', () => {
  it.each(referenceCases<Input, Expected>('psi'))('$name', ({ input, expected }) => {
    const result = populationStabilityIndex(input.baseline, input.current, input.bins);
    expect([...result.edges]).toEqual(near(expected.edges));
    expect([...result.baselineCounts]).toEqual(expected.baseline_counts);
    expect([...result.currentCounts]).toEqual(expected.current_counts);
    expect(result.psi).toEqual(near(expected.PSI));
    expect(result.chiSquareScaled).toEqual(near(expected.PSI_chi2_scaled));
    expect(result.nullMean).toEqual(near(expected.PSI_null_mean));
  });
});

describe('population stability index', () => {
  it('is 0 for equal samples and never negative', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, fc.integer({ min: 2, max: 12 }), (x, y, bins) => {
        expect(populationStabilityIndex(x, x.toReversed(), bins).psi).toBe(0);
        expect(populationStabilityIndex(x, y, bins).psi).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('counts every value once, also where most values are equal', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        const { baselineCounts, currentCounts } = populationStabilityIndex(x, y, 10);
        expect(baselineCounts.reduce((sum, count) => sum + count, 0)).toBe(x.length);
        expect(currentCounts.reduce((sum, count) => sum + count, 0)).toBe(y.length);
      }),
    );
  });

  it('does not change with the unit of the score', () => {
    fc.assert(
      fc.property(aScoreSample, aScoreSample, (x, y) => {
        const inOtherUnit = (value: number): number => 4 * value + 1;
        const { psi } = populationStabilityIndex(x, y, 4);
        expect(populationStabilityIndex(x.map(inOtherUnit), y.map(inOtherUnit), 4).psi).toBe(psi);
      }),
    );
  });

  it('refuses an empty sample', () => {
    expect(() => populationStabilityIndex([1], [], 10)).toThrow(RangeError);
  });
});

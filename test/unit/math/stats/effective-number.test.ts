import { describe, expect, it } from 'vitest';
import { mean, moments } from '../../../../src/math/stats/descriptive.ts';
import { effectiveNumber, effectiveNumberOf, jackknifeVariance } from '../../../../src/math/stats/effective-number.ts';

describe('the effective number', () => {
  it('is the number of values of equal weight, and about 1 if one weight exceeds all others by far', () => {
    expect(effectiveNumber([0.5, 0.5, 0.5, 0.5])).toBe(4);
    expect(effectiveNumber([1e9, 1, 1])).toBeCloseTo(1, 6);
    expect(effectiveNumber([])).toBe(0);
  });

  it('can be computed from the sums of the weights and of their squares', () => {
    expect(effectiveNumberOf(6, 14)).toBe(effectiveNumber([1, 2, 3]));
    expect(effectiveNumberOf(0, 0)).toBe(0);
  });
});

describe('the jackknife', () => {
  it('returns the variance of a mean by the textbook formula', () => {
    const values = [1, 4, 4, 9, 2.5];
    const without = values.map((_, left) => mean(values.filter((_, place) => place !== left)));
    expect(jackknifeVariance(without)).toBeCloseTo(moments(values).standardDeviation ** 2 / values.length, 12);
  });

  it('returns the variance 0 for a single replicate', () => {
    expect(jackknifeVariance([3])).toBe(0);
  });
});

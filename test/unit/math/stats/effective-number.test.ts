import { describe, expect, it } from 'vitest';
import { mean, moments } from '../../../../src/math/stats/descriptive.ts';
import { effectiveNumber, effectiveNumberOf, jackknifeVariance } from '../../../../src/math/stats/effective-number.ts';

describe('the effective number', () => {
  it('counts values of equal weight, and is 1 where one weight outweighs all others', () => {
    expect(effectiveNumber([0.5, 0.5, 0.5, 0.5])).toBe(4);
    expect(effectiveNumber([1e9, 1, 1])).toBeCloseTo(1, 6);
    expect(effectiveNumber([])).toBe(0);
  });

  it('follows from the sums alone', () => {
    expect(effectiveNumberOf(6, 14)).toBe(effectiveNumber([1, 2, 3]));
    expect(effectiveNumberOf(0, 0)).toBe(0);
  });
});

describe('the jackknife', () => {
  it('gives the variance of a mean as the textbook formula does', () => {
    const values = [1, 4, 4, 9, 2.5];
    const without = values.map((_, left) => mean(values.filter((_, place) => place !== left)));
    expect(jackknifeVariance(without)).toBeCloseTo(moments(values).standardDeviation ** 2 / values.length, 12);
  });

  it('has no variance for one replicate', () => {
    expect(jackknifeVariance([3])).toBe(0);
  });
});

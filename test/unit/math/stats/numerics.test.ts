import { describe, expect, it } from 'vitest';
import { firstWhere, logAdd, logMean } from '../../../../src/math/stats/distributions.ts';

describe('firstWhere', () => {
  it.each([
    [0, 10, 7, 7],
    [0, 10, 0, 0],
    [0, 10, 99, 10],
    [-5, 5, -3, -3],
    [4, 4, 0, 4],
  ])('finds the first number in [%d, %d) that reaches %d', (from, to, minimum, found) => {
    expect(firstWhere(from, to, (k) => k >= minimum)).toBe(found);
  });
});

describe('sums of logarithms', () => {
  it('stay in range even if the numbers themselves do not', () => {
    expect(logAdd(5000, 5000)).toBeCloseTo(5000 + Math.log(2), 12);
    expect(logAdd(-5000, -5000)).toBeCloseTo(-5000 + Math.log(2), 12);
    expect(logMean([5000, 5000, -5000])).toBeCloseTo(5000 + Math.log(2 / 3), 12);
  });

  it('accept the logarithm of zero', () => {
    expect(logAdd(Number.NEGATIVE_INFINITY, 3)).toBe(3);
    expect(logAdd(Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY)).toBe(Number.NEGATIVE_INFINITY);
    expect(logMean([Number.NEGATIVE_INFINITY])).toBe(Number.NEGATIVE_INFINITY);
    expect(logMean([Number.NEGATIVE_INFINITY, 0])).toBeCloseTo(Math.log(0.5), 15);
    expect(() => logMean([])).toThrow(RangeError);
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Measure } from '../../../../src/math/ir/metric-key.ts';
import { mean, summarize } from '../../../../src/math/stats/descriptive.ts';

const sample = fc.array(fc.constantFrom(0, 0.1, 0.25, 1 / 3, 0.5, 0.63, 0.9, 1), {
  minLength: 1,
  maxLength: 120,
});
const measure = fc.constantFrom<Measure>('hit_rate', 'ndcg', 'mrr', 'recall', 'dcg', 'unjudged');

function asValues(values: readonly number[], of: Measure): number[] {
  return of === 'hit_rate' ? values.map((value) => Math.round(value)) : [...values];
}

/** n values: the first `ones` are 1, and the others are spread between 0 and 0.5. */
function spread(n: number, ones = 0): number[] {
  return Array.from({ length: n }, (_, i) => (i < ones ? 1 : (i % 11) / 20));
}

const zeros = (n: number): number[] => spread(n).fill(0);
const ones = (n: number): number[] => spread(n, n);

describe('mean', () => {
  it.each([
    ['values that lose digits in a plain sum', [1e16, 1, -1e16, 1], 0.5],
    ['ten tenths', Array.from({ length: 10 }, () => 0.1), 0.1],
    ['three tenths, whose plain mean is above each of them', [0.1, 0.1, 0.1], 0.1],
    ['one value', [0.3], 0.3],
  ])('is exact for %s', (_what, values, expected) => {
    expect(mean(values)).toBe(expected);
  });

  it('throws an error without values instead of returning NaN', () => {
    expect(() => mean([])).toThrow(RangeError);
    expect(() => summarize([], 'ndcg')).toThrow(RangeError);
  });
});

describe('summarize', () => {
  it('encloses the mean, stays within the range of the measure and contains no NaN', () => {
    fc.assert(
      fc.property(sample, measure, (values, of) => {
        const given = asValues(values, of);
        const { mean: centre, n, ciLow, ciHigh } = summarize(given, of);
        expect(n).toBe(given.length);
        expect(centre).toBeCloseTo(given.reduce((sum, value) => sum + value, 0) / n, 12);
        expect(ciLow).toBeGreaterThanOrEqual(0);
        expect(ciLow).toBeLessThanOrEqual(centre);
        expect(ciHigh).toBeGreaterThanOrEqual(centre);
        expect(ciHigh).toBeLessThanOrEqual(of === 'dcg' ? Number.POSITIVE_INFINITY : 1);
      }),
      { numRuns: 40 },
    );
  });

  it('returns the same summary each time, for any order of the values', () => {
    fc.assert(
      fc.property(sample, measure, (values, of) => {
        const given = asValues(values, of);
        const summary = summarize(given, of);
        expect(summarize(given, of)).toEqual(summary);
        expect(summarize(Float64Array.from(given.toReversed()), of)).toEqual(summary);
      }),
      { numRuns: 20 },
    );
  });

  it.each([
    ['the hit rate of a few queries', 'hit_rate', [1, 0, 1], 'wilson'],
    ['the hit rate of many queries', 'hit_rate', Array.from({ length: 300 }, (_, i) => i % 2), 'wilson'],
    ['fewer than 10 queries', 'ndcg', spread(9), 't'],
    ['10 queries', 'ndcg', spread(10), 'bca'],
    ['49 queries', 'ndcg', spread(49), 'bca'],
    ['49 queries of which 4 score 0 and the others 1', 'ndcg', [...zeros(4), ...ones(45)], 'wilson'],
    ['49 queries of a gain without bound of which 4 score 0', 'dcg', [...zeros(4), ...ones(45)], 'bca'],
    ['50 queries', 'ndcg', spread(50), 't'],
    ['60 queries of which one is far from the others', 'ndcg', [...zeros(59), 1], 'bca'],
    ['100 queries of which 8 score 1 and the others 0', 'recall', [...zeros(92), ...ones(8)], 'bca'],
    ['100 queries of which 20 score 1 and the others 0', 'recall', [...zeros(80), ...ones(20)], 't'],
    ['equal values', 'ndcg', ones(7), 'wilson'],
    ['dcg of one query', 'dcg', [3.5], 't'],
    ['dcg of many queries', 'dcg', spread(80), 't'],
  ] as const)('chooses the documented interval method for %s', (_what, of, values, method) => {
    expect(summarize(values, of).ciMethod).toBe(method);
  });

  it.each([
    [20, 1, 0.8388748419471806, 1],
    [20, 0, 0, 0.16112515805281938],
    [1, 1, 0.20654931437723745, 1],
    [1, 0.5, 0.05462075552885198, 0.945379244471148],
  ])('does not claim certainty for %d equal values of %d', (n, value, low, high) => {
    const summary = summarize(
      Array.from({ length: n }, () => value),
      'ndcg',
    );
    expect(summary.mean).toBe(value);
    expect(summary.ciLow).toBeCloseTo(low, 9);
    expect(summary.ciHigh).toBeCloseTo(high, 9);
  });

  it('has no upper bound for the dcg of one query', () => {
    expect(summarize([3.5], 'dcg')).toMatchObject({ mean: 3.5, ciLow: 0, ciHigh: Number.POSITIVE_INFINITY });
  });

  it('has the textbook t interval for many values', () => {
    const values = Array.from({ length: 100 }, (_, i) => i / 99);
    const { ciLow, ciHigh } = summarize(values, 'map');
    // The mean is 0.5, the standard deviation is 0.293045, and the quantile of t(99) is 1.984217.
    expect(ciLow).toBeCloseTo(0.441853, 6);
    expect(ciHigh).toBeCloseTo(0.558147, 6);
  });

  it('is wider towards the rare values of a skewed sample', () => {
    const { mean: centre, ciLow, ciHigh } = summarize(spread(40, 2), 'recall');
    expect(ciHigh - centre).toBeGreaterThan(centre - ciLow);
  });
});

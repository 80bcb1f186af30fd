import { describe, expect, it } from 'vitest';
import { averagePairs } from '../../../../src/golden/rules/run-noise.ts';

const pair = (baseline: readonly number[], candidate: readonly number[]) => ({
  baseline: Float64Array.from(baseline),
  candidate: Float64Array.from(candidate),
});

describe('pairs of runs', () => {
  it('are reduced to one score per query, the mean over the pairs', () => {
    const { scores } = averagePairs([pair([1, 0], [0.5, 0]), pair([0, 0], [0.5, 1])]);
    expect([...scores.baseline[0]]).toEqual([0.5, 0]);
    expect([...scores.candidate[0]]).toEqual([0.5, 0.5]);
  });

  it('show the noise of the difference between runs, which is unknown for a single pair', () => {
    // The differences are 0.1 and 0.3 for the first query and -0.2 and -0.2 for the second, so the variances are 0.02
    // and 0.
    const two = [pair([0.5, 0.5], [0.6, 0.3]), pair([0.5, 0.5], [0.8, 0.3])];
    expect(averagePairs(two).noise).toBeCloseTo(Math.sqrt(0.01), 12);
    expect(averagePairs(two.slice(0, 1)).noise).toBeNull();
  });

  it('are refused when there are none', () => {
    expect(() => averagePairs([])).toThrow(RangeError);
  });
});

import { describe, expect, it } from 'vitest';
import { knownVariance, rerunNoise, rerunVariance } from '../../../../src/golden/rules/run-noise.ts';
import { mean, moments } from '../../../../src/math/stats/descriptive.ts';
import { aRerunNoise } from '../../../support/builders.ts';
import { uniforms } from '../../../support/uniforms.ts';

describe('the variance of a run about the mean of its reruns', () => {
  it('is 0 for a retriever that always answers identically', () => {
    expect(rerunVariance(aRerunNoise({ isConstant: true }), 100)).toBe(0);
  });

  it('uses upper bounds for the number of queries that change and for the variance of the mean', () => {
    const noise = aRerunNoise({ standardDeviation: Math.sqrt(2 * 0.0001) });
    // 16.962 is the upper 95 % bound of a Poisson count of 10, and 3.32511 is the 5 % quantile of chi-square with 9
    // degrees of freedom.
    const expected = ((16.962 * 0.05) / 100 / 100 + (0.0001 * 9) / 3.32511 - 0.005 / 100) * 1.1;
    expect(rerunVariance(noise, 100)).toBeCloseTo(expected, 7);
  });

  it('is above 0 for a metric that was constant by chance', () => {
    const constant = aRerunNoise({ standardDeviation: 0, moved: 0, ofQueries: 0 });
    // In one of ten runs, the scores of -ln 0.05 = 2.9957 of the 100 queries may change by 1.
    expect(rerunVariance(constant, 100)).toBeCloseTo(((2.9957 * 0.1) / 100 / 100) * 1.1, 6);
  });

  it('is smaller with more queries, but noise that the queries share remains', () => {
    const shared = aRerunNoise({ standardDeviation: 0.02, sharedVariance: 0.0004 });
    expect(rerunVariance(shared, 400)).toBeLessThan(rerunVariance(shared, 100));
    expect(rerunVariance(shared, 1e9)).toBeGreaterThan(0.0002);
  });

  it('exceeds the variance of later runs for 95 % of simulated retrievers with noise in 5 % of the queries', () => {
    const random = uniforms(5);
    const runOnce = (): number[] => Array.from({ length: 80 }, () => (random() < 0.05 ? random() : 0.6));
    const later = moments(Array.from({ length: 2000 }, () => mean(runOnce()))).standardDeviation ** 2;
    let enough = 0;
    for (let retriever = 0; retriever < 200; retriever++) {
      const noise = rerunNoise(Array.from({ length: 10 }, runOnce));
      if (noise !== null && rerunVariance(noise, 80) >= later * 1.1) enough++;
    }
    expect(enough).toBeGreaterThanOrEqual(190);
  });
});

describe('the variance of a run after days or generations were accepted', () => {
  const noise = aRerunNoise();
  const reruns = rerunVariance(noise, 100);
  const after = (accepted: readonly number[], unit: 'day' | 'generation' = 'day', minEffect = 0.02) =>
    knownVariance(noise, { means: [1], unit, accepted }, 100, minEffect);
  const fiveOf = (difference: number): number[] => [difference, -difference, difference, -difference, difference];

  it('is the variance of reruns if the days differ little or are too few', () => {
    expect(after([])).toBe(reruns);
    expect(after(fiveOf(0))).toBe(reruns);
    expect(after([0.1, 0.1])).toBe(reruns);
  });

  it('is the variance of days if the days differ more than reruns, which can agree by chance', () => {
    // The variance is five squares of 0.008, divided by 0.554298 (the 1 % quantile of chi-square with five degrees of
    // freedom).
    expect(reruns).toBeLessThan((5 * 0.008 ** 2) / 0.554298);
    expect(after(fiveOf(0.008))).toBeCloseTo((5 * 0.008 ** 2) / 0.554298, 8);
  });

  it('is unknown for an index that changes as much from day to day as by a rebuild', () => {
    expect(after(fiveOf(0.04))).toBeNull();
  });

  it('is known for an index whose changes are small compared to the minimum effect', () => {
    expect(after(fiveOf(0.04), 'day', 0.5)).toBeGreaterThan(reruns);
  });

  it('is unknown for a retriever with identical reruns if the noise between days exceeds half the minimum effect', () => {
    const constant = aRerunNoise({ isConstant: true, standardDeviation: 0, moved: 0, ofQueries: 0 });
    const of = (difference: number) =>
      knownVariance(constant, { means: [1], unit: 'day', accepted: fiveOf(difference) }, 100, 0.02);
    // The tested noise is 2.5758 sqrt(5 / 0.554298) = 7.7363 times the difference on each of the five days.
    expect(of(0.0099 / 7.7363)).toBeCloseTo((5 * (0.0099 / 7.7363) ** 2) / 0.554298, 8);
    expect(of(0.0101 / 7.7363)).toBeNull();
    expect(of(0)).toBe(0);
  });

  it('is unknown for another index generation', () => {
    expect(after(fiveOf(0), 'generation')).toBeNull();
  });
});

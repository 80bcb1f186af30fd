import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareMetric, type MetricComparison } from '../../../../src/golden/rules/compare-metric.ts';
import { type Expected, rerunVariance } from '../../../../src/golden/rules/run-noise.ts';
import type { MetricKey } from '../../../../src/math/ir/metric-key.ts';
import { normalCdf } from '../../../../src/math/stats/distributions.ts';
import { newcombePairedInterval } from '../../../../src/math/stats/intervals.ts';
import { mcnemarExact } from '../../../../src/math/stats/paired-tests.ts';
import { aRerunNoise } from '../../../support/builders.ts';
import { uniforms } from '../../../support/uniforms.ts';
import { pairOfRuns, pattern, SETTINGS, score } from './scores.ts';

const NDCG: MetricKey = { measure: 'ndcg', k: 10 };
const HIT_RATE: MetricKey = { measure: 'hit_rate', k: 5 };

function compare(baseline: readonly number[], candidate: readonly number[], key = NDCG): MetricComparison {
  return compareMetric(key, baseline, candidate, null, SETTINGS);
}

/** Returns all numbers of a comparison that are not null. */
function numbersOf(comparison: MetricComparison): number[] {
  return Object.values(comparison).filter((value) => typeof value === 'number');
}

describe('a run compared with itself', () => {
  it('has a difference of exactly 0, p = 1 and the verdict no_change, whatever its scores', () => {
    fc.assert(
      fc.property(
        fc.array(score, { minLength: 1, maxLength: 80 }),
        fc.constantFrom<MetricKey['measure']>('ndcg', 'mrr', 'hit_rate', 'dcg', 'unjudged'),
        (scores, measure) => {
          const given = measure === 'hit_rate' ? scores.map(Math.round) : scores;
          expect(compareMetric({ measure, k: 10 }, given, given, null, SETTINGS)).toMatchObject({
            n: given.length,
            difference: 0,
            t: 0,
            df: given.length - 1,
            pT: 1,
            pRandomization: 1,
            pMethod: 'exact',
            p: 1,
            mcnemarP: measure === 'hit_rate' ? 1 : null,
            wins: 0,
            losses: 0,
            ties: given.length,
            standardDeviation: 0,
            verdict: 'no_change',
          });
        },
      ),
    );
  });

  it('has bounds of exactly 0, even for a single query', () => {
    expect(compare([0.5], [0.5])).toMatchObject({ ciLow: 0, ciHigh: 0, smallestDetectableDifference: null });
    expect(compare(pattern(30), pattern(30))).toMatchObject({ ciLow: 0, ciHigh: 0, ciMethod: 't' });
  });

  it('has no difference if the scores differ only by rounding', () => {
    const rounded = pattern(30).map((value) => value + 1e-15);
    expect(compare(pattern(30), rounded)).toMatchObject({ difference: 0, wins: 0, verdict: 'no_change' });
  });
});

describe('compareMetric', () => {
  it('returns no NaN, encloses the difference in its bounds and counts every query', () => {
    fc.assert(
      fc.property(pairOfRuns, ({ baseline, candidate }) => {
        const comparison = compare(baseline, candidate);
        for (const value of numbersOf(comparison)) expect(value).not.toBeNaN();
        expect(comparison.ciLow).toBeGreaterThanOrEqual(-1);
        expect(comparison.ciLow).toBeLessThanOrEqual(comparison.difference + 1e-12);
        expect(comparison.ciHigh).toBeGreaterThanOrEqual(comparison.difference - 1e-12);
        expect(comparison.ciHigh).toBeLessThanOrEqual(1);
        expect(comparison.wins + comparison.losses + comparison.ties).toBe(baseline.length);
        expect(comparison.candidate - comparison.baseline).toBeCloseTo(comparison.difference, 12);
      }),
      { numRuns: 50 },
    );
  });

  it('does not depend on the order of the queries', () => {
    fc.assert(
      fc.property(pairOfRuns, ({ baseline, candidate }) => {
        const reversed = compare(baseline.toReversed(), candidate.toReversed());
        const comparison = compare(baseline, candidate);
        expect(reversed).toMatchObject({
          verdict: comparison.verdict,
          pRandomization: comparison.pRandomization,
          ciMethod: comparison.ciMethod,
        });
        expect(reversed.pT).toBeCloseTo(comparison.pT, 12);
      }),
      { numRuns: 30 },
    );
  });

  it('turns a regression into an improvement if the runs are swapped', () => {
    const baseline = pattern(120);
    const candidate = baseline.map((value, i) => (i % 3 === 0 ? value - 0.15 : value));
    const fall = compare(baseline, candidate);
    const rise = compare(candidate, baseline);
    expect(fall).toMatchObject({ verdict: 'regression', wins: 0, losses: 40, ties: 80 });
    expect(rise).toMatchObject({ verdict: 'improvement', wins: 40, losses: 0, ties: 80 });
    expect(fall.difference).toBeCloseTo(-0.05, 12);
    expect(rise.pRandomization).toBe(fall.pRandomization);
  });

  it('reports a regression if every query drops by the same amount, with both bounds at the difference and no t', () => {
    const before = new Float64Array(10).fill(0.5);
    const after = new Float64Array(10).fill(0.375);
    const comparison = compareMetric(NDCG, before, after, null, SETTINGS);
    expect(comparison).toMatchObject({
      difference: -0.125,
      ciLow: -0.125,
      ciHigh: -0.125,
      t: null,
      pT: 0,
      pMethod: 'exact',
      verdict: 'regression',
    });
    expect(comparison.pRandomization).toBeCloseTo(2 / 2 ** 10, 12);
  });

  it('is inconclusive for a few queries that drop by the same amount', () => {
    expect(compare([0.5, 0.5, 0.5], [0.25, 0.25, 0.25])).toMatchObject({
      difference: -0.25,
      ciLow: -1,
      ciHigh: 1,
      pRandomization: expect.closeTo(0.25, 12),
      verdict: 'inconclusive',
    });
  });

  it('is inconclusive for one query', () => {
    expect(compare([1], [0])).toMatchObject({
      difference: -1,
      ciLow: -1,
      ciHigh: 1,
      t: null,
      df: 0,
      pT: 1,
      pRandomization: 1,
      smallestDetectableDifference: null,
      verdict: 'inconclusive',
    });
  });

  it('returns infinite bounds for the DCG difference of a single query', () => {
    expect(compare([3], [4], { measure: 'dcg', k: null })).toMatchObject({
      ciLow: Number.NEGATIVE_INFINITY,
      ciHigh: Number.POSITIVE_INFINITY,
    });
  });

  it("compares hits with McNemar's and Newcombe's methods", () => {
    const hits = { both: 36, onlyBaseline: 12, onlyCandidate: 2, neither: 1 };
    const rows = [
      [hits.both, 1, 1],
      [hits.onlyBaseline, 1, 0],
      [hits.onlyCandidate, 0, 1],
      [hits.neither, 0, 0],
    ].flatMap(([count = 0, before = 0, after = 0]) => Array.from({ length: count }, () => [before, after] as const));
    const comparison = compare(
      rows.map(([before]) => before),
      rows.map(([, after]) => after),
      HIT_RATE,
    );
    const { low, high } = newcombePairedInterval(hits, 0.95);
    const { p } = mcnemarExact(12, 2);
    expect(comparison).toMatchObject({
      ciMethod: 'newcombe',
      ciLow: low,
      ciHigh: high,
      mcnemarP: p,
      wins: 2,
      losses: 12,
      verdict: 'regression',
    });
    expect(comparison.pRandomization).toBeCloseTo(p, 12);
  });

  it('refuses runs without queries or with different numbers of queries', () => {
    expect(() => compare([1, 0], [1])).toThrow('Both runs need the same number of scores of ndcg@10, not 2 and 1.');
    expect(() => compare([], [])).toThrow(RangeError);
  });
});

describe('compareMetric with the noise of a retriever', () => {
  const random = uniforms(3);
  const baseline = Array.from({ length: 200 }, () => random());
  const candidate = baseline.map((value) => value - 0.04 + 0.1 * (random() - 0.5));
  const quiet = aRerunNoise({ reruns: 6, standardDeviation: 0.001 });
  const loud = aRerunNoise({ reruns: 6, standardDeviation: 0.03, sharedVariance: 0.03 ** 2 });

  it('reports no regression for a drop within the noise, and widens the bounds', () => {
    const alone = compareMetric(NDCG, baseline, candidate, null, SETTINGS);
    const noisy = compareMetric(NDCG, baseline, candidate, loud, SETTINGS);
    expect(alone.verdict).toBe('regression');
    expect(noisy.verdict).toBe('inconclusive');
    expect(noisy.pRandomization).toBe(alone.pRandomization);
    expect(noisy.p).toBeGreaterThan(0.05);
    // The 97.5 % quantile of t with 5 degrees of freedom is 2.5706; because of the variance of the queries, the
    // quantile that is used is slightly smaller.
    expect(noisy.difference - noisy.ciLow).toBeGreaterThan(2.55 * 0.03);
    expect(noisy.difference - noisy.ciLow).toBeLessThan(2.5706 * Math.hypot(0.03, 0.003));
    expect(noisy.ciHigh).toBeGreaterThan(0);
    expect(noisy.smallestDetectableDifference ?? 0).toBeGreaterThan(2.8 * 0.03);
  });

  it('keeps the verdict for noise far below the difference, and barely changes the bounds', () => {
    const alone = compareMetric(NDCG, baseline, candidate, null, SETTINGS);
    const noisy = compareMetric(NDCG, baseline, candidate, quiet, SETTINGS);
    expect(noisy.verdict).toBe('regression');
    expect(noisy.difference).toBe(alone.difference);
    expect((noisy.difference - noisy.ciLow) / (alone.difference - alone.ciLow)).toBeCloseTo(1, 1);
  });

  it('treats a retriever whose reruns were identical as one without noise', () => {
    const constant = aRerunNoise({ reruns: 5, standardDeviation: 0 });
    expect(compareMetric(NDCG, baseline, candidate, constant, SETTINGS)).toEqual(
      compareMetric(NDCG, baseline, candidate, null, SETTINGS),
    );
  });

  it('does not conclude from a few reruns without shared noise that shared noise is absent', () => {
    const fallen = baseline.map((value) => value - 0.04);
    const noise = aRerunNoise({ reruns: 5, standardDeviation: 0.012 });
    const few = compareMetric(NDCG, baseline, fallen, noise, SETTINGS);
    // The p-value is P(|T| >= 0.04 / 0.012) with 4 degrees of freedom.
    expect(few.p).toBeCloseTo(0.02898, 3);
    expect(compareMetric(NDCG, baseline, fallen, { ...noise, reruns: 20 }, SETTINGS).p).toBeLessThan(0.005);
  });

  it('uses the noise alone when all queries drop by the same amount', () => {
    const fallen = baseline.map((value) => value - 0.04);
    const comparison = compareMetric(NDCG, baseline, fallen, loud, SETTINGS);
    expect(comparison.verdict).toBe('inconclusive');
    // The p-value is P(|Z| >= 0.04 / sd). Here, sd^2 = 0.03^2 * 5 / 1.14548 is the upper 95 % bound of the variance of
    // six reruns.
    expect(comparison.p).toBeCloseTo(0.5234, 2);
  });

  it('returns a smaller p-value for the same drop and noise when the noise was measured with more reruns', () => {
    const fallen = baseline.map((value) => value - 0.1);
    const pOf = (reruns: number): number => compareMetric(NDCG, baseline, fallen, { ...loud, reruns }, SETTINGS).p;
    expect(pOf(6)).toBeGreaterThan(0.01);
    expect(pOf(40)).toBeLessThan(0.01);
    expect(pOf(100)).toBeLessThan(pOf(40));
  });
});

describe('compareMetric with the known noise of an unchanged retriever', () => {
  const means = pattern(100);
  const constant = aRerunNoise({ standardDeviation: 0, moved: 0, ofQueries: 0, isConstant: true });
  /** Two of a hundred queries drop to 0. */
  const fallen = means.map((value, i) => (i === 3 || i === 50 ? 0 : value));
  const compareKnown = (
    candidate: readonly number[],
    expected: Partial<Expected> = {},
    noise = constant,
    pinned = means,
  ) => {
    const all = { means, unit: 'day' as const, accepted: [], ...expected };
    return compareMetric(NDCG, pinned, candidate, noise, { alpha: 0.01, minEffect: 0.01 }, all);
  };

  it('reports any drop of at least the minimum effect as a regression when the retriever always answers identically', () => {
    expect(compare(means, fallen).p).toBeCloseTo(0.5, 12);
    const known = compareKnown(fallen);
    expect(known).toMatchObject({ p: 0, ciMethod: 'reruns', losses: 2, verdict: 'regression' });
    expect([known.ciLow, known.ciHigh]).toEqual([known.difference, known.difference]);
    expect(known.smallestDetectableDifference).toBe(0);
  });

  it('reports no regression for a drop below the minimum effect, and p = 1 for no difference', () => {
    const one = means.map((value, i) => (i === 3 ? value / 2 : value));
    expect(compareKnown(one)).toMatchObject({ p: 0, verdict: 'no_change' });
    expect(compareKnown(means)).toMatchObject({ p: 1, difference: 0, verdict: 'no_change' });
  });

  it('compares to the mean of the reruns, and counts wins and losses against the pinned run', () => {
    const pinned = means.map((value, i) => (i < 20 ? value + 0.1 : value));
    const known = compareKnown(means, {}, constant, pinned);
    expect(known).toMatchObject({ difference: 0, p: 1, losses: 20, wins: 0 });
    expect(known.baseline).toBe(known.candidate);
  });

  it('returns the p-value and the bounds of a normal deviation with known variance', () => {
    const noise = aRerunNoise({ standardDeviation: 0.004 });
    const known = compareKnown(fallen, {}, noise);
    const deviation = Math.sqrt(rerunVariance(noise, 100));
    expect(known.p).toBeCloseTo(2 * normalCdf(known.difference / deviation), 12);
    expect(known.difference - known.ciLow).toBeCloseTo(1.959964 * deviation, 6);
    // The factor is 2.5758 + 0.8416, for a two-sided level of 0.01 and a power of 0.8.
    expect(known.smallestDetectableDifference).toBeCloseTo(3.41745 * deviation, 5);
  });

  it('compares another index generation by query scores, and accounts for the variance between generations', () => {
    const twelve = means.map((value, i) => (i % 8 === 0 ? value - 0.2 : value));
    const generation = (accepted: readonly number[]) => compareKnown(twelve, { unit: 'generation', accepted });
    const paired = compareMetric(NDCG, means, twelve, null, { alpha: 0.01, minEffect: 0.01 });
    expect(generation([])).toEqual(paired);
    expect(generation([0.02, -0.02, 0.03, -0.03])).toEqual(paired);
    expect(paired.verdict).toBe('regression');
    const restless = generation([0.02, -0.02, 0.03, -0.03, 0.02]);
    expect(restless).toMatchObject({
      difference: paired.difference,
      ciMethod: paired.ciMethod,
      verdict: 'inconclusive',
    });
    expect(restless.ciLow).toBeLessThan(paired.ciLow);
    expect(restless.smallestDetectableDifference).toBeGreaterThan(paired.smallestDetectableDifference ?? 1);
    expect(generation([0.001, 0, 0, 0, 0])).toMatchObject({ p: paired.p, verdict: 'regression' });
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  clusterVariance,
  type EstimateOutcome,
  effectiveClusters,
  horvitzThompsonTotal,
  type WeightedEstimate,
} from '../../../../../src/live/rules/sampling/estimate.ts';

const sampled = { isComplete: false };
const complete = { isComplete: true };

/** Samples as (cluster, probability, value). */
function samplesOf(...rows: readonly (readonly [string, number, number])[]) {
  return rows.map(([cluster, probability, value]) => ({ cluster, probability, value }));
}

function estimateOf(outcome: EstimateOutcome): WeightedEstimate {
  if (outcome.kind !== 'estimate') throw new Error(`There is no estimate, but ${JSON.stringify(outcome)}.`);
  return outcome;
}

/** Computes the cluster variance as a sum over all pairs. */
function varianceByPairs(rows: ReturnType<typeof samplesOf>): number {
  let sum = 0;
  for (const a of rows) {
    for (const b of rows) {
      if (a.cluster !== b.cluster) continue;
      const larger = Math.max(a.probability, b.probability);
      sum += (a.value * b.value * (1 - larger)) / (a.probability * b.probability);
    }
  }
  return sum;
}

describe('the estimated total', () => {
  it('is unknown without samples of a sampled window', () => {
    expect(horvitzThompsonTotal([], sampled)).toEqual({ kind: 'insufficient_data', have: 0, need: 2 });
  });

  it('is unknown with one session, however many queries it has', () => {
    const rows = samplesOf(['a', 0.5, 1], ['a', 0.5, 0], ['a', 0.5, 1]);
    expect(horvitzThompsonTotal(rows, sampled)).toEqual({ kind: 'insufficient_data', have: 1, need: 2 });
  });

  it('is unknown if all queries were sampled by rule', () => {
    const rows = samplesOf(['a', 1, 1], ['b', 1, 0], ['c', 1, 1]);
    expect(horvitzThompsonTotal(rows, sampled)).toEqual({ kind: 'insufficient_data', have: 0, need: 2 });
  });

  it('is exact when the window is complete', () => {
    const rows = samplesOf(['a', 1, 1], ['a', 1, 0], ['c', 1, 1], ['d', 1, 1]);
    expect(horvitzThompsonTotal(rows, complete)).toMatchObject({
      kind: 'estimate',
      value: 3,
      low: 3,
      high: 3,
      standardError: 0,
    });
    expect(horvitzThompsonTotal(rows.slice(0, 1), complete)).toMatchObject({
      kind: 'estimate',
      value: 1,
      low: 1,
      high: 1,
    });
  });

  it.each([0, -1, 1.5, Number.NaN])('rejects a probability of %s', (probability) => {
    expect(() => horvitzThompsonTotal(samplesOf(['a', probability, 1], ['b', 0.5, 1]), sampled)).toThrow(RangeError);
  });

  it('rejects a complete window with a probability below 1', () => {
    expect(() => horvitzThompsonTotal(samplesOf(['a', 0.5, 1]), complete)).toThrow(RangeError);
  });

  it('rejects a value that is not a number', () => {
    expect(() => horvitzThompsonTotal(samplesOf(['a', 0.5, Number.NaN], ['b', 0.5, 1]), sampled)).toThrow(RangeError);
  });

  it('is finite and within its confidence interval for any samples', () => {
    const row = fc.record({
      cluster: fc.integer({ min: 0, max: 5 }),
      probability: fc.constantFrom(1, 0.5, 0.1, 0.003, 1e-7),
      value: fc.constantFrom(0, 1),
    });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 12 }), (rows) => {
        const outcome = horvitzThompsonTotal(rows, sampled);
        if (outcome.kind === 'insufficient_data') return;
        const { value, low, high, standardError } = outcome;
        expect([value, low, high, standardError].every(Number.isFinite)).toBe(true);
        expect(low).toBeLessThanOrEqual(value);
        expect(high).toBeGreaterThanOrEqual(value);
      }),
    );
  });

  it('weights values by the inverse probability, with a t interval for the degrees of freedom of its variance', () => {
    const rows = samplesOf(['a', 0.5, -3], ['b', 0.25, 2], ['c', 1, 4]);
    const { value, low, high, standardError } = estimateOf(horvitzThompsonTotal(rows, sampled));
    expect(value).toBe(-6 + 8 + 4);
    // The variance is (1 - .5) / .25 * 9 + (1 - .25) / .0625 * 4 + 0 = 18 + 48.
    expect(standardError).toBeCloseTo(Math.sqrt(18 + 48), 12);
    // There are (18 + 48)^2 / (18^2 + 48^2) = 1.6575 degrees of freedom; the factor is SciPy's t.ppf(0.975,
    // 1.6575342465753424).
    expect(high - value).toBeCloseTo(5.27762222993583 * Math.sqrt(66), 6);
    expect(low).toBeCloseTo(2 * value - high, 10);
  });

  it('has a lower limit of at least the observed sum of nonnegative values', () => {
    const rows = samplesOf(['a', 0.5, 3], ['b', 0.5, 2]);
    expect(estimateOf(horvitzThompsonTotal(rows, sampled)).low).toBe(5);
  });

  it('is zero for a complete window without queries', () => {
    expect(horvitzThompsonTotal([], complete)).toMatchObject({
      kind: 'estimate',
      value: 0,
      low: 0,
      high: 0,
    });
  });

  it('rejects values that overflow', () => {
    const rows = samplesOf(['a', 1e-200, 1e200], ['b', 0.5, 1]);
    expect(() => horvitzThompsonTotal(rows, sampled)).toThrow(RangeError);
  });
});

describe('the variance over sessions', () => {
  it('is the sum over all pairs of queries in a session, for any probabilities', () => {
    const row = fc.tuple(
      fc.constantFrom('a', 'b', 'c'),
      fc.integer({ min: 1, max: 100 }).map((percent) => percent / 100),
      fc.integer({ min: -100, max: 100 }),
    );
    fc.assert(
      fc.property(fc.array(row, { maxLength: 15 }), (list) => {
        const rows = samplesOf(...list);
        const expected = varianceByPairs(rows);
        const scale = rows.reduce((sum, { value, probability }) => sum + (value / probability) ** 2, 1);
        const { variance, degreesOfFreedom } = clusterVariance(rows);
        expect(Math.abs(variance - expected) / scale).toBeLessThan(1e-10);
        expect(variance).toBeGreaterThanOrEqual(0);
        expect(degreesOfFreedom).toBeGreaterThanOrEqual(variance > 0 ? 1 : 0);
        expect(degreesOfFreedom).toBeLessThanOrEqual(3 + 1e-9);
      }),
    );
  });

  it('counts sessions, not queries, as the effective sample size', () => {
    const one = { probability: 0.5 };
    expect(effectiveClusters([])).toBe(0);
    expect(
      effectiveClusters([
        { cluster: 'a', ...one },
        { cluster: 'b', ...one },
      ]),
    ).toBe(2);
    // The clusters have the weights 6 and 2.
    const three = [1, 2, 3].map(() => ({ cluster: 'a', ...one }));
    expect(effectiveClusters([...three, { cluster: 'b', ...one }])).toBeCloseTo(64 / 40, 12);
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clusterVariance, effectiveClusters } from '../../../../../src/live/rules/sampling/cluster-variance.ts';
import {
  type EstimateOutcome,
  hajekBoundedMean,
  hajekMean,
  hajekProportion,
  hajekRatio,
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

/** The cluster variance as a sum over all pairs. */
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

const estimators = [
  ['total', horvitzThompsonTotal],
  ['mean', hajekMean],
  ['proportion', hajekProportion],
  [
    'bounded mean',
    (rows: ReturnType<typeof samplesOf>, window: { isComplete: boolean }) =>
      hajekBoundedMean(rows, window, { low: 0, high: 1 }),
  ],
] as const;

describe.each(estimators)('the estimated %s', (name, estimator) => {
  it('is not known without samples of a sampled window', () => {
    expect(estimator([], sampled)).toEqual({ kind: 'insufficient_data', have: 0, need: 2 });
  });

  it('is not known from one session, however many queries it has', () => {
    const rows = samplesOf(['a', 0.5, 1], ['a', 0.5, 0], ['a', 0.5, 1]);
    expect(estimator(rows, sampled)).toEqual({ kind: 'insufficient_data', have: 1, need: 2 });
  });

  it('is not known from queries that were kept by rule alone, because nothing tells of the others', () => {
    const rows = samplesOf(['a', 1, 1], ['b', 1, 0], ['c', 1, 1]);
    expect(estimator(rows, sampled)).toEqual({ kind: 'insufficient_data', have: 0, need: 2 });
  });

  it('is exact when the window is complete', () => {
    const rows = samplesOf(['a', 1, 1], ['a', 1, 0], ['c', 1, 1], ['d', 1, 1]);
    const value = name === 'total' ? 3 : 0.75;
    expect(estimator(rows, complete)).toMatchObject({
      kind: 'estimate',
      value,
      low: value,
      high: value,
      standardError: 0,
      n: 4,
    });
    expect(estimator(rows.slice(0, 1), complete)).toMatchObject({
      kind: 'estimate',
      value: 1,
      low: 1,
      high: 1,
    });
  });

  it.each([0, -1, 1.5, Number.NaN])('refuses a probability of %s', (probability) => {
    expect(() => estimator(samplesOf(['a', probability, 1], ['b', 0.5, 1]), sampled)).toThrow(RangeError);
  });

  it('refuses a complete window with a probability below 1', () => {
    expect(() => estimator(samplesOf(['a', 0.5, 1]), complete)).toThrow(RangeError);
  });

  it('refuses a value that is not a number', () => {
    expect(() => estimator(samplesOf(['a', 0.5, Number.NaN], ['b', 0.5, 1]), sampled)).toThrow(RangeError);
  });

  it('is finite and within its bounds for any samples', () => {
    const row = fc.record({
      cluster: fc.integer({ min: 0, max: 5 }),
      probability: fc.constantFrom(1, 0.5, 0.1, 0.003, 1e-7),
      value: fc.constantFrom(0, 1),
    });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 12 }), (rows) => {
        const outcome = estimator(rows as never, sampled);
        if (outcome.kind === 'insufficient_data') return;
        const { value, low, high, standardError } = outcome;
        expect([value, low, high, standardError].every(Number.isFinite)).toBe(true);
        expect(low).toBeLessThanOrEqual(value);
        expect(high).toBeGreaterThanOrEqual(value);
      }),
    );
  });
});

describe('the estimated total', () => {
  it('weighs by the inverse probability, with t bounds by the degrees of freedom of its variance', () => {
    const rows = samplesOf(['a', 0.5, -3], ['b', 0.25, 2], ['c', 1, 4]);
    const { value, low, high, standardError } = estimateOf(horvitzThompsonTotal(rows, sampled));
    expect(value).toBe(-6 + 8 + 4);
    // (1 - .5) / .25 * 9 + (1 - .25) / .0625 * 4 + 0
    expect(standardError).toBeCloseTo(Math.sqrt(18 + 48), 12);
    // (18 + 48)^2 / (18^2 + 48^2) = 1.6575 degrees of freedom; SciPy: t.ppf(0.975, 1.6575342465753424).
    expect(high - value).toBeCloseTo(5.27762222993583 * Math.sqrt(66), 6);
    expect(low).toBeCloseTo(2 * value - high, 10);
  });

  it('is at least what was seen when nothing counts negatively', () => {
    const rows = samplesOf(['a', 0.5, 3], ['b', 0.5, 2]);
    expect(estimateOf(horvitzThompsonTotal(rows, sampled)).low).toBe(5);
  });

  it('is zero for a complete window without queries', () => {
    expect(horvitzThompsonTotal([], complete)).toMatchObject({
      kind: 'estimate',
      value: 0,
      low: 0,
      high: 0,
      n: 0,
    });
  });

  it('refuses to overflow', () => {
    const rows = samplesOf(['a', 1e-200, 1e200], ['b', 0.5, 1]);
    expect(() => horvitzThompsonTotal(rows, sampled)).toThrow(RangeError);
  });
});

describe('the estimated mean', () => {
  it('of a complete window without queries is not known', () => {
    expect(hajekMean([], complete)).toEqual({ kind: 'insufficient_data', have: 0, need: 1 });
  });

  it('has the linearised standard error over sessions, corrected for the fit', () => {
    const { value, standardError } = estimateOf(
      hajekMean(samplesOf(['a', 0.5, 3], ['b', 0.2, 5], ['b', 0.2, 1], ['c', 1, 2]), sampled),
    );
    // Weights 2, 5, 5 and 1: (6 + 25 + 5 + 2) / 13.
    expect(value).toBeCloseTo(38 / 13, 12);
    // Weighted residuals: a 2 (3 - 38/13), b 5 (6 - 76/13); two sessions drawn by chance.
    const a = (1 - 0.5) * (2 * (3 - 38 / 13)) ** 2;
    const b = (1 - 0.2) * (5 * (6 - 76 / 13)) ** 2;
    expect(standardError).toBeCloseTo(Math.sqrt(((2 / 1) * (a + b)) / 13 ** 2), 12);
  });

  it('does not move when values shift or all probabilities shrink alike', () => {
    const rows = samplesOf(['a', 0.5, 3], ['b', 0.2, 5], ['b', 0.2, 1], ['c', 0.4, 2]);
    const plain = estimateOf(hajekMean(rows, sampled));
    const shifted = hajekMean(
      rows.map((row) => ({ ...row, value: row.value + 100 })),
      sampled,
    );
    expect(estimateOf(shifted).value).toBeCloseTo(plain.value + 100, 10);
    expect(estimateOf(shifted).standardError).toBeCloseTo(plain.standardError, 10);
    const thinned = hajekMean(
      rows.map((row) => ({ ...row, probability: row.probability / 8 })),
      sampled,
    );
    expect(estimateOf(thinned).value).toBeCloseTo(plain.value, 12);
  });

  it('is a ratio whose denominators are one, and queries without a part in a ratio change nothing', () => {
    const rows = samplesOf(['a', 0.5, 3], ['b', 0.2, 5], ['c', 0.4, 2]);
    const ratios = rows.map((row) => ({ ...row, numerator: row.value, denominator: 1 }));
    const without = { cluster: 'd', probability: 0.1, numerator: 0, denominator: 0 };
    expect(hajekRatio([...ratios, without], sampled)).toEqual(hajekMean(rows, sampled));
  });

  it('of nothing but zero denominators is not known, and a negative denominator is refused', () => {
    const row = { cluster: 'a', probability: 0.5, numerator: 1, denominator: 0 };
    expect(hajekRatio([row, { ...row, cluster: 'b' }], sampled)).toEqual({
      kind: 'insufficient_data',
      have: 0,
      need: 2,
    });
    expect(() => hajekRatio([{ ...row, denominator: -1 }], sampled)).toThrow(RangeError);
  });
});

describe('the bounds of a share', () => {
  it('stay apart when all samples agree, as Wilson has it for that many sessions', () => {
    const rows = Array.from({ length: 30 }, (_, i) => ({ cluster: i, probability: 0.1, value: 0 }));
    const { value, low, high } = estimateOf(hajekProportion(rows, sampled));
    expect([value, low]).toEqual([0, 0]);
    // z^2 / (n + z^2) for n = 30.
    expect(high).toBeCloseTo(0.11351335, 7);
    expect(estimateOf(hajekMean(rows, sampled)).high).toBe(0);
  });

  it('are in doubt only for the part that chance drew', () => {
    const drawn = Array.from({ length: 30 }, (_, i) => ({ cluster: i, probability: 0.1, value: 1 }));
    const certain = Array.from({ length: 300 }, (_, i) => ({ cluster: `c${i}`, probability: 1, value: 1 }));
    const { low, high } = estimateOf(hajekProportion([...drawn, ...certain], sampled));
    expect(high).toBe(1);
    expect(low).toBeCloseTo(1 - 0.11351335 / 2, 7);
  });

  it('refuse other values than 0 and 1, or values out of their range', () => {
    expect(() => hajekProportion(samplesOf(['a', 0.5, 0.5]), sampled)).toThrow(RangeError);
    expect(() => hajekBoundedMean(samplesOf(['a', 0.5, 2]), sampled, { low: 0, high: 1 })).toThrow(RangeError);
  });
});

describe('the variance over sessions', () => {
  it('is the sum over all pairs of a session, for any probabilities within it', () => {
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
        const { variance, degreesOfFreedom } = clusterVariance(
          rows,
          rows.map((r) => r.value),
        );
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
    // Weights of 6 and 2.
    const three = [1, 2, 3].map(() => ({ cluster: 'a', ...one }));
    expect(effectiveClusters([...three, { cluster: 'b', ...one }])).toBeCloseTo(64 / 40, 12);
  });
});

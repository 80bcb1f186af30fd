import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ClickedQuery } from '../../../../../src/live/rules/feedback/click-rates.ts';
import {
  clicksOverExpectedClicks,
  weightedCountInterval,
} from '../../../../../src/live/rules/feedback/clicks-over-expected-clicks.ts';
import { aBaselineCtr, aClickedQuery } from './builders.ts';

const Z = 1.959963984540054;

describe('the interval of a weighted count', () => {
  // Exact 95 % Poisson limits (Garwood 1936).
  it.each([
    [1, 0.0253, 5.5716, 0.5],
    [5, 1.6235, 11.6683, 0.02],
    [10, 4.7954, 18.3904, 0.003],
    [20, 12.2165, 30.8884, 0.002],
    [100, 81.3637, 121.627, 0.001],
  ])('of %d events of weight 1 is the Poisson interval', (count, low, high, relative) => {
    const interval = weightedCountInterval(count, count, 1, Z);
    expect(Math.abs(interval.low / low - 1)).toBeLessThan(relative);
    expect(Math.abs(interval.high / high - 1)).toBeLessThan(Math.min(relative, 0.01));
  });

  it('of no events is 0 to 3.7 times the weight', () => {
    const { low, high } = weightedCountInterval(0, 0, 2, Z);
    expect(low).toBe(0);
    expect(Math.abs(high / (2 * 3.6889) - 1)).toBeLessThan(0.01);
  });

  it('scales with the weight of the events', () => {
    const one = weightedCountInterval(12, 12, 1, Z);
    const ten = weightedCountInterval(120, 1200, 10, Z);
    expect(ten.low).toBeCloseTo(10 * one.low, 9);
    expect(ten.high).toBeCloseTo(10 * one.high, 9);
  });

  it('contains the count, and is finite and never negative', () => {
    const size = fc.double({ min: 0, max: 1e9, noNaN: true });
    const weight = fc.double({ min: 1, max: 1e6, noNaN: true });
    const quantile = fc.double({ min: 1, max: 700, noNaN: true });
    fc.assert(
      fc.property(size, size, weight, quantile, (count, variance, largest, z) => {
        const { low, high } = weightedCountInterval(count, variance, largest, z);
        expect(low).toBeGreaterThanOrEqual(0);
        expect(low).toBeLessThanOrEqual(count);
        expect(high).toBeGreaterThanOrEqual(count);
        expect(high).toBeLessThan(Number.POSITIVE_INFINITY);
      }),
      { numRuns: 500 },
    );
  });
});

const reference = aBaselineCtr([0.4, 0.1]);

type Coec = Extract<ReturnType<typeof clicksOverExpectedClicks>, { kind: 'coec' }>;

function coecOf(queries: readonly ClickedQuery[], of = reference): Coec {
  const coec = clicksOverExpectedClicks(queries, of);
  if (coec.kind !== 'coec') throw new Error('There were too few sessions.');
  return coec;
}

/**
 * True if the outcome reports too few sessions, or if its bounds are finite, nonnegative and different, and contain the
 * value.
 */
function isSound(outcome: ReturnType<typeof clicksOverExpectedClicks>): boolean {
  if (outcome.kind === 'insufficient_data') return outcome.have < outcome.need;
  const { value, low, high } = outcome;
  return 0 <= low && low <= value && value < high && high < Number.POSITIVE_INFINITY;
}

/** Returns the COEC of two sessions: one with the given clicks among `shown` documents, and one without clicks. */
function coecOfTwo(clickedRanks: readonly number[], shown: number): Coec {
  return coecOf([aClickedQuery({ cluster: 's1', shown, clickedRanks }), aClickedQuery({ cluster: 's2', shown: 2 })]);
}

describe('clicks over expected clicks', () => {
  it('equal the hand-computed value', () => {
    const queries = [
      aClickedQuery({ cluster: 's1', shown: 2, clickedRanks: [1] }),
      aClickedQuery({ cluster: 's2', shown: 1 }),
      aClickedQuery({ cluster: 's3', shown: 2, clickedRanks: [1, 2] }),
    ];
    const coec = coecOf(queries);
    expect(coec.value).toBeCloseTo(3 / (0.5 + 0.4 + 0.5), 12);
    expect(coec.n).toBe(3);
  });

  it('weight clicks and expected clicks alike, by the number of queries that a sample represents', () => {
    const queries = [
      aClickedQuery({ cluster: 's1', probability: 0.1, shown: 1, clickedRanks: [1] }),
      aClickedQuery({ cluster: 's2', probability: 1, shown: 2 }),
    ];
    expect(coecOf(queries).value).toBeCloseTo(10 / (10 * 0.4 + 0.5), 12);
  });

  it.each([0, 8])('do not depend on the sampling rate, here with %d clicks', (clicks) => {
    const queries = (probability: number) =>
      Array.from({ length: 30 }, (_, cluster) =>
        aClickedQuery({ cluster, probability, shown: 2, clickedRanks: cluster < clicks ? [1] : [] }),
      );
    const [whole, sampled] = [coecOf(queries(1)), coecOf(queries(0.125))];
    expect(sampled.value).toBeCloseTo(whole.value, 12);
    expect(sampled.low).toBeCloseTo(whole.low, 12);
    expect(sampled.high).toBeCloseTo(whole.high, 12);
  });

  it('ignore ranks beyond the baseline', () => {
    expect(coecOfTwo([1, 3, 7], 10)).toEqual(coecOfTwo([1], 2));
  });

  it('ignore queries without results', () => {
    const queries = ['s1', 's2'].map((cluster) => aClickedQuery({ cluster, clickedRanks: [1] }));
    const empty = aClickedQuery({ cluster: 's3', shown: 0, probability: 0.001 });
    expect(coecOf([...queries, empty])).toEqual(coecOf(queries));
  });

  it('do not claim certainty without clicks', () => {
    const queries = Array.from({ length: 50 }, (_, cluster) => aClickedQuery({ cluster, shown: 2 }));
    const { value, low, high } = coecOf(queries);
    expect([value, low]).toEqual([0, 0]);
    // With 25 expected clicks and no observed click, the bound is 3.7 / 25, plus a little for the 49 degrees of
    // freedom.
    expect(high).toBeGreaterThan(0.147);
    expect(high).toBeLessThan(0.16);
  });

  it('do not claim certainty if all sessions clicked alike', () => {
    const queries = Array.from({ length: 30 }, (_, cluster) => aClickedQuery({ cluster, shown: 1, clickedRanks: [1] }));
    const { value, low, high } = coecOf(queries);
    expect(value).toBeCloseTo(2.5, 12);
    expect(low).toBeLessThan(1.8);
    expect(high).toBeGreaterThan(3.3);
  });

  it('have a wider interval with an uncertain baseline', () => {
    const queries = Array.from({ length: 200 }, (_, cluster) =>
      aClickedQuery({ cluster, shown: 2, clickedRanks: cluster % 5 < 2 ? [1] : [] }),
    );
    const sure = coecOf(queries);
    const unsure = coecOf(queries, {
      ...reference,
      covariance: [
        [0.0016, 0],
        [0, 0.0001],
      ],
    });
    expect(unsure.value).toBe(sure.value);
    expect(unsure.high - unsure.low).toBeGreaterThan(1.2 * (sure.high - sure.low));
  });

  it('are insufficient data with fewer than two sessions, never NaN', () => {
    const outcome = { kind: 'insufficient_data', of: 'sessions', need: 2 };
    expect(clicksOverExpectedClicks([], reference)).toEqual({ ...outcome, have: 0 });
    expect(clicksOverExpectedClicks([aClickedQuery()], reference)).toEqual({ ...outcome, have: 1 });
    expect(clicksOverExpectedClicks([aClickedQuery({ shown: 0 })], reference)).toEqual({
      ...outcome,
      have: 0,
    });
  });

  it('lie within their confidence interval, which is finite and never negative', () => {
    const aQuery = fc.record({
      cluster: fc.integer({ min: 0, max: 5 }),
      probability: fc.constantFrom(1, 0.5, 0.01, 1e-6),
      shown: fc.constant(10),
      clickedRanks: fc.uniqueArray(fc.integer({ min: 1, max: 10 }), { maxLength: 4 }),
    });
    const rates = fc.array(fc.double({ min: 1e-6, max: 1, noNaN: true }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(fc.array(aQuery, { maxLength: 20 }), rates, (queries, rates) => {
        const coec = clicksOverExpectedClicks(queries, aBaselineCtr(rates));
        expect(isSound(coec)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

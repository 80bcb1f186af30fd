import { array, assert, double, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { repeatDensity, type ScorePair } from '../../../../src/density/rules/query-density.ts';
import { baselineScores } from '../../../../src/density/rules/query-score.ts';

/** Scores 0.001 to 1. */
const scores = baselineScores(
  Array.from({ length: 1000 }, (_, i) => (i + 1) / 1000),
  [],
  0,
);
const same = (n: number): ScorePair[] =>
  Array.from({ length: n }, (_, i) => ({ before: (i + 1) / n, now: (i + 1) / n }));
/** The last `dropped` queries no longer find any chunk. */
const lost = (n: number, dropped: number): ScorePair[] =>
  same(n).map((pair, i) => (i < n - dropped ? pair : { ...pair, now: -1 }));

describe('repeatDensity', () => {
  it('is exactly 1 for an unchanged store, with an interval that reflects the number of queries', () => {
    const { density, ciLow, ciHigh, ciMethod, dropped } = repeatDensity(same(100), scores);
    expect({ density, ciMethod, dropped }).toEqual({ density: 1, ciMethod: 'wilson', dropped: 0 });
    // The bound is exp(-0.037 ln 100): Wilson's upper bound for 0 of 100 is 0.037, and each such query may have the
    // maximum change in surprise.
    expect(ciLow).toBeCloseTo(0.84336, 5);
    expect(ciHigh).toBeCloseTo(1 / 0.84336, 4);
  });

  it('is significantly below 1 if a tenth of the queries lost their results', () => {
    const { density, ciHigh, dropped } = repeatDensity(lost(100, 10), scores);
    expect(dropped).toBe(10);
    expect(density).toBeLessThan(0.7);
    expect(ciHigh).toBeLessThan(0.85);
  });

  it('reports no loss for one query in a hundred', () => {
    expect(repeatDensity(lost(100, 1), scores).ciHigh).toBeGreaterThan(1);
  });

  it('rises above 1 if queries find more than before', () => {
    const gained = same(100).map(({ before }) => ({ before, now: Math.min(1, before + 0.3) }));
    expect(repeatDensity(gained, scores).ciLow).toBeGreaterThan(1);
  });

  it('lies within its confidence interval for any scores', () => {
    const score = double({ min: -1, max: 1, noNaN: true });
    assert(
      property(array(record({ before: score, now: score }), { minLength: 1, maxLength: 60 }), (pairs) => {
        const { density, ciLow, ciHigh } = repeatDensity(pairs, scores);
        expect(ciLow).toBeLessThanOrEqual(density + 1e-9);
        expect(ciHigh).toBeGreaterThanOrEqual(density - 1e-9);
        expect([density, ciLow, ciHigh].every((value) => value >= 0 && Number.isFinite(value))).toBe(true);
      }),
    );
  });
});

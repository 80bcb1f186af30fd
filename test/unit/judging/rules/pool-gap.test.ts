import { array, assert, double, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PooledQuery, poolGap, poolScores } from '../../../../src/judging/rules/judged-measures.ts';

describe('nDCG with a judgment pool', () => {
  it('compares the list with better documents of the store', () => {
    const { shown, pooled } = poolScores([1, 2], [3, 0, 1], 2);
    const gain = 1 + 2 / Math.log2(3);
    expect(shown).toBeCloseTo(gain / (2 + 1 / Math.log2(3)), 12);
    expect(pooled).toBeCloseTo(gain / (3 + 2 / Math.log2(3)), 12);
  });

  it('equals nDCG without the pool if the store contains nothing better', () => {
    const { shown, pooled } = poolScores([3, 3], [2, 1, 0], 2);
    expect(pooled).toBe(shown);
  });

  it('never exceeds nDCG without the pool, and both lie in [0, 1]', () => {
    const grades = array(integer({ min: 0, max: 3 }), { maxLength: 12 });
    assert(
      property(grades, grades, integer({ min: 1, max: 10 }), (given, others, depth) => {
        const { shown, pooled } = poolScores(given, others, depth);
        expect(pooled).toBeLessThanOrEqual(shown + 1e-12);
        expect(pooled).toBeGreaterThanOrEqual(0);
        expect(shown).toBeLessThanOrEqual(1 + 1e-12);
      }),
    );
  });
});

const searched = (cluster: number, gap: number, probability = 0.01): PooledQuery => ({
  cluster,
  outcome: 'ok',
  probability,
  gap,
});

describe('the pool gap', () => {
  it('counts failed queries as queries without a gap, by their share of the traffic', () => {
    const failed = [0.7, 0.8].map((cluster): PooledQuery => ({ ...searched(cluster, 0, 0.5), outcome: 'error' }));
    const found = poolGap([searched(0.1, 0.4), searched(0.2, 0.4), ...failed], { ok: 300, error: 100 });
    expect(found?.value).toBeCloseTo(0.3, 12);
    expect(found?.n).toBe(2);
  });

  it('weights a query by its inverse probability', () => {
    const found = poolGap([searched(0.1, 0.6, 0.01), searched(0.2, 0, 0.02)], { ok: 150 });
    expect(found?.value).toBeCloseTo(0.4, 12);
  });

  it('is unknown for a single session', () => {
    expect(poolGap([searched(0.1, 0.4), searched(0.1, 0.2)], { ok: 10 })).toBeNull();
    expect(poolGap([], {})).toBeNull();
  });

  it('lies within its interval, and the interval in [0, 1]', () => {
    const gap = double({ min: 0, max: 1, noNaN: true });
    const query = record({
      cluster: integer({ min: 0, max: 9 }),
      gap,
      probability: double({ min: 0.001, max: 1, noNaN: true }),
    });
    assert(
      property(array(query, { maxLength: 30 }), (queries) => {
        const found = poolGap(
          queries.map((one) => ({ ...one, outcome: 'ok' })),
          { ok: 1000 },
        );
        if (found === null) return;
        expect(found.low).toBeLessThanOrEqual(found.value + 1e-12);
        expect(found.high).toBeGreaterThanOrEqual(found.value - 1e-12);
        expect(found.low).toBeGreaterThanOrEqual(0);
        expect(found.high).toBeLessThanOrEqual(1);
      }),
    );
  });
});

import { describe, expect, it } from 'vitest';
import type { ClickedQuery } from '../../../../../src/live/rules/feedback/click-rates.ts';
import { type BaselineCtr, baselineCtr } from '../../../../../src/live/rules/feedback/clicks-over-expected-clicks.ts';
import { uniforms } from '../../../../support/uniforms.ts';
import { aClickedQuery } from './builders.ts';

/** Sessions of one query each; one in five has a click at rank 1, and one in ten at rank 2. */
function baseline(sessions: number, parts: Partial<ClickedQuery> = {}): ClickedQuery[] {
  return Array.from({ length: sessions }, (_, cluster) => {
    const clickedRanks = [...(cluster % 5 === 0 ? [1] : []), ...(cluster % 10 === 0 ? [2] : [])];
    return aClickedQuery({ cluster, shown: 2, clickedRanks, ...parts });
  });
}

function referenceOf(queries: readonly ClickedQuery[], cutoff?: number): BaselineCtr {
  const reference = baselineCtr(queries, cutoff);
  if (reference.kind !== 'baseline') throw new Error('There was too little data.');
  return reference;
}

describe('the baseline CTR', () => {
  it('is the share of clicked documents at each rank, smoothed towards the overall share', () => {
    const { rates, queries, sessions, clicks } = referenceOf(baseline(200));
    expect(rates[0]).toBeCloseTo((200 * 0.2 + 0.15) / 201, 12);
    expect(rates[1]).toBeCloseTo((200 * 0.1 + 0.15) / 201, 12);
    expect({ depth: rates.length, queries, sessions, clicks }).toEqual({
      depth: 2,
      queries: 200,
      sessions: 200,
      clicks: 60,
    });
  });

  it('expects as many clicks as the baseline had', () => {
    const { rates } = referenceOf(baseline(200));
    expect(rates.reduce((sum, rate) => sum + rate, 0) * 200).toBeCloseTo(60, 9);
  });

  it('is above 0 at a rank without clicks', () => {
    const { rates } = referenceOf(baseline(200, { shown: 3 }));
    expect(rates[2]).toBeCloseTo(0.1 / 201, 12);
  });

  it('extends no deeper than the cutoff', () => {
    expect(referenceOf(baseline(200, { shown: 20 }), 5).rates).toHaveLength(5);
    expect(referenceOf(baseline(200, { shown: 20 })).rates).toHaveLength(10);
  });

  it('ends at the first rank with too few sessions', () => {
    const queries = [...baseline(200), ...baseline(99, { shown: 9 })];
    expect(referenceOf(queries).rates).toHaveLength(2);
    expect(referenceOf([...queries, aClickedQuery({ cluster: 1000, shown: 4 })]).rates).toHaveLength(4);
  });

  it('weights a sampled query by the number of queries that it represents', () => {
    // Sessions with clicks were always sampled, other sessions with probability 1/4; without weights, the CTR at rank 1
    // would be 1/2.
    const queries = Array.from({ length: 400 }, (_, cluster) =>
      aClickedQuery({
        cluster,
        shown: 1,
        ...(cluster % 2 === 0 ? { clickedRanks: [1] } : { probability: 0.25 }),
      }),
    );
    expect(referenceOf(queries).rates[0]).toBeCloseTo(0.2, 2);
  });

  it('has the covariance of independent clicks when clicks are independent', () => {
    const uniform = uniforms(1);
    const queries = Array.from({ length: 20_000 }, (_, cluster) =>
      aClickedQuery({ cluster, shown: 2, clickedRanks: [1, 2].filter((rank) => uniform() < 0.4 / rank) }),
    );
    const { covariance } = referenceOf(queries);
    expect((covariance[0]?.[0] ?? 0) / ((0.4 * 0.6) / 20_000)).toBeCloseTo(1, 1);
    expect((covariance[1]?.[1] ?? 0) / ((0.2 * 0.8) / 20_000)).toBeCloseTo(1, 1);
    expect(Math.abs(covariance[0]?.[1] ?? 1)).toBeLessThan((0.03 * 0.2) / 20_000);
    expect(covariance[0]?.[1]).toBeCloseTo(covariance[1]?.[0] ?? 1, 15);
  });

  it('has the same variance if every query is repeated within its session', () => {
    const queries = baseline(400);
    const once = referenceOf(queries).covariance[0]?.[0] ?? 0;
    const twice = referenceOf([...queries, ...queries]).covariance[0]?.[0] ?? 0;
    expect(twice / once).toBeCloseTo(1, 6);
  });

  it('is unchanged after storage as JSON', () => {
    const reference = referenceOf(baseline(150));
    expect(JSON.parse(JSON.stringify(reference))).toEqual(reference);
  });

  it.each([
    ['no queries', [], { of: 'sessions', have: 0, need: 100 }],
    ['too few sessions', baseline(99), { of: 'sessions', have: 99, need: 100 }],
    ['one session of many queries', baseline(500, { cluster: 's1' }), { of: 'sessions', have: 1, need: 100 }],
    ['no clicks', baseline(500, { clickedRanks: [] }), { of: 'clicks', have: 0, need: 20 }],
    ['no shown documents', baseline(500, { shown: 0, clickedRanks: [] }), { of: 'sessions', have: 0, need: 100 }],
  ])('is insufficient data with %s, never NaN', (_what, queries, lack) => {
    expect(baselineCtr(queries)).toEqual({ kind: 'insufficient_data', ...lack });
  });

  it.each([0, 2, Number.NaN, 1e-160])('rejects a probability of %d', (probability) => {
    expect(() => baselineCtr(baseline(200, { probability }))).toThrow(RangeError);
  });
});

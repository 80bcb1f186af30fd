import { describe, expect, it } from 'vitest';
import { randomNumbers } from '../../../../../bench/random-numbers.ts';
import { deadChunks, findHubs, type ReturnedDocument } from '../../../../../src/index/truth/rules/hubs.ts';

const returned = (id: string, queries: number): ReturnedDocument => ({ id, queries, examples: [] });

describe('hub documents', () => {
  it('have a share significantly above ten times the mean and above one in fifty', () => {
    const top = [returned('hub', 120), returned('popular', 25), returned('usual', 4)];
    const hubs = findHubs({ queries: 1000, documents: 2000, results: 10_000, top });
    expect(hubs?.map(({ id }) => id)).toEqual(['hub']);
    expect(hubs?.[0]).toMatchObject({ share: 0.12 });
    expect(hubs?.[0]?.low).toBeGreaterThan(0.05);
    expect(hubs?.[0]?.high).toBeLessThan(0.19);
  });

  it('do not exist in a small store, where every document is retrieved often', () => {
    const top = [returned('a', 500), returned('b', 400)];
    expect(findHubs({ queries: 1000, documents: 40, results: 10_000, top })).toEqual([]);
  });

  it('are unknown for fewer than a hundred queries, and empty if nothing was retrieved', () => {
    expect(findHubs({ queries: 99, documents: 10, results: 99, top: [returned('a', 99)] })).toBe(null);
    expect(findHubs({ queries: 100, documents: 0, results: 0, top: [] })).toEqual([]);
  });

  it('are not found among documents retrieved at random', () => {
    const random = randomNumbers(7);
    for (let round = 0; round < 50; round++) {
      const counts = new Map<string, number>();
      for (let question = 0; question < 300; question++) {
        const retrieved = new Set(Array.from({ length: 10 }, () => `d${Math.floor(random.uniform() * 2000)}`));
        for (const id of retrieved) counts.set(id, (counts.get(id) ?? 0) + 1);
      }
      const top = [...counts].map(([id, queries]) => returned(id, queries));
      const results = top.reduce((sum, { queries }) => sum + queries, 0);
      expect(findHubs({ queries: 300, documents: top.length, results, top })).toEqual([]);
    }
  });
});

describe('dead chunks', () => {
  it('are the sampled chunks that were never retrieved, with their share and interval', () => {
    const sampled = Array.from({ length: 100 }, (_, place) => `c${place}`);
    const dead = deadChunks(sampled, new Set(sampled.slice(0, 60)));
    expect(dead).toMatchObject({ share: 0.4, sampled: 100 });
    expect(dead?.ids).toHaveLength(40);
    // The bounds are those of Wilson's interval for 40 of 100.
    expect(dead?.low).toBeCloseTo(0.3094, 4);
    expect(dead?.high).toBeCloseTo(0.498, 4);
  });

  it('are unknown if results use other ids than the store', () => {
    expect(deadChunks(['a', 'b'], new Set())).toBe(null);
  });
});

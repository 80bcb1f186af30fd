import { describe, expect, it } from 'vitest';
import { randomNumbers } from '../../../../../bench/random-numbers.ts';
import { deadChunks, hubsOf, type ReturnedDocument } from '../../../../../src/index/truth/rules/hubs.ts';

const returned = (id: string, questions: number): ReturnedDocument => ({ id, questions, examples: [] });

describe('hubs', () => {
  it('are those whose share lies certainly above ten times the mean and above a fiftieth', () => {
    const top = [returned('hub', 120), returned('popular', 25), returned('usual', 4)];
    const hubs = hubsOf({ questions: 1000, documents: 2000, places: 10_000, top });
    expect(hubs?.map(({ id }) => id)).toEqual(['hub']);
    expect(hubs?.[0]).toMatchObject({ share: 0.12 });
    expect(hubs?.[0]?.low).toBeGreaterThan(0.05);
    expect(hubs?.[0]?.high).toBeLessThan(0.19);
  });

  it('are none in a small store, where everything comes back often', () => {
    const top = [returned('a', 500), returned('b', 400)];
    expect(hubsOf({ questions: 1000, documents: 40, places: 10_000, top })).toEqual([]);
  });

  it('are not told from fewer than a hundred questions, nor where nothing came back', () => {
    expect(hubsOf({ questions: 99, documents: 10, places: 99, top: [returned('a', 99)] })).toBe(null);
    expect(hubsOf({ questions: 100, documents: 0, places: 0, top: [] })).toEqual([]);
  });

  it('are not called among documents that come back by chance alone', () => {
    const random = randomNumbers(7);
    for (let round = 0; round < 50; round++) {
      const counts = new Map<string, number>();
      for (let question = 0; question < 300; question++) {
        const brought = new Set(Array.from({ length: 10 }, () => `d${Math.floor(random.uniform() * 2000)}`));
        for (const id of brought) counts.set(id, (counts.get(id) ?? 0) + 1);
      }
      const top = [...counts].map(([id, questions]) => returned(id, questions));
      const places = top.reduce((sum, { questions }) => sum + questions, 0);
      expect(hubsOf({ questions: 300, documents: top.length, places, top })).toEqual([]);
    }
  });
});

describe('dead chunks', () => {
  it('are the drawn ones that never came back, with their share and its bounds', () => {
    const sampled = Array.from({ length: 100 }, (_, place) => `c${place}`);
    const dead = deadChunks(sampled, new Set(sampled.slice(0, 60)));
    expect(dead).toMatchObject({ share: 0.4, sampled: 100 });
    expect(dead?.ids).toHaveLength(40);
    // Wilson's interval of 40 of 100.
    expect(dead?.low).toBeCloseTo(0.3094, 4);
    expect(dead?.high).toBeCloseTo(0.498, 4);
  });

  it('are not told where the answers have other ids than the store', () => {
    expect(deadChunks(['a', 'b'], new Set())).toBe(null);
  });
});

import { describe, expect, it } from 'vitest';
import { overlapOf, weightedShare } from '../../../../src/shadow/rules/relevance.ts';

describe('two lists', () => {
  it('are the same, or not, by document and order', () => {
    expect(overlapOf(['a', 'b'], ['a', 'b'], null, 10)).toEqual({ overlap: 1, isChanged: false });
    expect(overlapOf(['a', 'b'], ['b', 'a'], null, 10)).toMatchObject({ isChanged: true });
    expect(overlapOf(['a'], ['c'], null, 10)).toEqual({ overlap: 0, isChanged: true });
    expect(overlapOf([], [], null, 10)).toEqual({ overlap: 1, isChanged: false });
  });

  it('of chunks that are cut otherwise are compared by document', () => {
    expect(overlapOf(['a#1', 'a#2', 'b#1'], ['a#9', 'b#4'], '#', 10)).toEqual({ overlap: 1, isChanged: false });
  });
});

describe('a share of all traffic', () => {
  it('weighs each query by what it stands for, with bounds for as many sessions as tell as much', () => {
    // One query that stands for 30 and ten that stand for one each.
    const sums = { n: 11, weights: 40, squares: 910 };
    const share = weightedShare(sums, 10);
    expect(share?.value).toBe(0.25);
    expect(share?.n).toBe(11);
    // 1600 / 910 sessions tell next to nothing.
    expect(share?.high).toBeGreaterThan(0.8);
  });

  it('is unknown without a query', () => {
    expect(weightedShare({ n: 0, weights: 0, squares: 0 }, 0)).toBeNull();
  });
});

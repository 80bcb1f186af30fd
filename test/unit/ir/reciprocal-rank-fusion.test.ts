import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reciprocalRankFusion } from '../../../src/ir/ranking.ts';

const ranking = (...ids: readonly string[]) => ids.map((id) => ({ id }));
const idsOf = (fused: readonly { readonly item: { readonly id: string } }[]) =>
  fused.map(({ item }) => item.id);

describe('reciprocal rank fusion', () => {
  it('adds 1 / (constant + rank) over the rankings that have a document', () => {
    const fused = reciprocalRankFusion([ranking('a', 'b', 'c'), ranking('c', 'd')], 60);
    expect(fused.map(({ item, score }) => [item.id, score])).toEqual([
      ['c', 1 / 63 + 1 / 61],
      ['a', 1 / 61],
      ['b', 1 / 62],
      ['d', 1 / 62],
    ]);
  });

  it('puts what both rankings have before what one has, the more so the larger the constant', () => {
    const rankings = [ranking('only', 'x', 'both'), ranking('y', 'z', 'both')];
    expect(idsOf(reciprocalRankFusion(rankings, 60))[0]).toBe('both');
    expect(idsOf(reciprocalRankFusion(rankings, 1))[0]).toBe('only');
  });

  it('counts a repeated document once, at its best place', () => {
    expect(reciprocalRankFusion([ranking('a', 'a', 'b')], 1)).toEqual([
      { item: { id: 'a' }, score: 1 / 2 },
      { item: { id: 'b' }, score: 1 / 4 },
    ]);
  });

  const aRanking = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), { maxLength: 8 });

  it('gives a single ranking back as it is, and every document of any ranking once', () => {
    fc.assert(
      fc.property(aRanking, aRanking, fc.integer({ min: 1, max: 1000 }), (first, second, constant) => {
        expect(idsOf(reciprocalRankFusion([ranking(...first)], constant))).toEqual(first);
        const fused = reciprocalRankFusion([ranking(...first), ranking(...second)], constant);
        expect(idsOf(fused).toSorted()).toEqual([...new Set([...first, ...second])].toSorted());
        const scores = fused.map(({ score }) => score);
        expect(scores).toEqual(scores.toSorted((a, b) => b - a));
      }),
    );
  });
});

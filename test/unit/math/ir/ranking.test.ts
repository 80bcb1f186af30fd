import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyDuplicatePolicy,
  compareCodePoints,
  orderLikeTrecEval,
  reciprocalRankFusion,
} from '../../../../src/math/ir/ranking.ts';

const ranking = (...ids: readonly string[]) => ids.map((id) => ({ id }));
const idsOf = (fused: readonly { readonly item: { readonly id: string } }[]) => fused.map(({ item }) => item.id);

describe('reciprocal rank fusion', () => {
  it('scores each document by the sum of 1 / (constant + rank) over the rankings that contain the document', () => {
    const fused = reciprocalRankFusion([ranking('a', 'b', 'c'), ranking('c', 'd')], 60);
    expect(fused.map(({ item, score }) => [item.id, score])).toEqual([
      ['c', 1 / 63 + 1 / 61],
      ['a', 1 / 61],
      ['b', 1 / 62],
      ['d', 1 / 62],
    ]);
  });

  it('favors documents of both rankings over documents of one, more strongly with a larger constant', () => {
    const rankings = [ranking('only', 'x', 'both'), ranking('y', 'z', 'both')];
    expect(idsOf(reciprocalRankFusion(rankings, 60))[0]).toBe('both');
    expect(idsOf(reciprocalRankFusion(rankings, 1))[0]).toBe('only');
  });

  it('counts a repeated document once, at its best rank', () => {
    expect(reciprocalRankFusion([ranking('a', 'a', 'b')], 1)).toEqual([
      { item: { id: 'a' }, score: 1 / 2 },
      { item: { id: 'b' }, score: 1 / 4 },
    ]);
  });

  const aRanking = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), { maxLength: 8 });

  it('returns a single ranking unchanged, and every document of any ranking once', () => {
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

const documentId = fc.constantFrom('a', 'b', 'B', 'd9', 'd10', 'd100', 'é', '～', '😀', '\u{10000}');
const documents = fc
  .array(fc.record({ id: documentId, score: fc.constantFrom(0, -0, 0.5, 1, 1e-300) }), { maxLength: 30 })
  .map((rows) => ({ ids: rows.map((row) => row.id), scores: rows.map((row) => row.score) }));

describe('compareCodePoints', () => {
  it('agrees with the order of the UTF-8 bytes for any two strings', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        expect(Math.sign(compareCodePoints(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });

  it('sorts an emoji after a full-width tilde, unlike a JavaScript sort', () => {
    expect(compareCodePoints('～', '😀')).toBeLessThan(0);
    expect(['～', '😀'].toSorted()).toEqual(['😀', '～']);
  });
});

describe('orderLikeTrecEval', () => {
  it.each([
    ['the higher score first', ['a', 'b', 'c'], [1, 3, 2], ['b', 'c', 'a']],
    ['ties by id, descending as text', ['d10', 'd100', 'd9'], [1, 1, 1], ['d9', 'd100', 'd10']],
    [
      'lower case before upper case and a longer id before its prefix',
      ['A', 'a', 'ab', 'B'],
      [2, 2, 2, 2],
      ['ab', 'a', 'B', 'A'],
    ],
    ['minus zero tied with zero', ['a', 'b', 'c'], [-0, 0, 0], ['c', 'b', 'a']],
    ['an empty list', [], [], []],
  ])('ranks %s', (_what, ids, scores, expected) => {
    expect(orderLikeTrecEval({ ids, scores }).ids).toEqual(expected);
  });

  it('does not depend on the order in which the documents are given', () => {
    fc.assert(
      fc.property(documents, fc.infiniteStream(fc.nat()), (given, stream) => {
        const shuffled = given.ids
          .map((id, i) => ({ id, score: given.scores[i] ?? 0, key: stream.next().value ?? 0 }))
          .toSorted((a, b) => a.key - b.key);
        const ordered = orderLikeTrecEval({
          ids: shuffled.map((row) => row.id),
          scores: shuffled.map((row) => row.score + 0),
        });
        const expected = orderLikeTrecEval({
          ids: given.ids,
          scores: given.scores.map((score) => score + 0),
        });
        expect(ordered).toEqual(expected);
      }),
    );
  });

  it('does not change its input', () => {
    const given = { ids: ['a', 'b'], scores: [1, 2] };
    orderLikeTrecEval(given);
    expect(given).toEqual({ ids: ['a', 'b'], scores: [1, 2] });
  });
});

describe('applyDuplicatePolicy', () => {
  const repeated = ['a', 'b', 'a', 'c', 'a', 'b'];

  it('with collapse keeps the first occurrence and closes the gaps', () => {
    expect(applyDuplicatePolicy(repeated, 'collapse')).toEqual({ ranking: ['a', 'b', 'c'], duplicates: 3 });
  });

  it('with occupy leaves the ranks of repeats empty', () => {
    expect(applyDuplicatePolicy(repeated, 'occupy')).toEqual({
      ranking: ['a', 'b', null, 'c', null, null],
      duplicates: 3,
    });
  });

  it('with reject throws an error that names the ranking and the document', () => {
    expect(() => applyDuplicatePolicy(repeated, 'reject', 'The query "q1"')).toThrow(
      expect.objectContaining({
        code: 'file_malformed',
        message: expect.stringContaining('The query "q1" contains the document "a" twice'),
      }),
    );
  });

  it.each(['collapse', 'occupy', 'reject'] as const)('with %s does not change a ranking without repeats', (policy) => {
    expect(applyDuplicatePolicy(['a', 'b'], policy)).toEqual({ ranking: ['a', 'b'], duplicates: 0 });
  });
});

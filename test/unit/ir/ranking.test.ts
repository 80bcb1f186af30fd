import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyDuplicatePolicy,
  compareCodePoints,
  countScoreTies,
  orderLikeTrecEval,
} from '../../../src/ir/ranking.ts';

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

  it('puts an emoji behind a full-width tilde, unlike a sort of JavaScript', () => {
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
    ['nothing', [], [], []],
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

  it('leaves what it was given as it was', () => {
    const given = { ids: ['a', 'b'], scores: [1, 2] };
    orderLikeTrecEval(given);
    expect(given).toEqual({ ids: ['a', 'b'], scores: [1, 2] });
  });
});

describe('countScoreTies', () => {
  it.each([
    ['no ties', ['a', 'b', 'c'], [3, 2, 1], 0],
    ['one tied pair', ['a', 'b', 'c'], [3, 2, 2], 1],
    ['a group of three and a pair', ['a', 'b', 'c', 'd', 'e'], [3, 3, 3, 1, 1], 3],
    ['a repeated document, which is no tie', ['a', 'a'], [1, 1], 0],
    ['zero and minus zero', ['a', 'b'], [0, -0], 1],
    ['nothing', [], [], 0],
  ])('counts %s', (_what, ids, scores, expected) => {
    expect(countScoreTies({ ids, scores })).toBe(expected);
  });
});

describe('applyDuplicatePolicy', () => {
  const repeated = ['a', 'b', 'a', 'c', 'a', 'b'];

  it('collapse keeps the first place and closes the gap', () => {
    expect(applyDuplicatePolicy(repeated, 'collapse')).toEqual({ ranking: ['a', 'b', 'c'], duplicates: 3 });
  });

  it('occupy keeps the later places empty', () => {
    expect(applyDuplicatePolicy(repeated, 'occupy')).toEqual({
      ranking: ['a', 'b', null, 'c', null, null],
      duplicates: 3,
    });
  });

  it('reject stops and names the ranking and the document', () => {
    expect(() => applyDuplicatePolicy(repeated, 'reject', 'The query "q1"')).toThrow(
      expect.objectContaining({
        code: 'file_malformed',
        message: expect.stringContaining('The query "q1" holds the document "a" twice'),
      }),
    );
  });

  it.each(['collapse', 'occupy', 'reject'] as const)(
    '%s leaves a ranking without repeats as it is',
    (policy) => {
      expect(applyDuplicatePolicy(['a', 'b'], policy)).toEqual({ ranking: ['a', 'b'], duplicates: 0 });
    },
  );
});

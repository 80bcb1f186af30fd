import { expect, it } from 'vitest';
import { sideBySide } from '../../../../../src/golden/edge/pages/query-sides.ts';

const ranked = (...ids: string[]) => ids.map((id) => ({ id, score: null }));

it('each document is listed with its rank on the other side, and its grade', () => {
  const { before, after } = sideBySide(ranked('a', 'b', 'c'), ranked('b', 'x', 'a'), [
    { documentId: 'a', grade: 2 },
    { documentId: 'x', grade: 0 },
  ]);
  expect(before.map(({ id, rank, otherRank, grade }) => [id, rank, otherRank, grade])).toEqual([
    ['a', 1, 3, 2],
    ['b', 2, 1, null],
    ['c', 3, null, null],
  ]);
  expect(after.map(({ id, rank, otherRank, grade }) => [id, rank, otherRank, grade])).toEqual([
    ['b', 1, 2, null],
    ['x', 2, null, 0],
    ['a', 3, 1, 2],
  ]);
});

it('a document that was returned twice counts at its first rank', () => {
  const { after } = sideBySide([], ranked('a', 'a', 'b'), []);
  expect(after.map(({ id, rank }) => [id, rank])).toEqual([
    ['a', 1],
    ['b', 3],
  ]);
});

it('the missing relevant documents are listed, the highest grade first', () => {
  const { missed } = sideBySide(ranked('a'), ranked('b'), [
    { documentId: 'a', grade: 1 },
    { documentId: 'c', grade: 1 },
    { documentId: 'd', grade: 3 },
    { documentId: 'e', grade: 0 },
  ]);
  expect(missed.map(({ documentId }) => documentId)).toEqual(['d', 'a', 'c']);
});

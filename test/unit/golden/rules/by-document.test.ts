import { describe, expect, it } from 'vitest';
import { answersByDocument, documentOf, queriesByDocument, rankingOf } from '../../../../src/golden/rules/score-run.ts';
import { aGoldenQuery, anAnswer, documents } from '../../../support/builders.ts';

describe('evaluation by document', () => {
  it.each([
    ['kb-17#3', 'kb-17'],
    ['kb-17#3#b', 'kb-17'],
    ['kb-17', 'kb-17'],
    ['#3', '#3'],
  ])('maps the chunk %s to the document %s', (chunk, document) => {
    expect(documentOf(chunk, '#')).toBe(document);
  });

  it('gives a document the best grade of its chunks', () => {
    const judgments = [
      { documentId: 'a#1', grade: 1 },
      { documentId: 'a#2', grade: 3 },
      { documentId: 'b#1', grade: 0 },
    ];
    const [query] = queriesByDocument([aGoldenQuery({ judgments })], '#');
    expect(query?.judgments).toEqual([
      { documentId: 'a', grade: 3 },
      { documentId: 'b', grade: 0 },
    ]);
  });

  it('keeps the order of the returned chunks', () => {
    const [answer] = answersByDocument([anAnswer({ documents: documents('b#2', 'a#1', 'b#1') })], '#');
    expect(answer?.documents.map(({ id }) => id)).toEqual(['b', 'a', 'b']);
  });

  it('counts a copy of a chunk as a rank, but not another chunk of the same document', () => {
    const found = ['a#1', 'a#2', 'a#1', 'b#1'].map((id) => ({ id, score: 0.5 }));
    const [answer] = answersByDocument([anAnswer({ documents: found })], '#');
    expect(rankingOf(answer?.documents ?? [])).toEqual(['a', null, 'b']);
  });
});

import { describe, expect, it } from 'vitest';
import { judgedDocuments, probeLabels } from '../../../../src/golden/rules/labels.ts';
import { aGoldenQuery } from '../../../support/builders.ts';

const judged = (id: string, ...grades: readonly (readonly [string, number])[]) =>
  aGoldenQuery({ id, judgments: grades.map(([documentId, grade]) => ({ documentId, grade })) });

const queries = [
  judged('q1', ['a', 1], ['b', 2]),
  judged('q2', ['b', 1]),
  judged('q3', ['c', 1], ['never-relevant', 0]),
  judged('q4'),
];

describe('the labels of a golden set', () => {
  it('are the documents that some query gains from, each once', () => {
    expect(judgedDocuments(queries)).toEqual(['a', 'b', 'c']);
  });

  it('are alive while every judged document is in the store', () => {
    expect(probeLabels(queries, new Set(['a', 'b', 'c']), 1)).toEqual({
      kind: 'probed',
      probed: 3,
      stale: 0,
      labels: [],
      touched: new Set(),
      dead: new Set(),
    });
  });

  it('are stale query by query when a document is gone, and a query that lost all is dead', () => {
    expect(probeLabels(queries, new Set(['a', 'c']), 1)).toEqual({
      kind: 'probed',
      probed: 3,
      stale: 1,
      labels: [
        { queryId: 'q1', documentId: 'b', grade: 2 },
        { queryId: 'q2', documentId: 'b', grade: 1 },
      ],
      touched: new Set(['q1', 'q2']),
      dead: new Set(['q2']),
    });
  });

  it('are dead by the documents that count as relevant, whatever else is left', () => {
    expect(probeLabels(queries, new Set(['a', 'c']), 2)).toMatchObject({ dead: new Set(['q1']) });
  });
});

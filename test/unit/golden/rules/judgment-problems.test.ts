import { describe, expect, it } from 'vitest';
import { findJudgmentProblems } from '../../../../src/golden/rules/judgment-problems.ts';
import { aGoldenQuery, goldenQueries } from '../../../support/builders.ts';

describe('the problems of a golden set', () => {
  it('are empty for different queries that each have a relevant document', () => {
    const queries = [aGoldenQuery(), aGoldenQuery({ id: 'q2', text: 'Where is my invoice?' })];
    expect(findJudgmentProblems(queries, 1)).toEqual({
      duplicates: [],
      contradictions: [],
      withoutRelevant: [],
    });
  });

  it('include queries that differ only in case and punctuation, and those with nearly the same words', () => {
    const long = 'one two three four five six seven eight nine ten';
    const queries = [
      aGoldenQuery({ id: 'a', text: 'How do I pay?' }),
      aGoldenQuery({ id: 'b', text: 'how do i PAY' }),
      aGoldenQuery({ id: 'c', text: long }),
      aGoldenQuery({ id: 'd', text: `${long} more` }),
    ];
    expect(findJudgmentProblems(queries, 1).duplicates).toEqual([
      { first: 'a', second: 'b', likeness: 'equal', similarity: 1 },
      { first: 'c', second: 'd', likeness: 'near', similarity: 10 / 11 },
    ]);
  });

  it('do not include the same query of two tenants', () => {
    const queries = [
      aGoldenQuery({ id: 'a', tags: { tenant: 'x' } }),
      aGoldenQuery({ id: 'b', tags: { tenant: 'y' } }),
    ];
    expect(findJudgmentProblems(queries, 1).duplicates).toEqual([]);
  });

  it('include a document that is relevant and irrelevant for the same query', () => {
    const queries = [
      aGoldenQuery({
        id: 'a',
        judgments: [
          { documentId: 'd1', grade: 2 },
          { documentId: 'd2', grade: 1 },
        ],
      }),
      aGoldenQuery({
        id: 'b',
        judgments: [
          { documentId: 'd1', grade: 0 },
          { documentId: 'd2', grade: 3 },
        ],
      }),
    ];
    expect(findJudgmentProblems(queries, 1).contradictions).toEqual([
      { first: 'a', second: 'b', documentId: 'd1', grades: [2, 0] },
    ]);
  });

  it('include queries without a relevant document', () => {
    const [first] = goldenQueries(1);
    const queries = [aGoldenQuery({ ...first, judgments: [{ documentId: 'd1', grade: 1 }] })];
    expect(findJudgmentProblems(queries, 2).withoutRelevant).toEqual(['q1']);
    expect(findJudgmentProblems(queries, 1).withoutRelevant).toEqual([]);
  });
});

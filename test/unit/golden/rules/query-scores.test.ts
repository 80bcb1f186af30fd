import { expect, it } from 'vitest';
import { runMeasures, scoreQueries } from '../../../../src/golden/rules/score-run.ts';
import { aGoldenQuery, anAnswer, documents } from '../../../support/builders.ts';

it('scores every query in every measure at every cut-off, and one without an answer 0', () => {
  const queries = [
    aGoldenQuery({ id: 'q1', judgments: [{ documentId: 'a', grade: 1 }] }),
    aGoldenQuery({ id: 'q2', judgments: [{ documentId: 'b', grade: 1 }] }),
    aGoldenQuery({ id: 'q3', judgments: [{ documentId: 'c', grade: 1 }] }),
  ];
  const answers = [
    anAnswer({ queryId: 'q2', documents: documents('x', 'b') }),
    anAnswer({ queryId: 'q1', documents: documents('a') }),
    anAnswer({ queryId: 'of-another-set', documents: documents('a') }),
  ];
  const { keys, columns } = scoreQueries(queries, answers, { cutoffs: [1, 2], relevanceLevel: 1 });
  expect(keys).toHaveLength(2 * runMeasures.length);
  const column = (measure: string, k: number) =>
    columns[keys.findIndex((key) => key.measure === measure && key.k === k)];
  expect(column('hit_rate', 1)).toEqual(Float64Array.of(1, 0, 0));
  expect(column('hit_rate', 2)).toEqual(Float64Array.of(1, 1, 0));
  expect(column('mrr', 2)).toEqual(Float64Array.of(1, 0.5, 0));
});

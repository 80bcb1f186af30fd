import { expect, it } from 'vitest';
import { stabilityOf } from '../../../../src/golden/rules/compare-runs.ts';
import type { QueryAnswer } from '../../../../src/golden/rules/run.ts';

const answer = (queryId: string, ids: string, outcome: QueryAnswer['outcome'] = 'ok'): QueryAnswer => ({
  queryId,
  outcome,
  documents: ids.split('').map((id) => ({ id, score: null })),
  latencyMs: 1,
  attempts: 1,
  errorCode: null,
  errorMessage: null,
});

const byQuery = (answers: readonly QueryAnswer[]) => new Map(answers.map((one) => [one.queryId, one]));

it('the overlap covers queries that were answered before and re-asked, with repeats at their first rank', () => {
  const before = [
    answer('same', 'aab'),
    answer('turned', 'ab'),
    answer('fails', 'ab'),
    answer('was down', '', 'error'),
  ];
  const now = [answer('same', 'ab'), answer('turned', 'ba'), answer('fails', '', 'timeout'), answer('was down', 'ab')];
  const overlaps = stabilityOf([...before, answer('not asked', 'ab')], byQuery(now), 10);
  expect(overlaps.map(({ query }) => query)).toEqual(['same', 'turned', 'fails']);
  expect(overlaps.map(({ overlap }) => Number(overlap.toFixed(9)))).toEqual([1, 0.9, 0]);
});

it('two empty answers are identical', () => {
  expect(stabilityOf([answer('q', '', 'empty')], byQuery([answer('q', '', 'empty')]), 10)).toEqual([
    { query: 'q', overlap: 1 },
  ]);
});

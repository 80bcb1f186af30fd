import { expect, it } from 'vitest';
import type { QueryAnswer } from '../../../../src/golden/rules/run.ts';
import { stabilityOf } from '../../../../src/golden/rules/stability.ts';

const answer = (queryId: string, ids: string, outcome: QueryAnswer['outcome'] = 'ok'): QueryAnswer => ({
  queryId,
  outcome,
  documents: ids.split('').map((id) => ({ id, score: null })),
  latencyMs: 1,
  attempts: 1,
  errorCode: null,
  errorMessage: null,
});

it('the overlap of each question that was answered before, the least alike first; a repeat counts at its first rank', () => {
  const before = [
    answer('same', 'aab'),
    answer('turned', 'ab'),
    answer('fails', 'ab'),
    answer('was down', '', 'error'),
  ];
  const now = [answer('same', 'ab'), answer('turned', 'ba'), answer('fails', '', 'timeout'), answer('was down', 'ab')];
  const overlaps = stabilityOf([...before, answer('not asked', 'ab')], now, 10);
  expect(overlaps.map(({ query }) => query)).toEqual(['fails', 'turned', 'same']);
  expect(overlaps.map(({ overlap }) => Number(overlap.toFixed(9)))).toEqual([0, 0.9, 1]);
});

it('two empty answers are the same', () => {
  expect(stabilityOf([answer('q', '', 'empty')], [answer('q', '', 'empty')], 10)).toEqual([{ query: 'q', overlap: 1 }]);
});

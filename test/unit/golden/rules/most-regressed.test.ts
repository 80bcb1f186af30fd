import { describe, expect, it } from 'vitest';
import { mostRegressed } from '../../../../src/golden/rules/compare-runs.ts';

describe('mostRegressed', () => {
  const ids = ['steady', 'rose', 'fell', 'fell more', 'fell too'];
  const before = [0.5, 0, 0.75, 1, 0.5];
  const after = [0.5, 1, 0.5, 0, 0.25];

  it('lists the queries that lost, most first, ties in the given order', () => {
    expect(mostRegressed(ids, before, after, 10)).toEqual([
      { queryId: 'fell more', baseline: 1, candidate: 0, difference: -1 },
      { queryId: 'fell', baseline: 0.75, candidate: 0.5, difference: -0.25 },
      { queryId: 'fell too', baseline: 0.5, candidate: 0.25, difference: -0.25 },
    ]);
  });

  it('lists no more than asked', () => {
    expect(mostRegressed(ids, before, after, 1).map(({ queryId }) => queryId)).toEqual(['fell more']);
  });
});

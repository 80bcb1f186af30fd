import { describe, expect, it } from 'vitest';
import {
  CLICK_ATTRIBUTION_MS,
  type Click,
  clickedQueries,
  type ShownQuery,
  settledUntil,
} from '../../../../../src/live/rules/feedback/click-rates.ts';
import { minutesAfterNoon, NOON } from './builders.ts';

const query: ShownQuery = {
  id: 'q1',
  occurredAt: NOON,
  documentIds: ['d1', 'd2', 'd3'],
  cluster: 's1',
  probability: 0.1,
};

function aClick(parts: Partial<Click>): Click {
  return { queryId: 'q1', documentId: null, rank: null, occurredAt: minutesAfterNoon(1), ...parts };
}

function ranksOf(...clicks: readonly Click[]): readonly number[] | undefined {
  return clickedQueries([query], clicks).queries[0]?.clickedRanks;
}

describe('the clicked ranks of a query', () => {
  it('are those of the clicked documents, ascending, each once', () => {
    expect(
      ranksOf(aClick({ documentId: 'd3' }), aClick({ documentId: 'd1' }), aClick({ documentId: 'd3' })),
    ).toEqual([1, 3]);
  });

  it('are where a document was shown rather than where the click says', () => {
    expect(ranksOf(aClick({ documentId: 'd2', rank: 1 }))).toEqual([2]);
  });

  it('are those of the clicks where no document is named', () => {
    expect(ranksOf(aClick({ rank: 2 }))).toEqual([2]);
  });

  it('count a document that was shown twice where it was shown first', () => {
    const twice = { ...query, documentIds: ['d1', 'd2', 'd2'] };
    expect(clickedQueries([twice], [aClick({ documentId: 'd2' })]).queries[0]?.clickedRanks).toEqual([2]);
  });

  it.each([
    ['a document that was not shown', aClick({ documentId: 'd9', rank: 1 }), 'notShown'],
    ['a rank that was not shown', aClick({ rank: 4 }), 'notShown'],
    ['neither document nor rank', aClick({}), 'notShown'],
    ['a query that was not sampled', aClick({ queryId: 'q9', rank: 1 }), 'otherQuery'],
    ['a query of long ago', aClick({ rank: 1, occurredAt: minutesAfterNoon(31) }), 'late'],
  ] as const)('leave out and tell a click on %s', (_what, click, reason) => {
    const { queries, leftOut } = clickedQueries([query], [click]);
    expect(queries).toEqual([{ cluster: 's1', probability: 0.1, shown: 3, clickedRanks: [] }]);
    expect(leftOut).toEqual({ otherQuery: 0, notShown: 0, late: 0, [reason]: 1 });
  });

  it('hold a click at the very end of its time, and one from a clock that is behind', () => {
    expect(ranksOf(aClick({ rank: 1, occurredAt: minutesAfterNoon(30) }))).toEqual([1]);
    expect(ranksOf(aClick({ rank: 1, occurredAt: minutesAfterNoon(-1) }))).toEqual([1]);
  });

  it('are none for a query without results', () => {
    const empty = { ...query, documentIds: [] };
    expect(clickedQueries([empty], [aClick({ rank: 1 })]).queries).toEqual([
      { cluster: 's1', probability: 0.1, shown: 0, clickedRanks: [] },
    ]);
  });
});

it('windows are settled once the clicks of their last query can no longer come', () => {
  const last = settledUntil(NOON);
  expect(NOON.getTime() - last.getTime()).toBe(CLICK_ATTRIBUTION_MS);
});

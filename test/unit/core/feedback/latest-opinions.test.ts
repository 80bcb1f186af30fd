import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { latestOpinions, opinionKey } from '../../../../src/core/feedback/latest-opinions.ts';
import { aStoredFeedback, minutesAfterNoon } from './builders.ts';

const up = aStoredFeedback({ id: 'f1', sentiment: 'positive' });
const down = aStoredFeedback({ id: 'f2', sentiment: 'negative', occurredAt: minutesAfterNoon(1) });

const aList = fc.uniqueArray(
  fc
    .record({
      id: fc.integer({ min: 0, max: 1000 }).map(String),
      queryId: fc.constantFrom('q1', 'q2'),
      kind: fc.constantFrom('thumb' as const, 'click' as const),
      documentId: fc.constantFrom(null, 'd1', 'd2'),
      rank: fc.constantFrom(null, 1, 2),
      author: fc.constantFrom(null, 'ada', 'bob'),
      occurredAt: fc.integer({ min: 0, max: 2 }).map(minutesAfterNoon),
      receivedAt: fc.integer({ min: 0, max: 2 }).map(minutesAfterNoon),
      isCounted: fc.boolean(),
    })
    .map(aStoredFeedback),
  { maxLength: 30, selector: ({ id }) => id },
);

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1;
}

describe('the latest opinions', () => {
  it('hold the thumb down of a user who first gave a thumb up', () => {
    expect(latestOpinions([up, down])).toEqual([down]);
  });

  it('do not depend on the order in which feedback arrived', () => {
    expect(latestOpinions([down, up])).toEqual([down]);
  });

  it('hold the first opinion again after it was changed and changed back', () => {
    const upAgain = aStoredFeedback({ ...up, id: 'f3', occurredAt: minutesAfterNoon(2) });
    expect(latestOpinions([up, down, upAgain])).toEqual([upAgain]);
  });

  it('are not superseded by what occurred before and arrived late', () => {
    const late = aStoredFeedback({ id: 'f9', receivedAt: minutesAfterNoon(600) });
    expect(latestOpinions([up, down, late])).toEqual([down]);
  });

  it('are those received last where the times are the same', () => {
    const later = aStoredFeedback({ id: 'f0', receivedAt: minutesAfterNoon(1) });
    expect(latestOpinions([later, up])).toEqual([later]);
  });

  it.each([
    ['users', { author: 'hash-of-bob' }],
    ['queries', { queryId: 'q2' }],
    ['kinds', { kind: 'rating' }],
    ['documents', { documentId: 'd2' }],
    ['pipelines', { pipeline: 'intranet' }],
  ] as const)('keep those of two %s apart', (_what, change) => {
    const other = aStoredFeedback({ id: 'f2', ...change });
    expect(latestOpinions([up, other])).toEqual([up, other]);
  });

  it('tell documents apart by rank only where they are not named', () => {
    const byRank = [1, 2].map((rank) => aStoredFeedback({ id: `r${rank}`, kind: 'click', rank }));
    const byName = byRank.map((click) => aStoredFeedback({ ...click, documentId: 'd1' }));
    expect(latestOpinions(byRank)).toHaveLength(2);
    expect(latestOpinions(byName)).toHaveLength(1);
  });

  it('take anonymous feedback on a query as one user’s', () => {
    const anonymous = [up, down].map((feedback) => ({ ...feedback, author: null }));
    expect(latestOpinions(anonymous)).toEqual([{ ...down, author: null }]);
  });

  it('leave the last word beyond the cap to a user whose opinion was counted before', () => {
    expect(latestOpinions([up, { ...down, isCounted: false }])).toEqual([{ ...down, isCounted: true }]);
  });

  it('are one for each user, query, kind and document, whatever the order of the list', () => {
    fc.assert(
      fc.property(aList, fc.infiniteStream(fc.nat()), (list, order) => {
        const latest = latestOpinions(list);
        expect(new Set(latest.map(opinionKey)).size).toBe(latest.length);
        expect(new Set(latest.map(opinionKey))).toEqual(new Set(list.map(opinionKey)));
        const shuffled = list
          .map((feedback) => ({ feedback, at: order.next().value }))
          .toSorted((a, b) => a.at - b.at);
        const again = latestOpinions(shuffled.map(({ feedback }) => feedback));
        expect(again.toSorted(byId)).toEqual(latest.toSorted(byId));
        expect(latestOpinions(latest)).toEqual(latest);
      }),
    );
  });
});

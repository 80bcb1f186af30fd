import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { feedbackId, mayRepeat } from '../../../../../src/live/rules/feedback/sentiment.ts';
import { type Feedback, feedbackKinds } from '../../../../../src/live/rules/live-query.ts';
import { aFeedback, minutesAfterNoon, NOON } from './builders.ts';

function hash(text: string): string {
  return createHmac('sha256', 'a key of the tests').update(text).digest('hex');
}

function idOf(parts: Partial<Feedback>, author: string | null = 'hash-of-ada'): string {
  return feedbackId(aFeedback(parts), author, hash);
}

const aName = fc.option(fc.string({ maxLength: 4 }), { nil: null });
const anyFeedback = fc.record({
  id: fc.constant(null),
  queryId: fc.string({ maxLength: 4 }),
  pipeline: fc.constantFrom('support-docs', 'intranet'),
  kind: fc.constantFrom(...feedbackKinds),
  value: fc.oneof(fc.constantFrom(null, true, false, 1, '1', 'up'), fc.integer()),
  documentId: aName,
  rank: fc.option(fc.integer({ min: 1, max: 20 }), { nil: null }),
  occurredAt: fc.option(fc.constantFrom(NOON, minutesAfterNoon(1)), { nil: null }),
  userId: aName,
  comment: aName,
});

describe('the id of a feedback item', () => {
  it('is the given id', () => {
    expect(idOf({ id: 'mine' })).toBe('mine');
  });

  it('is the same for a retry', () => {
    const sent = { value: 'up', occurredAt: NOON, comment: 'Found it.' };
    expect(idOf({ ...sent, occurredAt: new Date(NOON) })).toBe(idOf(sent));
    expect(idOf({})).toBe(idOf({}));
  });

  it.each([
    ['a changed opinion', { value: false }],
    ['an opinion that changed back later', { occurredAt: minutesAfterNoon(2) }],
    ['an added comment', { comment: 'It was the wrong page.' }],
    ['another query', { queryId: 'q2' }],
    ['another pipeline', { pipeline: 'intranet' }],
    ['another kind', { kind: 'rating' }],
    ['another document', { documentId: 'd2' }],
    ['another rank', { rank: 2 }],
  ] as const)('is new for %s', (_what, change) => {
    expect(idOf(change)).not.toBe(idOf({}));
  });

  it('distinguishes similar feedback', () => {
    expect(idOf({ value: 1 })).not.toBe(idOf({ value: '1' }));
    expect(idOf({ documentId: '' })).not.toBe(idOf({ documentId: null }));
    expect(idOf({ queryId: 'q1,thumb', pipeline: 'a' })).not.toBe(idOf({ queryId: 'thumb', pipeline: 'a,q1' }));
  });

  it('differs for another user, and for anonymous feedback', () => {
    const ids = [idOf({}), idOf({}, 'hash-of-bob'), idOf({}, null)];
    expect(new Set(ids).size).toBe(3);
  });

  it.each([
    ['has neither id nor time', {}, true],
    ['has an id', { id: 'mine' }, false],
    ['has a time', { occurredAt: NOON }, false],
  ])(
    'may repeat after a change of opinion only without a given id and time: the feedback %s',
    (_what, parts, expected) => {
      expect(mayRepeat(aFeedback({ id: null, occurredAt: null, ...parts }))).toBe(expected);
    },
  );

  it('is equal only for equal feedback', () => {
    fc.assert(
      fc.property(anyFeedback, anyFeedback, aName, aName, (a, b, authorA, authorB) => {
        const isSameFeedback =
          JSON.stringify([{ ...a, userId: null }, authorA]) === JSON.stringify([{ ...b, userId: null }, authorB]);
        expect(feedbackId(a, authorA, hash) === feedbackId(b, authorB, hash)).toBe(isSameFeedback);
      }),
      { numRuns: 500 },
    );
  });

  it('is not derived from the plain user id', () => {
    let hashed = '';
    feedbackId(aFeedback({ userId: 'ada@example.org' }), 'hash-of-ada', (text) => {
      hashed = text;
      return 'x';
    });
    expect(hashed).toContain('hash-of-ada');
    expect(hashed).not.toContain('ada@example.org');
  });
});

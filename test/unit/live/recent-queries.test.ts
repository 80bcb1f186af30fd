import { describe, expect, it } from 'vitest';
import { createRecentQueries, type RecentQuery } from '../../../src/live/recent-queries.ts';
import type { LiveQuery } from '../../../src/live/rules/live-query.ts';
import { aLiveQuery, NOON } from '../../support/builders.ts';

const aQuery = (id: string, parts: Partial<LiveQuery> = {}) => aLiveQuery({ id, text: 'x'.repeat(100), ...parts });

const entryOf = (query: LiveQuery): RecentQuery => ({ query, receivedAt: NOON, isSampled: false });
const target = (queryId: string, traceId: string | null = null) => ({ pipeline: 'docs', queryId, traceId });
const ids = (list: readonly RecentQuery[]) => list.map(({ query }) => query.id);

describe('recent queries', () => {
  it('are returned only once', () => {
    const recent = createRecentQueries({ queries: 10, bytes: 1e6 });
    recent.add(entryOf(aQuery('q1')));
    expect(ids(recent.take(target('q1')))).toEqual(['q1']);
    expect(recent.take(target('q1'))).toEqual([]);
    expect(recent.take({ ...target('q1'), pipeline: 'other' })).toEqual([]);
  });

  it('are all found by trace if none of them has the query id of the feedback', () => {
    const recent = createRecentQueries({ queries: 10, bytes: 1e6 });
    for (const id of ['q1', 'q2', 'q3']) recent.add(entryOf(aQuery(id, { traceId: id === 'q3' ? 'u' : 't' })));
    expect(ids(recent.take(target('q1', 't')))).toEqual(['q1']);
    recent.add(entryOf(aQuery('q1', { traceId: 't' })));
    expect(ids(recent.take(target('root', 't')))).toEqual(['q2', 'q1']);
    expect(recent.take(target('root', 't'))).toEqual([]);
    expect(ids(recent.take(target('root', 'u')))).toEqual(['q3']);
  });

  it('match negative feedback by id or trace, even if the feedback arrived first', () => {
    const recent = createRecentQueries({ queries: 10, bytes: 1e6 });
    recent.noteNegativeFeedback(target('root', 't'));
    expect(recent.hasNegativeFeedback(aQuery('q1', { traceId: 't' }))).toBe(true);
    expect(recent.hasNegativeFeedback(aQuery('root'))).toBe(true);
    expect(recent.hasNegativeFeedback(aQuery('q1'))).toBe(false);
    expect(recent.hasNegativeFeedback(aQuery('q1', { traceId: 't', pipeline: 'other' }))).toBe(false);
  });

  it.each([
    ['number', { queries: 3, bytes: 1e6 }],
    ['size', { queries: 100, bytes: 2200 }],
  ])('are evicted oldest first beyond the limit on %s', (_what, limits) => {
    const recent = createRecentQueries(limits);
    for (let i = 0; i < 50; i++) recent.add(entryOf(aQuery(`q${i}`, { traceId: 't' })));
    expect(ids(recent.take(target('root', 't')))).toEqual(['q47', 'q48', 'q49']);
  });
});

import { describe, expect, it } from 'vitest';
import { createRecentQueries, type HeldQuery } from '../../../src/live/recent-queries.ts';
import type { LiveQuery } from '../../../src/live/rules/live-query.ts';
import { aLiveQuery, NOON } from '../../support/builders.ts';

const aQuery = (id: string, parts: Partial<LiveQuery> = {}) => aLiveQuery({ id, text: 'x'.repeat(100), ...parts });

const held = (query: LiveQuery): HeldQuery => ({ query, receivedAt: NOON, isKept: false });
const of = (queryId: string, traceId: string | null = null) => ({ pipeline: 'docs', queryId, traceId });
const ids = (list: readonly HeldQuery[]) => list.map(({ query }) => query.id);

describe('recent queries', () => {
  it('are handed over once', () => {
    const recent = createRecentQueries({ queries: 10, bytes: 1e6 });
    recent.hold(held(aQuery('q1')));
    expect(ids(recent.take(of('q1')))).toEqual(['q1']);
    expect(recent.take(of('q1'))).toEqual([]);
    expect(recent.take({ ...of('q1'), pipeline: 'other' })).toEqual([]);
  });

  it('are found by their trace when no query was judged, all of them', () => {
    const recent = createRecentQueries({ queries: 10, bytes: 1e6 });
    for (const id of ['q1', 'q2', 'q3']) recent.hold(held(aQuery(id, { traceId: id === 'q3' ? 'u' : 't' })));
    expect(ids(recent.take(of('q1', 't')))).toEqual(['q1']);
    recent.hold(held(aQuery('q1', { traceId: 't' })));
    expect(ids(recent.take(of('root', 't')))).toEqual(['q2', 'q1']);
    expect(recent.take(of('root', 't'))).toEqual([]);
    expect(ids(recent.take(of('root', 'u')))).toEqual(['q3']);
  });

  it('that are still to come are known to be unhappy, by id or by trace', () => {
    const recent = createRecentQueries({ queries: 10, bytes: 1e6 });
    recent.noteUnhappy(of('root', 't'));
    expect(recent.isUnhappy(aQuery('q1', { traceId: 't' }))).toBe(true);
    expect(recent.isUnhappy(aQuery('root'))).toBe(true);
    expect(recent.isUnhappy(aQuery('q1'))).toBe(false);
    expect(recent.isUnhappy(aQuery('q1', { traceId: 't', pipeline: 'other' }))).toBe(false);
  });

  it.each([
    ['number', { queries: 3, bytes: 1e6 }],
    ['size', { queries: 100, bytes: 2200 }],
  ])('leave oldest first, bounded in %s', (_what, limits) => {
    const recent = createRecentQueries(limits);
    for (let i = 0; i < 50; i++) recent.hold(held(aQuery(`q${i}`, { traceId: 't' })));
    expect(ids(recent.take(of('root', 't')))).toEqual(['q47', 'q48', 'q49']);
  });
});

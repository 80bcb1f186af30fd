import { describe, expect, it } from 'vitest';
import { readTimeRange, within } from '../../../../src/report/console/links.ts';

const now = new Date('2026-11-20T12:00:00Z');

describe('readTimeRange', () => {
  it.each([
    [{}, '2026-11-19T12:00:00.000Z', '2026-11-20T12:00:00.000Z'],
    [{ range: '1h' }, '2026-11-20T11:00:00.000Z', '2026-11-20T12:00:00.000Z'],
    [{ range: 'yesterday' }, '2026-11-19T12:00:00.000Z', '2026-11-20T12:00:00.000Z'],
    [{ from: '2026-11-01T08:30', until: '2026-11-02T00:00' }, '2026-11-01T08:30:00.000Z', '2026-11-02T00:00:00.000Z'],
    [{ from: '2026-11-18' }, '2026-11-18T00:00:00.000Z', '2026-11-20T12:00:00.000Z'],
    [{ from: '2026-11-20T13:00' }, '2026-11-19T12:00:00.000Z', '2026-11-20T12:00:00.000Z'],
    [{ from: '2026-99-99T99:99' }, '2026-11-19T12:00:00.000Z', '2026-11-20T12:00:00.000Z'],
    [{ from: '1970-01-01T00:00' }, '2025-10-16T12:00:00.000Z', '2026-11-20T12:00:00.000Z'],
  ])('reads %o as a range that starts before it ends', (query, from, until) => {
    const range = readTimeRange(query, now);
    expect([range.from.toISOString(), range.until.toISOString()]).toEqual([from, until]);
  });

  it('keeps the time range in links, so that a shared link shows the same data', () => {
    const range = readTimeRange({ from: '2026-11-01T08:30', until: '2026-11-02T00:00' }, now);
    const link = new URL(within(range, '/checks', { pipeline: 'docs' }), 'http://localhost');
    const again = readTimeRange(Object.fromEntries(link.searchParams), new Date('2027-01-01T00:00:00Z'));
    expect([again.from, again.until]).toEqual([range.from, range.until]);
    expect(link.searchParams.get('pipeline')).toBe('docs');
  });
});

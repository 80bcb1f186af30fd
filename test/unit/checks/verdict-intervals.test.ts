import { describe, expect, it } from 'vitest';
import { verdictIntervals } from '../../../src/checks/edge/checks-page.ts';
import { hours } from '../../support/measurements.ts';

const change = (hour: number, from: 'ok' | 'critical' | null, to: 'ok' | 'critical', ended: number | null) => ({
  occurredAt: hours(hour),
  from,
  to,
  endedAt: ended === null ? null : hours(ended),
});

const unevaluated = { verdict: 'no_data', since: null } as const;

describe('the timeline of a check', () => {
  it('is derived from the changes, and starts with the verdict before the first change', () => {
    const changes = [change(4, 'critical', 'ok', null), change(2, 'ok', 'critical', 4)];
    expect(verdictIntervals(changes, unevaluated, hours(0), hours(6))).toEqual([
      { verdict: 'ok', from: hours(0), until: hours(2) },
      { verdict: 'critical', from: hours(2), until: hours(4) },
      { verdict: 'ok', from: hours(4), until: hours(6) },
    ]);
  });

  it('does not extend beyond the requested period', () => {
    expect(verdictIntervals([change(2, 'ok', 'critical', 9)], unevaluated, hours(0), hours(6)).at(-1)).toEqual({
      verdict: 'critical',
      from: hours(2),
      until: hours(6),
    });
  });

  it('is the current verdict for a check that did not change, and empty before its first evaluation', () => {
    const status = { verdict: 'critical', since: hours(3) } as const;
    expect(verdictIntervals([], status, hours(4), hours(6))).toEqual([
      { verdict: 'critical', from: hours(4), until: hours(6) },
    ]);
    expect(verdictIntervals([], status, hours(0), hours(6))).toEqual([
      { verdict: 'critical', from: hours(3), until: hours(6) },
    ]);
    expect(verdictIntervals([], status, hours(0), hours(2))).toEqual([]);
    expect(verdictIntervals([], unevaluated, hours(0), hours(6))).toEqual([]);
    expect(verdictIntervals([change(2, null, 'ok', null)], unevaluated, hours(0), hours(6))).toEqual([
      { verdict: 'ok', from: hours(2), until: hours(6) },
    ]);
  });
});

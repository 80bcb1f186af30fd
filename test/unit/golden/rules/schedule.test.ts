import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitsBudget, isQuiet, overrunSeconds, startOfDay } from '../../../../src/golden/rules/schedule.ts';

const ask = (parts: Partial<Parameters<typeof fitsBudget>[0]>): boolean =>
  fitsBudget({
    purpose: 'full',
    limit: 1000,
    asked: 0,
    planned: 300,
    full: 300,
    hasSentinel: false,
    ...parts,
  });

describe('a schedule', () => {
  it.each([
    ['no run has finished', [], null],
    ['runs finish in time', [250, 299, 300], null],
    ['most runs take longer than the interval', [290, 310, 320], 310],
    ['one of five runs took longer, for example after a cold start', [900, 200, 200, 200, 200], null],
  ])('of five minutes is compared with the median run: %s', (_, durations, expected) => {
    expect(overrunSeconds(durations, 300)).toBe(expected);
  });
});

describe('the daily budget', () => {
  it('allows runs up to the limit and not one query more', () => {
    expect(ask({ asked: 700 })).toBe(true);
    expect(ask({ asked: 701 })).toBe(false);
  });

  it('does not apply without a limit, nor to manual runs', () => {
    expect(ask({ limit: null, asked: 1_000_000 })).toBe(true);
    expect(ask({ purpose: 'manual', asked: 1_000_000 })).toBe(true);
  });

  it('reserves one full run for a failed sentinel, which neither schedule may use', () => {
    const watched = { hasSentinel: true };
    expect(ask({ ...watched, asked: 400 })).toBe(true);
    expect(ask({ ...watched, asked: 401 })).toBe(false);
    expect(ask({ ...watched, purpose: 'sentinel', planned: 50, asked: 651 })).toBe(false);
    expect(ask({ ...watched, purpose: 'escalation', asked: 700 })).toBe(true);
    expect(ask({ ...watched, purpose: 'escalation', asked: 701 })).toBe(false);
  });

  it('always allows the first full run of the day within the limit, even if a reserve is set aside', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.nat(10_000), (full, more) => {
        expect(ask({ limit: full + more, planned: full, full, hasSentinel: true })).toBe(true);
      }),
    );
  });
});

const night = [{ from: 22 * 60, to: 6 * 60 }];
const at = (text: string): Date => new Date(text);

describe('quiet hours', () => {
  it.each([
    ['2026-11-20T21:59:00Z', false],
    ['2026-11-20T22:00:00Z', true],
    ['2026-11-21T00:00:00Z', true],
    ['2026-11-21T05:59:59Z', true],
    ['2026-11-21T06:00:00Z', false],
  ])('across midnight include their start but not their end: at %s, isQuiet is %s', (time, expected) => {
    expect(isQuiet(night, 'UTC', at(time))).toBe(expected);
  });

  it('within a day apply only during that interval, and several intervals may be set', () => {
    const hours = [
      { from: 60, to: 120 },
      { from: 720, to: 780 },
    ];
    expect(isQuiet(hours, 'UTC', at('2026-11-20T01:30:00Z'))).toBe(true);
    expect(isQuiet(hours, 'UTC', at('2026-11-20T12:30:00Z'))).toBe(true);
    expect(isQuiet(hours, 'UTC', at('2026-11-20T02:00:00Z'))).toBe(false);
    expect(isQuiet([], 'UTC', at('2026-11-20T02:00:00Z'))).toBe(false);
  });

  it('follow local time, before and after a change of the clocks', () => {
    // In Paris, summer time ended on 25 October 2026 at 03:00, when clocks went back to 02:00.
    expect(isQuiet(night, 'Europe/Paris', at('2026-10-24T20:00:00Z'))).toBe(true);
    expect(isQuiet(night, 'Europe/Paris', at('2026-10-25T20:30:00Z'))).toBe(false);
    expect(isQuiet(night, 'Europe/Paris', at('2026-10-25T21:00:00Z'))).toBe(true);
  });

  it('apply to both occurrences of a repeated hour, and not at all if the hour is skipped', () => {
    const secondHour = [{ from: 120, to: 180 }];
    const autumn = ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z'].map(at);
    expect(autumn.map((time) => isQuiet(secondHour, 'Europe/Paris', time))).toEqual([true, true]);
    const spring = ['2026-03-29T00:59:00Z', '2026-03-29T01:00:00Z'].map(at);
    expect(spring.map((time) => isQuiet(secondHour, 'Europe/Paris', time))).toEqual([false, false]);
  });
});

describe('the start of a day', () => {
  it.each([
    ['UTC', '2026-11-20T12:00:00Z', '2026-11-20T00:00:00Z'],
    ['UTC', '2026-11-20T00:00:00Z', '2026-11-20T00:00:00Z'],
    ['Europe/Paris', '2026-11-20T22:59:00Z', '2026-11-19T23:00:00Z'],
    ['Europe/Paris', '2026-11-20T23:00:00Z', '2026-11-20T23:00:00Z'],
    ['Asia/Kathmandu', '2026-11-20T12:00:00Z', '2026-11-19T18:15:00Z'],
    ['Europe/Paris', '2026-10-25T22:59:00Z', '2026-10-24T22:00:00Z'],
    // In Santiago, the clocks went from midnight to 01:00 on 6 September 2026.
    ['America/Santiago', '2026-09-06T12:00:00Z', '2026-09-06T04:00:00Z'],
  ])('in %s of %s is %s', (timezone, now, expected) => {
    expect(startOfDay(timezone, at(now))).toEqual(at(expected));
  });

  it('is never after the instant, nor more than 25 hours before it', () => {
    const zones = ['UTC', 'Europe/Paris', 'America/Santiago', 'Asia/Kathmandu', 'Pacific/Kiritimati'];
    const year = { min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) };
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.integer(year), (timezone, ms) => {
        const age = ms - startOfDay(timezone, new Date(ms)).getTime();
        expect(age).toBeGreaterThanOrEqual(0);
        expect(age).toBeLessThanOrEqual(25 * 3_600_000);
      }),
    );
  });
});

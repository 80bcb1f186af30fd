import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  latestOccurrence,
  longestGapSeconds,
  nextOccurrence,
  occurrencesBetween,
  readCronExpression,
  shortestGapSeconds,
} from '../../../../src/math/schedule/occurrences.ts';
import { aCronExpression } from '../../../support/cron-expressions.ts';

const HOUR = 3600;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

const at = (text: string): Date => new Date(text);

/** Returns the occurrences from the first to the last UTC day, both inclusive; days are written like `2026-03-28`. */
function dueOn(expression: string, timezone: string, first: string, last: string): string[] {
  const until = new Date(at(`${last}T00:00:00Z`).getTime() + DAY_MS);
  const cron = { expression, timezone };
  return occurrencesBetween(cron, new Date(at(`${first}T00:00:00Z`).getTime() - 1), until).map((due) =>
    due.toISOString().slice(0, 16).replace('T', ' '),
  );
}

describe('a daily time across clock changes', () => {
  it.each([
    [
      'Berlin in spring, where a skipped time is due 24 hours after the day before',
      '30 2 * * *',
      'Europe/Berlin',
      ['2026-03-28 01:30', '2026-03-29 01:30', '2026-03-30 00:30'],
    ],
    [
      'Berlin in autumn, where a repeated time is due the first time',
      '30 2 * * *',
      'Europe/Berlin',
      ['2026-10-24 00:30', '2026-10-25 00:30', '2026-10-26 01:30'],
    ],
    [
      'New York in spring',
      '15 2 * * *',
      'America/New_York',
      ['2026-03-07 07:15', '2026-03-08 07:15', '2026-03-09 06:15'],
    ],
    [
      'New York in autumn',
      '15 1 * * *',
      'America/New_York',
      ['2026-10-31 05:15', '2026-11-01 05:15', '2026-11-02 06:15'],
    ],
    [
      'Lord Howe Island, where clocks go forward half an hour',
      '15 2 * * *',
      'Australia/Lord_Howe',
      ['2026-10-02 15:45', '2026-10-03 15:45', '2026-10-04 15:15'],
    ],
    [
      'Lord Howe Island, where clocks go back half an hour',
      '45 1 * * *',
      'Australia/Lord_Howe',
      ['2026-04-03 14:45', '2026-04-04 14:45', '2026-04-05 15:15'],
    ],
    [
      'Santiago, where midnight is skipped',
      '0 0 * * *',
      'America/Santiago',
      ['2026-09-05 04:00', '2026-09-06 04:00', '2026-09-07 03:00'],
    ],
    [
      'Apia, where a whole day was skipped',
      '0 12 * * *',
      'Pacific/Apia',
      ['2011-12-29 22:00', '2011-12-30 22:00', '2011-12-31 22:00'],
    ],
    ['Kolkata, where clocks do not change', '30 2 * * *', 'Asia/Kolkata', ['2026-03-28 21:00', '2026-03-29 21:00']],
  ])('is due once a day in %s', (_, expression, timezone, expected) => {
    const [first = '', last = ''] = [expected[0]?.slice(0, 10), expected.at(-1)?.slice(0, 10)];
    expect(dueOn(expression, timezone, first, last)).toEqual(expected);
  });

  it('is due once a day throughout any year, in every time zone', () => {
    const zones = fc.constantFrom(
      'Europe/Berlin',
      'Europe/Lisbon',
      'America/New_York',
      'America/Santiago',
      'America/St_Johns',
      'Africa/Cairo',
      'Africa/Casablanca',
      'Asia/Beirut',
      'Asia/Kathmandu',
      'Australia/Lord_Howe',
      'Pacific/Auckland',
      'Antarctica/Troll',
      'UTC',
    );
    fc.assert(
      fc.property(zones, fc.nat(23), fc.nat(59), fc.integer({ min: 2024, max: 2029 }), (zone, hour, minute, year) => {
        const cron = { expression: `${minute} ${hour} * * *`, timezone: zone };
        const due = occurrencesBetween(cron, at(`${year}-01-01T00:00Z`), at(`${year + 1}-01-01T00:00Z`));
        const hours = due.slice(1).map((one, index) => (one.getTime() - (due[index]?.getTime() ?? 0)) / HOUR_MS);
        // Clock changes are at most two hours.
        expect(Math.min(...hours)).toBeGreaterThanOrEqual(22);
        expect(Math.max(...hours)).toBeLessThanOrEqual(26);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a schedule with a star for its minute or hour', () => {
  it.each([
    ['every hour through a skipped hour', '0 * * * *', '2026-03-29', HOUR, 24],
    ['every hour through a repeated hour', '0 * * * *', '2026-10-25', HOUR, 24],
    ['every five minutes in spring', '*/5 * * * *', '2026-03-29', 300, 288],
    ['every five minutes in autumn', '*/5 * * * *', '2026-10-25', 300, 288],
    ['every half minute in autumn', '*/30 * * * * *', '2026-10-25', 30, 2880],
  ])('continues %s', (_, expression, day, seconds, count) => {
    const cron = { expression, timezone: 'Europe/Berlin' };
    const from = at(`${day}T00:00:00Z`).getTime();
    const due = occurrencesBetween(cron, new Date(from - 1), new Date(from + DAY_MS));
    expect(due).toHaveLength(count);
    expect(due.map((one) => one.getTime())).toEqual(due.map((_due, index) => from + index * seconds * 1000));
  });

  it('runs in both occurrences of a repeated hour, even if the schedule names the hour', () => {
    expect(dueOn('*/30 2-3 * * *', 'Europe/Berlin', '2026-10-25', '2026-10-25')).toEqual(
      ['00:00', '00:30', '01:00', '01:30', '02:00', '02:30'].map((time) => `2026-10-25 ${time}`),
    );
  });
});

describe('occurrences', () => {
  it('are the same whether searched forwards, backwards or in a range, at clock changes in several zones', () => {
    const changes = fc.constantFrom(
      ['Europe/Berlin', '2026-03-29T01:00Z'],
      ['Europe/Berlin', '2026-10-25T01:00Z'],
      ['America/New_York', '2026-03-08T07:00Z'],
      ['America/New_York', '2026-11-01T06:00Z'],
      ['Australia/Lord_Howe', '2026-04-04T15:00Z'],
      ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
      ['America/Santiago', '2026-09-06T04:00Z'],
      ['Asia/Beirut', '2026-03-28T22:00Z'],
    ) as fc.Arbitrary<[string, string]>;
    fc.assert(
      fc.property(aCronExpression, changes, (expression, [timezone, change]) => {
        fc.pre(readCronExpression(expression) !== null);
        const cron = { expression, timezone };
        const from = new Date(at(change).getTime() - DAY_MS);
        const until = new Date(at(change).getTime() + DAY_MS);
        const forwards: Date[] = [];
        for (let due = nextOccurrence(cron, from); due < until; due = nextOccurrence(cron, due)) forwards.push(due);
        expect(occurrencesBetween(cron, from, until)).toEqual(forwards);
        for (const due of forwards.slice(0, 50)) expect(latestOccurrence(cron, due)).toEqual(due);
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ['2026-11-22T20:00:00Z', '2024-02-29T00:00:00Z', '2028-02-29T00:00:00Z'],
    ['2096-03-01T00:00:00Z', '2096-02-29T00:00:00Z', '2104-02-29T00:00:00Z'],
  ])('of 29 February are found from %s', (now, last, next) => {
    const cron = { expression: '0 0 29 2 *', timezone: 'UTC' };
    expect(latestOccurrence(cron, at(now))).toEqual(at(last));
    expect(nextOccurrence(cron, at(now))).toEqual(at(next));
    expect(longestGapSeconds(cron, at(now))).toBe((at(next).getTime() - at(last).getTime()) / 1000);
  });

  it('are found after an instant, never at the instant itself', () => {
    const hourly = { expression: '0 * * * *', timezone: 'UTC' };
    expect(nextOccurrence(hourly, at('2026-11-20T10:00:00Z'))).toEqual(at('2026-11-20T11:00:00Z'));
    expect(nextOccurrence(hourly, at('2026-11-20T10:59:59.999Z'))).toEqual(at('2026-11-20T11:00:00Z'));
  });

  it('between two instants exclude both instants, and are sorted from the oldest', () => {
    const between = (from: string, until: string) =>
      occurrencesBetween({ expression: '0 * * * *', timezone: 'UTC' }, at(from), at(until)).map((tick) =>
        tick.toISOString(),
      );
    expect(between('2026-11-20T10:00:00Z', '2026-11-20T13:00:00Z')).toEqual([
      '2026-11-20T11:00:00.000Z',
      '2026-11-20T12:00:00.000Z',
    ]);
    expect(between('2026-11-20T10:00:00Z', '2026-11-20T11:00:00Z')).toEqual([]);
    expect(between('2026-11-20T10:00:00Z', '2026-11-19T11:00:00Z')).toEqual([]);
  });
});

describe('the latest occurrence', () => {
  it.each([
    ['in the middle of an hour', '0 * * * *', 'UTC', '2026-11-16T09:30:00.000Z', '2026-11-16T09:00:00.000Z'],
    ['at the exact second of a tick', '0 * * * *', 'UTC', '2026-11-16T09:00:00.000Z', '2026-11-16T09:00:00.000Z'],
    ['a moment after a tick', '0 * * * *', 'UTC', '2026-11-16T09:00:00.999Z', '2026-11-16T09:00:00.000Z'],
    ['a moment before a tick', '0 * * * *', 'UTC', '2026-11-16T08:59:59.999Z', '2026-11-16T08:00:00.000Z'],
    ['on a Sunday', '0 9-17 * * 1-5', 'UTC', '2026-11-15T12:00:00.000Z', '2026-11-13T17:00:00.000Z'],
    ['in winter time', '0 9 * * *', 'Europe/Berlin', '2026-01-10T12:00:00.000Z', '2026-01-10T08:00:00.000Z'],
    ['in summer time', '0 9 * * *', 'Europe/Berlin', '2026-07-10T12:00:00.000Z', '2026-07-10T07:00:00.000Z'],
    ['for a yearly schedule', '0 0 1 1 *', 'UTC', '2026-11-16T00:00:00.000Z', '2026-01-01T00:00:00.000Z'],
    ['for a schedule with seconds', '*/15 * * * * *', 'UTC', '2026-11-16T09:00:44.999Z', '2026-11-16T09:00:30.000Z'],
  ])('is found %s', (_, expression, timezone, now, expected) => {
    expect(latestOccurrence({ expression, timezone }, new Date(now)).toISOString()).toBe(expected);
  });
});

describe('the longest gap', () => {
  it.each([
    ['an hourly schedule', '0 * * * *', 'UTC', HOUR],
    ['an hourly schedule where clocks change', '0 * * * *', 'Europe/Berlin', HOUR],
    ['an hourly schedule in a zone with a half-hour offset', '0 * * * *', 'Asia/Kolkata', HOUR],
    ['office hours, over the weekend', '0 9-17 * * 1-5', 'UTC', 64 * HOUR],
    ['every five minutes on weekdays, over the weekend', '*/5 * * * 1-5', 'UTC', 48 * HOUR + 300],
    ['every minute of office hours, over the weekend', '* 9-17 * * 1-5', 'UTC', 63 * HOUR + 60],
    ['every minute except from noon to one', '* 0-11,13-23 * * *', 'UTC', HOUR + 60],
    ['a daily schedule where clocks do not change', '30 3 * * *', 'UTC', 24 * HOUR],
    ['a daily schedule where clocks go back in autumn', '30 12 * * *', 'Europe/Berlin', 25 * HOUR],
    ['a monthly schedule', '0 0 1 * *', 'UTC', 31 * 24 * HOUR],
    ['every second', '* * * * * *', 'UTC', 1],
  ])('of %s is found', (_, expression, timezone, seconds) => {
    const now = new Date('2026-09-14T10:17:23.456Z');
    expect(longestGapSeconds({ expression, timezone }, now)).toBe(seconds);
  });
});

describe('the shortest gap between two ticks', () => {
  it.each([
    ['*/5 * * * *', 300],
    ['0 * * * *', 3600],
    ['0,10 3 * * *', 600],
    ['0 3 * * 1', 7 * 86_400],
    ['*/20 * * * * *', 20],
  ])('of %s is %i seconds', (expression, seconds) => {
    expect(shortestGapSeconds({ expression, timezone: 'UTC' }, new Date('2026-11-20T10:00:00.000Z'))).toBe(seconds);
  });
});

import * as fc from 'fast-check';
import { schedule } from 'node-cron';
import { describe, expect, it } from 'vitest';
import {
  latestOccurrence,
  longestGapSeconds,
  nextOccurrence,
  occurrencesBetween,
} from '../../../../src/math/schedule/occurrences.ts';
import { cronSchema, timezoneSchema } from '../../../../src/platform/config/times.ts';
import { aCronExpression } from '../../../support/cron-expressions.ts';

function nextByNodeCron(expression: string, timezone = 'UTC'): string | null {
  const task = schedule(expression, () => undefined, { timezone });
  try {
    return task.getNextRun()?.toISOString() ?? null;
  } finally {
    void task.destroy();
  }
}

function nextDue(expression: string, timezone = 'UTC'): string | null {
  return nextOccurrence({ expression, timezone }, new Date()).toISOString();
}

describe('a cron expression', () => {
  it.each([
    '* * * * *',
    '0 * * * *',
    '*/15 * * * * *',
    '5,35 9-17 * * MON-FRI',
    '0 0 1 jan,jul *',
    '0 0 29 2 *',
    '0-30/10 * * * *',
    '0 3 * * 7',
    ' 0  * * * * ',
  ])('is accepted and read as node-cron reads it: %s', (expression) => {
    expect(cronSchema.safeParse(expression).success).toBe(true);
    expect(nextByNodeCron(expression)).toBe(nextDue(expression));
  });

  it('is rejected if it never occurs because no year has such a day', () => {
    expect(cronSchema.safeParse('0 0 30 2 *').error?.issues.map(({ message }) => message)).toEqual([
      'never occurs: none of its months has that day; use a day from 1 to 28',
    ]);
  });

  it.each([
    ['nothing', ''],
    ['too few fields', '0 0 *'],
    ['seven fields', '0 0 0 1 1 * 2026'],
    ['a minute that no hour has', '60 * * * *'],
    ['a step of 0', '*/0 * * * *'],
    ['a range that runs backwards', '30-10 * * * *'],
    ['a step from a single value', '5/15 * * * *'],
    ['a random value, which differs from one replica to the next', 'H * * * *'],
    ['a nickname', '@hourly'],
    ['the last day of the month', '0 0 L * *'],
    ['the second Monday of the month', '0 0 * * 1#2'],
    ['a month written out', '0 0 1 january *'],
    ['a tab between fields', '0\t* * * *'],
    ['words', 'every hour'],
  ])('is rejected with an example of a valid one if it contains %s', (_, expression) => {
    expect(cronSchema.safeParse(expression).error?.issues.map(({ message }) => message)).toEqual([
      'is not a cron expression with five fields, or six with seconds; for an hourly schedule, write "0 * * * *"',
    ]);
  });

  it.each(['0 0 1 * 1', '0 0 0 1 * 1'])(
    'is rejected if it sets both a day of the month and a weekday: %s',
    (expression) => {
      expect(cronSchema.safeParse(expression).error?.issues.map(({ message }) => message)).toEqual([
        'sets both a day of the month and a weekday, which cron programs interpret differently; write * for one of them',
      ]);
    },
  );

  it('ticks at the times that node-cron computes', () => {
    fc.assert(
      fc.property(aCronExpression, (expression) => {
        fc.pre(cronSchema.safeParse(expression).success);
        expect(nextByNodeCron(expression)).toBe(nextDue(expression));
      }),
      { numRuns: 100 },
    );
  }, 30_000);
});

describe('a cron expression of rare days', () => {
  const aRareDay = fc.oneof(
    fc
      .tuple(
        fc.integer({ min: 1, max: 31 }),
        fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 3 }),
      )
      .map(([day, months]) => ({
        expression: `0 0 ${day} ${months.join(',')} *`,
        lasts: day <= Math.max(...months.map(lengthOf)),
      })),
    fc
      .tuple(fc.nat(7), fc.integer({ min: 1, max: 12 }))
      .map(([weekday, month]) => ({ expression: `30 2 * ${month} ${weekday}`, lasts: true })),
  );

  it('is accepted only if such days exist, and then has ticks before and after any time', () => {
    const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York');
    const times = fc.date({ min: new Date('2020-01-01'), max: new Date('2110-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(aRareDay, zones, times, ({ expression, lasts }, timezone, now) => {
        expect(cronSchema.safeParse(expression).success).toBe(lasts);
        fc.pre(lasts);
        const cron = { expression, timezone };
        const [last, next] = [latestOccurrence(cron, now), nextOccurrence(cron, now)];
        expect(last <= now && now < next).toBe(true);
        expect(occurrencesBetween(cron, last, next)).toEqual([]);
        expect(longestGapSeconds(cron, now) * 1000).toBeGreaterThanOrEqual(next.getTime() - last.getTime());
      }),
      { numRuns: 200 },
    );
  });
});

/** Maximum number of days in a month. */
function lengthOf(month: number): number {
  return new Date(Date.UTC(2028, month, 0)).getUTCDate();
}

describe('a time zone', () => {
  it.each(['UTC', 'Europe/Paris', 'US/Pacific', 'Etc/GMT+1'])(
    'is accepted if the IANA database contains it: %s',
    (zone) => {
      expect(timezoneSchema.safeParse(zone).success).toBe(true);
      expect(nextByNodeCron('0 9 * * *', zone)).toBe(nextDue('0 9 * * *', zone));
    },
  );

  it.each(['', 'Mars/Base', '+01:00', 'UTC+1', 'local', 'CEST '])(
    'is rejected with an example of a valid one: %j',
    (zone) => {
      expect(timezoneSchema.safeParse(zone).error?.issues.map(({ message }) => message)).toEqual([
        'is not a time zone; use a name like "UTC" or "Europe/Paris"',
      ]);
    },
  );
});

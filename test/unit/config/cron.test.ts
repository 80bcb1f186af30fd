import { CronExpressionParser } from 'cron-parser';
import * as fc from 'fast-check';
import { schedule } from 'node-cron';
import { describe, expect, it } from 'vitest';
import { cronSchema, timezoneSchema } from '../../../src/config/cron.ts';

function nextByNodeCron(expression: string, timezone = 'UTC'): string | null {
  const task = schedule(expression, () => undefined, { timezone });
  try {
    return task.getNextRun()?.toISOString() ?? null;
  } finally {
    void task.destroy();
  }
}

function nextByCronParser(expression: string, timezone = 'UTC'): string | null {
  return CronExpressionParser.parse(expression, { tz: timezone }).next().toISOString();
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
  ])('is accepted when both cron libraries read it alike: %s', (expression) => {
    expect(cronSchema.safeParse(expression).success).toBe(true);
    expect(nextByNodeCron(expression)).toBe(nextByCronParser(expression));
  });

  it.each([
    ['nothing, which cron-parser takes for every minute', ''],
    ['too few fields, which cron-parser fills up', '0 0 *'],
    ['seven fields', '0 0 0 1 1 * 2026'],
    ['a minute that no hour has', '60 * * * *'],
    ['a step of nothing', '*/0 * * * *'],
    ['a day that no year has', '0 0 30 2 *'],
    ['a range that runs backwards', '30-10 * * * *'],
    ['a step from a single value, which node-cron refuses', '5/15 * * * *'],
    ['a random value, which differs from one replica to the next', 'H * * * *'],
    ['a nickname', '@hourly'],
    ['the last day of the month', '0 0 L * *'],
    ['the second Monday of the month', '0 0 * * 1#2'],
    ['a month written out', '0 0 1 january *'],
    ['a tab between fields, which node-cron refuses', '0\t* * * *'],
    ['words', 'every hour'],
  ])('is refused with an example of a good one when it holds %s', (_, expression) => {
    expect(cronSchema.safeParse(expression).error?.issues.map(({ message }) => message)).toEqual([
      'is not a cron expression of five fields, or six with seconds; an hourly one is "0 * * * *"',
    ]);
  });

  it.each(['0 0 1 * 1', '0 0 0 1 * 1'])(
    'is refused when it names a day of the month and a weekday: %s',
    (expression) => {
      expect(cronSchema.safeParse(expression).error?.issues.map(({ message }) => message)).toEqual([
        'names both a day of the month and a weekday, which programs read in two ways; write * for one of them',
      ]);
    },
  );

  it('that is accepted ticks at the times at which it is expected, whatever it is', () => {
    fc.assert(
      fc.property(anExpression, (expression) => {
        fc.pre(cronSchema.safeParse(expression).success);
        expect(nextByNodeCron(expression)).toBe(nextByCronParser(expression));
      }),
      { numRuns: 100 },
    );
  }, 30_000);
});

describe('a time zone', () => {
  it.each(['UTC', 'Europe/Paris', 'US/Pacific', 'Etc/GMT+1'])(
    'is accepted when both cron libraries know it: %s',
    (zone) => {
      expect(timezoneSchema.safeParse(zone).success).toBe(true);
      expect(nextByNodeCron('0 9 * * *', zone)).toBe(nextByCronParser('0 9 * * *', zone));
    },
  );

  it.each(['', 'Mars/Base', '+01:00', 'UTC+1', 'local', 'CEST '])(
    'is refused with an example of a good one: %j',
    (zone) => {
      expect(timezoneSchema.safeParse(zone).error?.issues.map(({ message }) => message)).toEqual([
        'is not a time zone; use a name such as "UTC" or "Europe/Paris"',
      ]);
    },
  );
});

/** What people might write in a field, in bounds and out of them. */
function aField(most: number, names: readonly string[] = []): fc.Arbitrary<string> {
  const value = fc.oneof(
    { weight: 6, arbitrary: fc.nat(most + 1).map(String) },
    { weight: 1, arbitrary: fc.constantFrom(...names, '0') },
  );
  const step = fc.integer({ min: 0, max: 20 });
  const item = fc.oneof(
    { weight: 4, arbitrary: fc.constant('*') },
    { weight: 3, arbitrary: value },
    fc.tuple(value, value).map(([from, to]) => `${from}-${to}`),
    step.map((by) => `*/${by}`),
    fc.tuple(value, value, step).map(([from, to, by]) => `${from}-${to}/${by}`),
    fc.tuple(value, step).map(([from, by]) => `${from}/${by}`),
    fc.constantFrom('L', '?', 'H', '1W'),
  );
  return fc.array(item, { minLength: 1, maxLength: 2 }).map((items) => items.join(','));
}

const anExpression = fc
  .tuple(
    aField(59),
    aField(23),
    aField(31),
    aField(12, ['jan', 'DEC']),
    aField(7, ['mon', 'SUN']),
    fc.boolean(),
  )
  .map(([minute, hour, day, month, weekday, byWeekday]) =>
    [minute, hour, byWeekday ? '*' : day, month, byWeekday ? weekday : '*'].join(' '),
  );

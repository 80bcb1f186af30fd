import { describe, expect, it } from 'vitest';
import { createTimetable } from '../../../src/golden/timetable.ts';
import { aSchedule, NOON } from '../../support/builders.ts';

const DAY = 86_400;
const atNight = [{ from: 22 * 60, to: 6 * 60 }];
const inBerlin = (expression: string) => ({ expression, timezone: 'Europe/Berlin' });
const timetable = createTimetable(NOON);

describe('the next run of a set', () => {
  it('is its next tick outside quiet hours', () => {
    const golden = aSchedule({ cron: inBerlin('0 * * * *'), quietHours: atNight, timezone: 'Europe/Berlin' });
    expect(timetable.nextRun(golden, new Date('2026-11-20T21:00:00Z'))).toEqual(new Date('2026-11-21T05:00:00Z'));
  });

  it('is known years ahead for 29 February', () => {
    const golden = aSchedule({ cron: inBerlin('0 12 29 2 *') });
    expect(timetable.nextRun(golden, NOON)).toEqual(new Date('2028-02-29T11:00:00Z'));
    expect(timetable.intervalSeconds(golden)).toBe(4 * 365 * DAY + DAY);
  });

  it('does not exist if every tick is in quiet hours, even if ticks are rare', () => {
    const golden = aSchedule({
      cron: inBerlin('0 0 29 2 *'),
      quietHours: atNight,
      timezone: 'Europe/Berlin',
    });
    expect(timetable.nextRun(golden, NOON)).toBeNull();
  });

  it('is 24 hours after the run of the day before if clocks skip the scheduled time', () => {
    const golden = aSchedule({ cron: inBerlin('30 2 * * *') });
    expect(timetable.nextRun(golden, new Date('2026-03-28T12:00:00Z'))).toEqual(new Date('2026-03-29T01:30:00Z'));
  });
});

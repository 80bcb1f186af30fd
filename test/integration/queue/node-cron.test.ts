import { describe, expect, it, onTestFinished } from 'vitest';
import { createSchedule } from '../../../src/queue/node-cron.ts';
import type { Schedule } from '../../../src/queue/schedule.ts';
import { recordLog, silentLogger } from '../../support/log.ts';
import { waitFor } from '../../support/wait-for.ts';

const everySecond = '* * * * * *';

function aSchedule(logger = silentLogger): Schedule {
  const schedule = createSchedule(logger);
  onTestFinished(() => schedule.stop());
  return schedule;
}

/** Ticks as they come, in milliseconds of their planned time. */
function collectTicks(schedule: Schedule, expression = everySecond): readonly number[] {
  const ticks: number[] = [];
  schedule.every(expression, 'UTC', (plannedAt) => ticks.push(plannedAt.getTime()));
  return ticks;
}

describe('ticks', () => {
  it('have the same planned times in every process, which are whole seconds', async () => {
    const [one, other] = [collectTicks(aSchedule()), collectTicks(aSchedule())];
    await waitFor(() => one.length >= 3 && other.length >= 3);
    const [first = 0] = other;
    const shared = one.filter((tick) => tick >= first);
    expect(shared.length).toBeGreaterThanOrEqual(2);
    expect(other.slice(0, shared.length)).toEqual(shared.slice(0, other.length));
    expect(one.every((tick) => tick % 1000 === 0)).toBe(true);
  });

  it('are what `previous` looks back to', async () => {
    const schedule = aSchedule();
    const pairs: [number, number][] = [];
    schedule.every(everySecond, 'UTC', (plannedAt) => {
      pairs.push([plannedAt.getTime(), schedule.previous(everySecond, 'UTC', plannedAt).getTime()]);
    });
    await waitFor(() => pairs.length > 0);
    expect(pairs.every(([planned, previous]) => planned === previous)).toBe(true);
  });

  it('come late, with their planned time, when the process was too busy for them, and once', async () => {
    const ticks: number[] = [];
    aSchedule().every('*/3 * * * * *', 'UTC', (plannedAt) => {
      ticks.push(plannedAt.getTime());
      if (ticks.length === 1) sleepBusily(plannedAt.getTime() + 3000 + 2100 - Date.now());
    });
    await waitFor(() => ticks.length >= 3);
    const [first = 0, second = 0, third = 0] = ticks;
    expect([second - first, third - second]).toEqual([3000, 3000]);
  });

  it('go on after a tick that throws, which is logged', async () => {
    const log = recordLog();
    let ticks = 0;
    aSchedule(log.logger).every(everySecond, 'UTC', () => {
      ticks += 1;
      throw new Error('this tick is broken');
    });
    await waitFor(() => ticks >= 2);
    expect(log.entries.some(({ level }) => level === 'error')).toBe(true);
  });

  it('end when the schedule is stopped, though another goes on, and it may be stopped again', async () => {
    const [stopped, control] = [aSchedule(), collectTicks(aSchedule())];
    const ticks = collectTicks(stopped);
    await waitFor(() => ticks.length > 0);
    await stopped.stop();
    const [before, controlBefore] = [ticks.length, control.length];
    await waitFor(() => control.length >= controlBefore + 2);
    expect(ticks).toHaveLength(before);
    await stopped.stop();
  });
});

describe('the previous planned time', () => {
  it.each([
    ['in the middle of an hour', '0 * * * *', 'UTC', '2026-11-16T09:30:00.000Z', '2026-11-16T09:00:00.000Z'],
    [
      'in the very second of a tick',
      '0 * * * *',
      'UTC',
      '2026-11-16T09:00:00.000Z',
      '2026-11-16T09:00:00.000Z',
    ],
    ['a moment after a tick', '0 * * * *', 'UTC', '2026-11-16T09:00:00.999Z', '2026-11-16T09:00:00.000Z'],
    ['a moment before a tick', '0 * * * *', 'UTC', '2026-11-16T08:59:59.999Z', '2026-11-16T08:00:00.000Z'],
    ['on a Sunday', '0 9-17 * * 1-5', 'UTC', '2026-11-15T12:00:00.000Z', '2026-11-13T17:00:00.000Z'],
    [
      'in a winter time',
      '0 9 * * *',
      'Europe/Berlin',
      '2026-01-10T12:00:00.000Z',
      '2026-01-10T08:00:00.000Z',
    ],
    [
      'in a summer time',
      '0 9 * * *',
      'Europe/Berlin',
      '2026-07-10T12:00:00.000Z',
      '2026-07-10T07:00:00.000Z',
    ],
    ['across a year', '0 0 1 1 *', 'UTC', '2026-11-16T00:00:00.000Z', '2026-01-01T00:00:00.000Z'],
    ['of seconds', '*/15 * * * * *', 'UTC', '2026-11-16T09:00:44.999Z', '2026-11-16T09:00:30.000Z'],
  ])('is known %s', (_, expression, timezone, now, expected) => {
    expect(aSchedule().previous(expression, timezone, new Date(now)).toISOString()).toBe(expected);
  });
});

describe('the longest gap', () => {
  const hour = 3600;
  it.each([
    ['an hourly schedule', '0 * * * *', 'UTC', hour],
    ['an hourly schedule where clocks change', '0 * * * *', 'Europe/Berlin', hour],
    [
      'an hourly schedule where clocks change by half an hour only on the map',
      '0 * * * *',
      'Asia/Kolkata',
      hour,
    ],
    ['office hours, by the weekend', '0 9-17 * * 1-5', 'UTC', 64 * hour],
    ['every five minutes of weekdays, by the weekend', '*/5 * * * 1-5', 'UTC', 48 * hour + 300],
    ['every minute of office hours, by the weekend', '* 9-17 * * 1-5', 'UTC', 63 * hour + 60],
    ['every minute but at noon', '* 0-11,13-23 * * *', 'UTC', hour + 60],
    ['a daily schedule where clocks do not change', '30 3 * * *', 'UTC', 24 * hour],
    ['a daily schedule in the autumn of a time zone', '30 12 * * *', 'Europe/Berlin', 25 * hour],
    ['a monthly schedule', '0 0 1 * *', 'UTC', 31 * 24 * hour],
    ['every second', '* * * * * *', 'UTC', 1],
  ])('of %s is found', (_, expression, timezone, seconds) => {
    const now = new Date('2026-09-14T10:17:23.456Z');
    expect(aSchedule().longestGapSeconds(expression, timezone, now)).toBe(seconds);
  });
});

/** Keeps this thread from doing anything else. */
function sleepBusily(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe('planned times', () => {
  const schedule = createSchedule(silentLogger);
  const at = (text: string): Date => new Date(text);

  it('are found after an instant, never at it', () => {
    expect(schedule.next('0 * * * *', 'UTC', at('2026-11-20T10:00:00Z'))).toEqual(at('2026-11-20T11:00:00Z'));
    expect(schedule.next('0 * * * *', 'UTC', at('2026-11-20T10:59:59.999Z'))).toEqual(
      at('2026-11-20T11:00:00Z'),
    );
  });

  it('between two instants leave both out, oldest first', () => {
    const between = (from: string, until: string) =>
      schedule.between('0 * * * *', 'UTC', at(from), at(until)).map((tick) => tick.toISOString());
    expect(between('2026-11-20T10:00:00Z', '2026-11-20T13:00:00Z')).toEqual([
      '2026-11-20T11:00:00.000Z',
      '2026-11-20T12:00:00.000Z',
    ]);
    expect(between('2026-11-20T10:00:00Z', '2026-11-20T11:00:00Z')).toEqual([]);
    expect(between('2026-11-20T10:00:00Z', '2026-11-19T11:00:00Z')).toEqual([]);
  });
});

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Cron, latestOccurrence } from '../../../../src/math/schedule/occurrences.ts';
import { createSchedule, type Schedule } from '../../../../src/platform/queue/node-cron.ts';
import { recordLog, silentLogger } from '../../../support/log.ts';
import { waitFor } from '../../../support/wait-for.ts';

const everySecond = inUtc('* * * * * *');

function aSchedule(logger = silentLogger): Schedule {
  const schedule = createSchedule(logger);
  onTestFinished(() => schedule.stop());
  return schedule;
}

/** Returns a list to which each tick adds its scheduled time in milliseconds. */
function collectTicks(schedule: Schedule, cron = everySecond): readonly number[] {
  const ticks: number[] = [];
  schedule.every(cron, (plannedAt) => ticks.push(plannedAt.getTime()));
  return ticks;
}

describe('ticks', () => {
  it('have the same scheduled times in every process, which are whole seconds', async () => {
    const [one, other] = [collectTicks(aSchedule()), collectTicks(aSchedule())];
    await waitFor(() => one.length >= 3 && other.length >= 3);
    const [first = 0] = other;
    const shared = one.filter((tick) => tick >= first);
    expect(shared.length).toBeGreaterThanOrEqual(2);
    expect(other.slice(0, shared.length)).toEqual(shared.slice(0, other.length));
    expect(one.every((tick) => tick % 1000 === 0)).toBe(true);
  });

  it('have the latest occurrence as their scheduled time', async () => {
    const schedule = aSchedule();
    const pairs: [number, number][] = [];
    schedule.every(everySecond, (plannedAt) => {
      pairs.push([plannedAt.getTime(), latestOccurrence(everySecond, plannedAt).getTime()]);
    });
    await waitFor(() => pairs.length > 0);
    expect(pairs.every(([planned, previous]) => planned === previous)).toBe(true);
  });

  it('run late and once, with their scheduled time, if the process was too busy', async () => {
    const ticks: number[] = [];
    aSchedule().every(inUtc('*/3 * * * * *'), (plannedAt) => {
      ticks.push(plannedAt.getTime());
      if (ticks.length === 1) sleepBusily(plannedAt.getTime() + 3000 + 2100 - Date.now());
    });
    await waitFor(() => ticks.length >= 3);
    const [first = 0, second = 0, third = 0] = ticks;
    expect([second - first, third - second]).toEqual([3000, 3000]);
  });

  it('continue after a tick that throws, which is logged', async () => {
    const log = recordLog();
    let ticks = 0;
    aSchedule(log.logger).every(everySecond, () => {
      ticks += 1;
      throw new Error('this tick is broken');
    });
    await waitFor(() => ticks >= 2);
    expect(log.entries.some(({ level }) => level === 'error')).toBe(true);
  });

  it('end when their schedule is stopped, which may happen twice, while another schedule continues', async () => {
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

/** Blocks this thread. */
function sleepBusily(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function inUtc(expression: string): Cron {
  return { expression, timezone: 'UTC' };
}

describe('a clock that is set', () => {
  const ticksFrom = async (start: string, cron: Cron, live: () => Promise<void>): Promise<string[]> => {
    vi.useFakeTimers({ now: new Date(start) });
    onTestFinished(() => void vi.useRealTimers());
    const schedule = createSchedule(silentLogger);
    const ticks: string[] = [];
    schedule.every(cron, (plannedAt) => ticks.push(plannedAt.toISOString()));
    await live();
    await schedule.stop();
    return ticks;
  };
  const hours = (count: number) => async (): Promise<void> => {
    await vi.advanceTimersByTimeAsync(count * 3_600_000);
  };

  it.each([
    ['forward in spring', 'Europe/Berlin', '30 2 * * *', '2026-03-28T12:00:00Z', '2026-03-29T01:30:00.000Z'],
    ['back in autumn', 'Europe/Berlin', '30 2 * * *', '2026-10-24T12:00:00Z', '2026-10-25T00:30:00.000Z'],
    ['forward in spring', 'America/New_York', '0 2 * * *', '2026-03-07T18:00:00Z', '2026-03-08T07:00:00.000Z'],
    ['back in autumn', 'America/New_York', '30 1 * * *', '2026-10-31T18:00:00Z', '2026-11-01T05:30:00.000Z'],
  ])('%s in %s gives a daily schedule one tick (%s)', async (_, timezone, expression, start, expected) => {
    expect(await ticksFrom(start, { expression, timezone }, hours(24))).toEqual([expected]);
  });

  it.each(['2026-03-29T00:00:00Z', '2026-10-25T00:00:00Z'])(
    'does not prevent the ticks of an hourly schedule, on %s',
    async (start) => {
      const cron = { expression: '0 * * * *', timezone: 'Europe/Berlin' };
      const ticks = await ticksFrom(start, cron, hours(4));
      expect(ticks).toEqual(
        [1, 2, 3, 4].map((hour) => new Date(new Date(start).getTime() + hour * 3_600_000).toISOString()),
      );
    },
  );

  it('back manually lets the ticks follow the new time immediately', async () => {
    const ticks = await ticksFrom('2026-11-20T14:30:00Z', inUtc('0 * * * *'), async () => {
      await hours(1)();
      vi.setSystemTime(new Date('2026-11-20T12:30:00Z'));
      await hours(2)();
    });
    expect(ticks).toEqual(['15:00', '13:00', '14:00'].map((time) => `2026-11-20T${time}:00.000Z`));
  });

  it('forward manually causes one tick for all skipped times', async () => {
    const ticks = await ticksFrom('2026-11-20T12:30:00Z', inUtc('0 * * * *'), async () => {
      vi.setSystemTime(new Date('2026-11-20T16:10:00Z'));
      await hours(1)();
    });
    expect(ticks).toEqual(['2026-11-20T16:00:00.000Z', '2026-11-20T17:00:00.000Z']);
  });
});

/**
 * Scheduled ticks in this process: node-cron wakes the process, and math/schedule determines whether a tick must run.
 */
import { type ScheduledTask, schedule } from 'node-cron';
import type { Logger } from '../../core/logger.ts';
import { type Cron, latestOccurrence } from '../../math/schedule/occurrences.ts';

/** Interval at which recalld checks whether the clock has been set back. */
const CHECK_INTERVAL_MS = 5000;

export function createSchedule(logger: Logger) {
  const wakers: Waker[] = [];
  let checkedAt = Date.now();
  // node-cron sleeps until the next minute of the clock. If the clock is set back during the sleep, the sleep ends late
  // by the same amount, so the wakers are restarted.
  const clockCheck = setInterval(() => {
    const now = Date.now();
    if (now < checkedAt) {
      logger.warn('the system clock was set back; scheduled jobs follow the new time');
      for (const waker of wakers) waker.restart();
    }
    checkedAt = now;
  }, CHECK_INTERVAL_MS).unref();
  return {
    /** @param tick receives the scheduled time (equal on every replica), not the time of the wake-up */
    every: (cron: Cron, tick: (plannedAt: Date) => void): void => void wakers.push(createWaker(cron, logger, tick)),

    /** Stops the schedule: no more ticks start. */
    async stop(): Promise<void> {
      clearInterval(clockCheck);
      for (const waker of wakers) await waker.stop();
    },
  };
}

type Waker = ReturnType<typeof createWaker>;

/**
 * Wakes up every minute, at the seconds that the expression specifies (default: 0). These seconds never shift, because
 * daylight saving time shifts clocks by whole minutes.
 */
function createWaker(cron: Cron, logger: Logger, tick: (plannedAt: Date) => void) {
  const fields = cron.expression.trim().split(/ +/);
  const seconds = fields.length === 6 ? fields[0] : '0';
  let last: Date;
  const wake = (date: Date): void => {
    const due = latestOccurrence(cron, date);
    if (due <= last) return;
    last = due;
    tick(due);
  };
  const start = (): ScheduledTask => {
    last = latestOccurrence(cron, new Date());
    return schedule(`${seconds} * * * * *`, ({ date }) => wake(date), {
      timezone: 'UTC',
      // If a busy process misses ticks, only the last missed tick runs, and it runs late.
      missedExecutionTolerance: Number.POSITIVE_INFINITY,
      suppressMissedWarning: true,
      logger: {
        info: (message) => logger.debug(message),
        debug: (message) => logger.debug(String(message)),
        warn: (message) => logger.warn(message),
        error: (message) => logger.error(String(message)),
      },
    });
  };
  let task = start();
  return {
    restart(): void {
      void task.destroy();
      task = start();
    },
    async stop(): Promise<void> {
      await task.destroy();
    },
  };
}

/** Runs callbacks in this process at the times given by cron expressions. Every replica ticks. */
export type Schedule = ReturnType<typeof createSchedule>;

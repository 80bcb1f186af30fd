/** Ticks in this process: node-cron wakes it up, and schedule/ says whether something is due. */
import { type ScheduledTask, schedule } from 'node-cron';
import type { Logger } from '../../core/logger.ts';
import { type Cron, latestOccurrence } from '../../math/schedule/occurrences.ts';

/** How often it is looked whether the clock was set back. */
const LOOK_MS = 5000;

export function createSchedule(logger: Logger) {
  const wakers: Waker[] = [];
  let lookedAt = Date.now();
  // node-cron sleeps until the clock shows the next minute: one that was set back would keep it asleep for as long.
  const lookout = setInterval(() => {
    const now = Date.now();
    if (now < lookedAt) {
      logger.warn('the clock of this machine was set back; ticks go by what it shows now');
      for (const waker of wakers) waker.startAnew();
    }
    lookedAt = now;
  }, LOOK_MS).unref();
  return {
    /**
     * @param tick is given the planned time, equal on every replica, not the time at which it was woken
     */
    every(cron: Cron, tick: (plannedAt: Date) => void): void {
      let last = latestOccurrence(cron, new Date());
      const waker = createWaker(cron.expression, logger, (date) => {
        const due = latestOccurrence(cron, date);
        if (due <= last) return;
        last = due;
        tick(due);
      });
      wakers.push({
        ...waker,
        startAnew() {
          last = latestOccurrence(cron, new Date());
          waker.startAnew();
        },
      });
    },

    /** No tick starts after this. */
    async stop(): Promise<void> {
      clearInterval(lookout);
      for (const waker of wakers) await waker.stop();
    },
  };
}

type Waker = ReturnType<typeof createWaker>;

/** Wakes at the seconds of the expression in every minute: clocks are set by whole minutes. */
function createWaker(expression: string, logger: Logger, wake: (date: Date) => void) {
  const fields = expression.trim().split(/ +/);
  const seconds = fields.length === 6 ? fields[0] : '0';
  const start = (): ScheduledTask =>
    schedule(`${seconds} * * * * *`, ({ date }) => wake(date), {
      timezone: 'UTC',
      // A tick that the process was too busy to wake up for is late, not lost; of several only the last is run.
      missedExecutionTolerance: Number.POSITIVE_INFINITY,
      suppressMissedWarning: true,
      logger: {
        info: (message) => logger.debug(message),
        debug: (message) => logger.debug(String(message)),
        warn: (message) => logger.warn(message),
        error: (message) => logger.error(String(message)),
      },
    });
  let task = start();
  return {
    startAnew(): void {
      void task.destroy();
      task = start();
    },
    async stop(): Promise<void> {
      await task.destroy();
    },
  };
}

/** Calls back at the times of a cron expression, in the process that started it; replicas all tick. */
export type Schedule = ReturnType<typeof createSchedule>;

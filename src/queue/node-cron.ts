/** Cron ticks in this process by node-cron; looking back and ahead by cron-parser, which node-cron cannot. */
import { CronExpressionParser } from 'cron-parser';
import { type ScheduledTask, schedule } from 'node-cron';
import type { Logger } from '../logger.ts';
import type { Schedule } from './schedule.ts';

/** Enough to meet every gap within a day, of schedules down to one tick in five minutes. */
const TICKS_AHEAD = 300;
const MOST_BETWEEN = 10_000;
const HOUR_MS = 3_600_000;
const EIGHT_DAYS_MS = 192 * HOUR_MS;

export function createSchedule(logger: Logger): Schedule {
  const tasks: ScheduledTask[] = [];
  return {
    every(expression, timezone, tick) {
      const task = schedule(expression, ({ date }) => tick(wholeSecond(date)), {
        timezone,
        // A tick that the process was too busy to wake up for is late, not lost; of several only the last is run.
        missedExecutionTolerance: Number.POSITIVE_INFINITY,
        logger: {
          info: (message) => logger.debug(message),
          debug: (message) => logger.debug(String(message)),
          warn: (message) => logger.warn(message),
          error: (message) => logger.error(String(message)),
        },
      });
      tasks.push(task);
    },

    previous(expression, timezone, now) {
      return previousTick(expression, timezone, now.getTime());
    },

    next(expression, timezone, now) {
      return CronExpressionParser.parse(expression, { tz: timezone, currentDate: now }).next().toDate();
    },

    between(expression, timezone, from, until) {
      const ticks = CronExpressionParser.parse(expression, { tz: timezone, currentDate: until });
      const found: Date[] = [];
      while (found.length < MOST_BETWEEN) {
        const tick = ticks.prev().toDate();
        if (tick <= from) break;
        found.push(tick);
      }
      return found.toReversed();
    },

    longestGapSeconds(expression, timezone, now) {
      const ticks = CronExpressionParser.parse(expression, { tz: timezone, currentDate: now });
      let longestMs = 0;
      let last = ticks.next().getTime();
      for (let i = 0; i < TICKS_AHEAD; i++) {
        const next = ticks.next().getTime();
        longestMs = Math.max(longestMs, next - last);
        last = next;
      }
      // A schedule so busy that this met no weekend is looked at around every hour of more than a week.
      for (let at = last; at < now.getTime() + EIGHT_DAYS_MS; at += HOUR_MS) {
        const next = CronExpressionParser.parse(expression, {
          tz: timezone,
          currentDate: new Date(at),
        }).next();
        longestMs = Math.max(longestMs, next.getTime() - previousTick(expression, timezone, at).getTime());
      }
      return longestMs / 1000;
    },

    async stop() {
      for (const task of tasks) await task.destroy();
    },
  };
}

function wholeSecond(date: Date): Date {
  return new Date(Math.floor(date.getTime() / 1000) * 1000);
}

/** The latest planned time at or before an instant; prev() is strictly before, and planned times are whole seconds. */
function previousTick(expression: string, timezone: string, atMs: number): Date {
  const currentDate = new Date(wholeSecond(new Date(atMs)).getTime() + 1000);
  return CronExpressionParser.parse(expression, { tz: timezone, currentDate }).prev().toDate();
}

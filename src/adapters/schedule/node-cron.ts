/** Cron ticks in this process by node-cron; looking back and ahead by cron-parser, which node-cron cannot. */
import { CronExpressionParser } from 'cron-parser';
import { type ScheduledTask, schedule } from 'node-cron';
import type { Schedule } from '../../ports/schedule.ts';
import type { Logger } from '../../ports/telemetry.ts';

/** Enough ticks to meet the night and the weekend of a schedule by the quarter of an hour. */
const TICKS_AHEAD = 300;

export function createSchedule(logger: Logger): Schedule {
  const tasks: ScheduledTask[] = [];
  return {
    every(expression, timezone, tick) {
      const task = schedule(expression, ({ date }) => tick(wholeSecond(date)), {
        timezone,
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
      // prev() is strictly before; a tick that is due this very second counts.
      const from = new Date(now.getTime() + 1000);
      return CronExpressionParser.parse(expression, { tz: timezone, currentDate: from }).prev().toDate();
    },

    longestGapSeconds(expression, timezone, now) {
      const ticks = CronExpressionParser.parse(expression, { tz: timezone, currentDate: now });
      let longest = 0;
      let last = ticks.next().getTime();
      for (let i = 0; i < TICKS_AHEAD; i++) {
        const next = ticks.next().getTime();
        longest = Math.max(longest, (next - last) / 1000);
        last = next;
      }
      return longest;
    },

    async stop() {
      for (const task of tasks) await task.destroy();
    },
  };
}

function wholeSecond(date: Date): Date {
  return new Date(Math.floor(date.getTime() / 1000) * 1000);
}

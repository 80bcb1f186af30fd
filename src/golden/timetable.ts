import { DAY_MS } from '../core/time.ts';
import { type Cron, longestGapSeconds, nextOccurrence, occurrencesBetween } from '../math/schedule/occurrences.ts';
import { isQuiet } from './rules/schedule.ts';
import type { GoldenSchedule } from './watched-pipeline.ts';

const EIGHT_DAYS_MS = 8 * DAY_MS;
/**
 * Maximum number of ticks in quiet hours that are skipped in the search for the next run. With one tick per minute,
 * this number covers more than three days.
 */
const MAX_QUIET = 5000;
const YEAR_MS = 366 * DAY_MS;

export type Timetable = ReturnType<typeof createTimetable>;

/** Computes the longest gap of each schedule only once, because the gap depends only on the schedule. */
export function createTimetable(now: Date) {
  const gaps = new Map<string, number>();
  const gapOf = (cron: Cron, quiet: GoldenSchedule['quietHours']): number => {
    const key = JSON.stringify([cron, quiet]);
    const known = gaps.get(key);
    if (known !== undefined) return known;
    const gap = Math.max(longestGapSeconds(cron, now), quiet.length === 0 ? 0 : longestQuietGap(cron, quiet));
    gaps.set(key, gap);
    return gap;
  };
  const longestQuietGap = (cron: Cron, quiet: GoldenSchedule['quietHours']): number => {
    const until = new Date(now.getTime() + EIGHT_DAYS_MS);
    const loud = occurrencesBetween(cron, now, until).filter((tick) => !isQuiet(quiet, cron.timezone, tick));
    return loud.reduce((longest, tick, index) => {
      const before = loud[index - 1];
      return before === undefined ? longest : Math.max(longest, (tick.getTime() - before.getTime()) / 1000);
    }, 0);
  };
  return {
    /** Start time of this process. */
    startedAt: now,
    /** Longest gap between two full runs, in seconds; null for a set with no schedule. */
    intervalSeconds: ({ cron, quietHours }: GoldenSchedule) => (cron === null ? null : gapOf(cron, quietHours)),
    sentinelIntervalSeconds: ({ sentinel }: GoldenSchedule) => (sentinel === null ? null : gapOf(sentinel.cron, [])),
    /**
     * Returns the time of the next scheduled run; null if there is no schedule, or if all ticks are in the quiet hours.
     */
    nextRun({ cron, quietHours }: GoldenSchedule, after: Date): Date | null {
      if (cron === null) return null;
      let tick = after;
      for (let tried = 0; tried < MAX_QUIET && tick.getTime() < after.getTime() + YEAR_MS; tried += 1) {
        tick = nextOccurrence(cron, tick);
        if (!isQuiet(quietHours, cron.timezone, tick)) return tick;
      }
      return null;
    },
    nextSentinel: ({ sentinel }: GoldenSchedule, after: Date) =>
      sentinel === null ? null : nextOccurrence(sentinel.cron, after),
  };
}

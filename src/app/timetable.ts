/** When runs of golden sets are due, by their cron and their quiet hours. */
import type { Timetable } from '../golden/gauges.ts';
import { isQuiet } from '../golden/rules/schedule.ts';
import type { GoldenSchedule, WatchedPipeline } from '../golden/watched-pipeline.ts';
import type { IntervalOf } from '../measures/rules/measurement.ts';
import { type Cron, longestGapSeconds, nextOccurrence, occurrencesBetween } from '../schedule/occurrences.ts';

const EIGHT_DAYS_MS = 8 * 86_400_000;
/** So many quiet ticks in a row are looked behind, within a year; those of a tick a minute fill three days. */
const MAX_QUIET = 5000;
const YEAR_MS = 366 * 86_400_000;

/** Gaps are reckoned once, since they are a property of the schedule. */
export function createTimetable(now: Date): Timetable {
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
    startedAt: now,
    intervalSeconds: ({ cron, quietHours }) => (cron === null ? null : gapOf(cron, quietHours)),
    sentinelIntervalSeconds: ({ sentinel }) => (sentinel === null ? null : gapOf(sentinel.cron, [])),
    nextRun({ cron, quietHours }, after) {
      if (cron === null) return null;
      let tick = after;
      for (let tried = 0; tried < MAX_QUIET && tick.getTime() < after.getTime() + YEAR_MS; tried += 1) {
        tick = nextOccurrence(cron, tick);
        if (!isQuiet(quietHours, cron.timezone, tick)) return tick;
      }
      return null;
    },
    nextSentinel: ({ sentinel }, after) => (sentinel === null ? null : nextOccurrence(sentinel.cron, after)),
  };
}

/** The longest gap between two runs of each set of the config. */
export function intervalsOf(pipelines: readonly WatchedPipeline[], timetable: Timetable): IntervalOf {
  const intervals = new Map(
    pipelines.flatMap(({ name, golden }) =>
      golden.map((one) => [`${name} ${one.set}`, timetable.intervalSeconds(one)] as const),
    ),
  );
  return (pipeline, set) => intervals.get(`${pipeline} ${set}`) ?? null;
}

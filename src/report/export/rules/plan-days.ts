/** Decides which days of a table are written again, and which are removed. */
import { DAY_MS, HOUR_MS } from '../../../core/time.ts';

/** First and last day (UTC, YYYY-MM-DD), both inclusive; null for no limit. */
export interface DayRange {
  readonly from: string | null;
  readonly until: string | null;
}

export interface DayDigest {
  readonly day: string;
  /** Number of source rows. */
  readonly rows: number;
  /** Time of the last change, in microseconds since 1970. */
  readonly changed: string | null;
}

/** State of a day in the database when the day was exported. */
export interface ExportedDay {
  readonly read_at: string;
  readonly source_rows: number;
  readonly changed_micros: string | null;
}

/**
 * Time after the end of a day during which traces are still being completed. Completing a trace may change the day's
 * rows without updating the time of their last change.
 */
const COMPLETION_MS = HOUR_MS;

/**
 * @param isSameLayout false if the layout of the table has changed, which makes every exported day outdated
 * @returns the days to write, in order, and the days to remove because their rows were deleted from the database
 */
export function planDays(
  stored: readonly DayDigest[],
  exported: ReadonlyMap<string, ExportedDay>,
  isSameLayout: boolean,
  { from, until }: DayRange,
) {
  const write = stored.filter((day) => !isSameLayout || !isCurrent(day, exported.get(day.day)));
  const present = new Set(stored.map(({ day }) => day));
  const remove = [...exported.keys()].filter(
    (day) => !present.has(day) && (from === null || day >= from) && (until === null || day <= until),
  );
  return { write, remove, unchanged: stored.length - write.length };
}

function isCurrent(stored: DayDigest, exported: ExportedDay | undefined): boolean {
  if (exported?.source_rows !== stored.rows || exported.changed_micros !== stored.changed) return false;
  return Date.parse(exported.read_at) >= Date.parse(stored.day) + DAY_MS + COMPLETION_MS;
}

import { MINUTE_MS } from '../../core/time.ts';
import { median } from '../../math/stats/descriptive.ts';
import { firstWhere } from '../../math/stats/distributions.ts';

/** Minutes since midnight. If `from` is later than `to`, the range spans midnight; equal values mean the whole day. */
export interface QuietHours {
  readonly from: number;
  readonly to: number;
}

/**
 * True if the time is within one of the ranges, from `from` (inclusive) to `to` (exclusive).
 *
 * Quiet hours follow the local time of the time zone: when clocks go back, the repeated hour is quiet twice; when
 * clocks go forward, the skipped hour does not occur.
 */
export function isQuiet(hours: readonly QuietHours[], timezone: string, at: Date): boolean {
  if (hours.length === 0) return false;
  const minute = minuteOfDay(timezone, at);
  return hours.some(({ from, to }) => (from < to ? minute >= from && minute < to : minute >= from || minute < to));
}

/**
 * Returns the start of the local day that contains `at` in the given time zone: midnight, or the first minute of the
 * day if clocks skip midnight.
 */
export function startOfDay(timezone: string, at: Date): Date {
  const today = dayOf(timezone, at);
  // Searches the last 26 hours with a resolution of one minute, because no day is longer than 25 hours and clocks
  // change by whole minutes.
  const minute = Math.floor(at.getTime() / MINUTE_MS);
  const isToday = (candidate: number): boolean => dayOf(timezone, new Date(candidate * MINUTE_MS)) === today;
  return new Date(firstWhere(minute - 26 * 60 + 1, minute, isToday) * MINUTE_MS);
}

function minuteOfDay(timezone: string, at: Date): number {
  const [hour = 0, minute = 0] = format('en-GB', timezone, { hour: '2-digit', minute: '2-digit' })
    .format(at)
    .split(':')
    .map(Number);
  return (hour % 24) * 60 + minute;
}

function dayOf(timezone: string, at: Date): string {
  return format('en-CA', timezone, { year: 'numeric', month: '2-digit', day: '2-digit' }).format(at);
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Caches date formatters, because there are few time zones and creating a formatter takes longer than using it. */
function format(locale: string, timeZone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${locale} ${timeZone}`;
  const known = formats.get(key);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat(locale, { timeZone, hourCycle: 'h23', ...options });
  formats.set(key, made);
  return made;
}

/**
 * Returns the median duration of the latest runs if it exceeds the shortest gap between two ticks. In that case, some
 * ticks are skipped, because the previous run is still in progress. Returns null if the schedule leaves enough time, or
 * if no run has ended.
 */
export function overrunSeconds(durationsSeconds: readonly number[], shortestGapSeconds: number): number | null {
  if (durationsSeconds.length === 0) return null;
  const typical = median(durationsSeconds);
  return typical > shortestGapSeconds ? typical : null;
}

/** Reason for starting a run; the reason decides how much of the daily budget the run may use. */
export type StartPurpose = 'full' | 'sentinel' | 'escalation' | 'manual';

/**
 * True if a run fits into the remaining daily budget.
 *
 * For a set with a sentinel, part of the limit is reserved for the full run that a failed sentinel starts. The reserve
 * covers one full run. If the limit is too low for two full runs, the reserve is the rest of the limit after one full
 * run. Scheduled runs and sentinels must not use this reserve, but the full run after a failed sentinel may use it. A
 * manual run is never refused, but its queries count toward the limit.
 */
export function fitsBudget({
  purpose,
  limit,
  asked,
  planned,
  full,
  hasSentinel,
}: {
  readonly purpose: StartPurpose;
  /** Maximum number of queries per day; null for no limit. */
  readonly limit: number | null;
  /** Number of queries of the set that were sent since midnight, including all queries of runs in progress. */
  readonly asked: number;
  /** Number of queries of the run that is about to start. */
  readonly planned: number;
  /** Number of queries of a full run. */
  readonly full: number;
  /** True if the set has a sentinel, so that a full run may be needed at any time. */
  readonly hasSentinel: boolean;
}): boolean {
  if (limit === null || purpose === 'manual') return true;
  const reserve = hasSentinel && purpose !== 'escalation' ? Math.min(full, Math.max(0, limit - full)) : 0;
  return asked + planned <= limit - reserve;
}

/** When a run may start: hours of the day in which a set is left alone, and how many queries a day it may cost. */

import { MINUTE_MS } from '../../core/time.ts';
import { median } from '../../math/stats/descriptive.ts';
import { firstWhere } from '../../math/stats/distributions.ts';

/** Minutes since midnight. `from` above `to` goes over midnight; equal ones are the whole day. */
export interface QuietHours {
  readonly from: number;
  readonly to: number;
}

/**
 * Whether an instant lies in one of the hours, from `from` up to but not including `to`.
 *
 * It is the wall clock of the time zone that counts: in the night in which clocks go back the hour that comes twice is
 * quiet twice, and an hour that is left out in spring is never met.
 *
 * @param timezone name of the IANA database
 */
export function isQuiet(hours: readonly QuietHours[], timezone: string, at: Date): boolean {
  if (hours.length === 0) return false;
  const minute = minuteOfDay(timezone, at);
  return hours.some(({ from, to }) => (from < to ? minute >= from && minute < to : minute >= from || minute < to));
}

/** The latest midnight of a time zone at or before an instant; on days without one, the first instant of the day. */
export function startOfDay(timezone: string, at: Date): Date {
  const today = dayOf(timezone, at);
  // No day is longer than 25 hours, and clocks change by whole minutes.
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

/** Making one takes longer than using it, and the config has few time zones. */
function format(locale: string, timeZone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${locale} ${timeZone}`;
  const known = formats.get(key);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat(locale, { timeZone, hourCycle: 'h23', ...options });
  formats.set(key, made);
  return made;
}

/**
 * The median duration of the last runs where it is longer than the shortest gap between two ticks, so that ticks are
 * skipped because the run before is still going; null where the schedule leaves enough time, or no run has ended.
 *
 * @param durationsSeconds of the last runs
 */
export function overrunSeconds(durationsSeconds: readonly number[], shortestGapSeconds: number): number | null {
  if (durationsSeconds.length === 0) return null;
  const typical = median(durationsSeconds);
  return typical > shortestGapSeconds ? typical : null;
}

/** How many queries a day a golden set may cost its retriever. */
export type StartPurpose = 'full' | 'sentinel' | 'escalation' | 'manual';

export interface BudgetQuestion {
  readonly purpose: StartPurpose;
  /** Most queries a day; null for no limit. */
  readonly limit: number | null;
  /** Queries of the set asked since midnight, those of running runs counted whole. */
  readonly asked: number;
  /** Queries of the run that wants to start. */
  readonly planned: number;
  /** Queries of a full run. */
  readonly full: number;
  /** Whether a sentinel watches the set, so that a full run may be needed at any time. */
  readonly hasSentinel: boolean;
}

/**
 * Whether a run fits into what is left of the day.
 *
 * A set with a sentinel keeps a reserve of one full run for the day it falls, as far as the limit leaves one full run
 * besides; scheduled runs and sentinels stop before the reserve, an escalation may use it. A person who starts a run by
 * hand is not held up, but what the run asks counts.
 */
export function fitsBudget({ purpose, limit, asked, planned, full, hasSentinel }: BudgetQuestion): boolean {
  if (limit === null || purpose === 'manual') return true;
  const reserve = hasSentinel && purpose !== 'escalation' ? Math.min(full, Math.max(0, limit - full)) : 0;
  return asked + planned <= limit - reserve;
}

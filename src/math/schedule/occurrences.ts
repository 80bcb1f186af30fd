/**
 * Computes the times that match a cron expression. The scheduler, the search for missed ticks and the freshness
 * limits all use these times.
 *
 * A time of day occurs once a day, even when clocks change. A time that is skipped in spring moves forward by the
 * length of the gap: 02:30 becomes 03:30, 24 hours after the previous day's occurrence, as in RFC 5545 and Temporal. If
 * a time exists twice in autumn, only the first is an occurrence. A schedule with `*` as its minute or hour instead
 * follows elapsed time, both in spring and in autumn.
 */

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/time.ts';
import { firstWhere } from '../stats/distributions.ts';

export interface CronExpression {
  /** Times of day that the expression matches, in seconds since midnight, ascending. */
  readonly times: readonly number[];
  /** True if the expression matches again in the hour that repeats when clocks go back. */
  readonly goesByElapsedTime: boolean;
  /** @param day calendar day, as a number of days since 1970 */
  readonly isDay: (day: number) => boolean;
}

interface Field {
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
}

const second: Field = { min: 0, max: 59, names: [] };
const hour: Field = { min: 0, max: 23, names: [] };
const dayOfMonth: Field = { min: 1, max: 31, names: [] };
const month: Field = {
  min: 1,
  max: 12,
  names: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
};
/** Both 0 and 7 mean Sunday. */
const weekday: Field = { min: 0, max: 7, names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] };

/** `*`, a value or a range; `*` and ranges can have a step. */
const PART = /^(?:\*|([a-z\d]+)(?:-([a-z\d]+))?)(?:\/(\d{1,2}))?$/i;
/**
 * Length, in days, of a period that always includes every calendar date: at most eight years separate one 29 February
 * from the next.
 */
const DAYS_OF_ALL_DATES = 8 * 366;

/** @returns null for an invalid expression, and for an expression that never matches, such as one for 30 February */
export function readCronExpression(text: string): CronExpression | null {
  const fields = text.replace(/^ +| +$/g, '').split(/ +/);
  if (fields.length === 5) fields.unshift('0');
  if (fields.length !== 6) return null;
  const [seconds, minutes, hours, days, months, weekdays] = [second, second, hour, dayOfMonth, month, weekday].map(
    (field, position) => valuesOf(fields[position] ?? '', field),
  );
  if (!seconds || !minutes || !hours || !days || !months || !weekdays) return null;
  const isDay = (day: number): boolean => {
    const date = new Date(day * DAY_MS);
    return (
      months.has(date.getUTCMonth() + 1) &&
      days.has(date.getUTCDate()) &&
      (weekdays.has(date.getUTCDay()) || (date.getUTCDay() === 0 && weekdays.has(7)))
    );
  };
  if (!Array.from({ length: DAYS_OF_ALL_DATES }, (_, day) => day).some(isDay)) return null;
  return {
    times: inOrder(hours).flatMap((h) =>
      inOrder(minutes).flatMap((m) => inOrder(seconds).map((s) => (h * 60 + m) * 60 + s)),
    ),
    goesByElapsedTime: fields.slice(1, 3).some((field) => field.startsWith('*')),
    isDay,
  };
}

function valuesOf(text: string, field: Field): ReadonlySet<number> | null {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const [matched, first, last, step] = PART.exec(part) ?? [];
    if (matched === undefined || (first !== undefined && last === undefined && step !== undefined)) return null;
    const from = first === undefined ? field.min : valueOf(first, field);
    const to = first === undefined ? field.max : valueOf(last ?? first, field);
    const by = Number(step ?? 1);
    if (from < field.min || to > field.max || !(from <= to) || by === 0) return null;
    for (let value = from; value <= to; value += by) values.add(value);
  }
  return values;
}

function valueOf(text: string, { min, names }: Field): number {
  const name = names.indexOf(text.toUpperCase());
  return name === -1 ? (/^\d{1,2}$/.test(text) ? Number(text) : Number.NaN) : min + name;
}

function inOrder(values: ReadonlySet<number>): number[] {
  return [...values].toSorted((a, b) => a - b);
}

/**
 * Period from `from` (inclusive) to `to` (exclusive) in which local time is UTC plus `offset`. `from`, `to` and
 * `offset` are in milliseconds.
 */
interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly offset: number;
}

interface ClockDay {
  /** The whole day as one stretch; on a day when the clock changes, two stretches: before and after the change. */
  readonly stretches: readonly Stretch[];
  /** The hour after the clock goes forward; skipped times are moved into this hour. */
  readonly leftOut: Stretch | null;
  /** The hour after the clock goes back, in which local times repeat. */
  readonly repeated: Stretch | null;
}

/**
 * Cache size in days, over all time zones. The cache is effective because a schedule needs the same few days
 * repeatedly.
 */
const MAX_DAYS = 20_000;
const days = new Map<string, ClockDay>();

/** @param day UTC day, as a number of days since 1970 */
function clockDay(timezone: string, day: number): ClockDay {
  const key = `${timezone} ${day}`;
  const known = days.get(key);
  if (known !== undefined) return known;
  if (days.size >= MAX_DAYS) days.clear();
  const made = lookUp(timezone, day);
  days.set(key, made);
  return made;
}

function lookUp(timezone: string, day: number): ClockDay {
  const [from, to] = [day * DAY_MS, (day + 1) * DAY_MS];
  const [before, after] = [offsetMs(timezone, from), offsetMs(timezone, to)];
  if (before === after) return { stretches: [{ from, to, offset: before }], leftOut: null, repeated: null };
  // No zone changes its clock twice in a day, or at a time that is not a whole minute.
  const isAfter = (minute: number): boolean => offsetMs(timezone, minute * MINUTE_MS) === after;
  const at = MINUTE_MS * firstWhere(from / MINUTE_MS, to / MINUTE_MS, isAfter);
  const by = after - before;
  return {
    stretches: [
      { from, to: at, offset: before },
      { from: at, to, offset: after },
    ],
    leftOut: by > 0 ? { from: at, to: at + by, offset: before } : null,
    repeated: by < 0 ? { from: at, to: at - by, offset: after } : null,
  };
}

const formats = new Map<string, Intl.DateTimeFormat>();

function offsetMs(timezone: string, at: number): number {
  // Fast path: most schedules use UTC, and creating a formatter for a time zone takes longer than all other work here.
  if (timezone === 'UTC') return 0;
  let format = formats.get(timezone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', { timeZone: timezone, timeZoneName: 'longOffset' });
    formats.set(timezone, format);
  }
  const [, sign, hours = 0, minutes = 0] = /GMT([+-])(\d\d):(\d\d)/.exec(format.format(at)) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
}

export interface Cron {
  /** An expression that `readCronExpression` accepts. */
  readonly expression: string;
  /** Time zone name in the IANA database. */
  readonly timezone: string;
}

const SECOND_MS = 1000;
/** Maximum number of days between two occurrences: eight years, from one 29 February to the next. */
const MAX_WAIT_DAYS = 8 * 366 + 2;
const MAX_BETWEEN = 10_000;
/** Number of future ticks to inspect: enough to cover a day if the schedule has at most one tick every five minutes. */
const TICKS_AHEAD = 300;
const DAYS_AHEAD = 400;
const EIGHT_DAYS_MS = 8 * DAY_MS;

/** Returns the earliest occurrence after an instant. */
export function nextOccurrence(cron: Cron, after: Date): Date {
  return occurrence(cron, after, false);
}

/** Returns the latest occurrence at or before an instant. */
export function latestOccurrence(cron: Cron, now: Date): Date {
  return occurrence(cron, now, true);
}

/** @param isLast true for the latest occurrence at or before the instant, false for the earliest one after it */
function occurrence(cron: Cron, instant: Date, isLast: boolean): Date {
  const expression = read(cron);
  const bound = (Math.floor(instant.getTime() / SECOND_MS) + 1) * SECOND_MS;
  const today = Math.floor((isLast ? bound - 1 : bound) / DAY_MS);
  for (let days = 0; days <= MAX_WAIT_DAYS; days += 1) {
    const found = stretchesOf(expression, cron, isLast ? today - days : today + days).flatMap((stretch) => {
      const { from, to, offset } = stretch;
      const part = isLast ? { from, to: Math.min(bound, to), offset } : { from: Math.max(bound, from), to, offset };
      return occurrenceWithin(expression, part, isLast) ?? [];
    });
    if (found.length > 0) return new Date(isLast ? Math.max(...found) : Math.min(...found));
  }
  throw new Error(`${cron.expression} ${isLast ? 'has never occurred' : 'never occurs'}`);
}

/**
 * Returns the occurrences after `from` and before `until` in chronological order. If there are more than 10,000
 * occurrences, returns only the latest 10,000.
 */
export function occurrencesBetween(cron: Cron, from: Date, until: Date): Date[] {
  const found: Date[] = [];
  let at = until;
  while (found.length < MAX_BETWEEN) {
    at = latestOccurrence(cron, new Date(at.getTime() - 1));
    if (at <= from) break;
    found.push(at);
  }
  return found.toReversed();
}

/**
 * Returns the longest gap, in seconds, between consecutive occurrences in the near future, starting from the latest
 * occurrence at or before `now`.
 */
export function longestGapSeconds(cron: Cron, now: Date): number {
  let last = latestOccurrence(cron, now);
  let longestMs = 0;
  const horizon = now.getTime() + DAYS_AHEAD * DAY_MS;
  for (let tick = 0; tick < TICKS_AHEAD && last.getTime() < horizon; tick += 1) {
    const next = nextOccurrence(cron, last);
    longestMs = Math.max(longestMs, next.getTime() - last.getTime());
    last = next;
  }
  // The inspected ticks of a frequent schedule might not reach the weekend, so this loop also checks the gap around one
  // instant in each hour of the next eight days.
  for (let at = last.getTime(); at < now.getTime() + EIGHT_DAYS_MS; at += HOUR_MS) {
    const around = new Date(at);
    const gap = nextOccurrence(cron, around).getTime() - latestOccurrence(cron, around).getTime();
    longestMs = Math.max(longestMs, gap);
  }
  return longestMs / SECOND_MS;
}

/** Returns the shortest gap in seconds between two consecutive occurrences within the next eight days. */
export function shortestGapSeconds(cron: Cron, now: Date): number {
  const horizon = now.getTime() + EIGHT_DAYS_MS;
  let last = nextOccurrence(cron, now);
  let shortestMs = Number.POSITIVE_INFINITY;
  for (let tick = 0; tick < TICKS_AHEAD; tick += 1) {
    const next = nextOccurrence(cron, last);
    shortestMs = Math.min(shortestMs, next.getTime() - last.getTime());
    if (next.getTime() > horizon) break;
    last = next;
  }
  return shortestMs / SECOND_MS;
}

const expressions = new Map<string, CronExpression>();

function read({ expression: text }: Cron): CronExpression {
  const known = expressions.get(text) ?? readCronExpression(text);
  if (known === null) throw new Error(`${text} is not a cron expression`);
  expressions.set(text, known);
  return known;
}

/** Returns the parts of a UTC day in which the expression can match; none if no calendar day matches. */
function stretchesOf(expression: CronExpression, { timezone }: Cron, day: number): readonly Stretch[] {
  // In every zone, the local date is the UTC date or differs from it by one day.
  if (![day - 1, day, day + 1].some((date) => expression.isDay(date))) return [];
  const today = clockDay(timezone, day);
  const yesterday = clockDay(timezone, day - 1);
  const within = ({ from, to, offset }: Stretch): Stretch[] => {
    const part = { from: Math.max(from, day * DAY_MS), to: Math.min(to, (day + 1) * DAY_MS), offset };
    return part.from < part.to ? [part] : [];
  };
  const leftOut = [yesterday, today].flatMap((one) => (one.leftOut === null ? [] : within(one.leftOut)));
  const again = expression.goesByElapsedTime
    ? []
    : [yesterday, today].flatMap((one) => (one.repeated === null ? [] : within(one.repeated)));
  return [...again.reduce(without, today.stretches), ...leftOut];
}

function without(stretches: readonly Stretch[], hole: Stretch): readonly Stretch[] {
  return stretches.flatMap((stretch) =>
    [
      { ...stretch, to: Math.min(stretch.to, hole.from) },
      { ...stretch, from: Math.max(stretch.from, hole.to) },
    ].filter(({ from, to }) => from < to),
  );
}

/** Returns the first or the last time within the stretch that matches the expression; null if there is none. */
function occurrenceWithin(
  { times, isDay }: CronExpression,
  { from, to, offset }: Stretch,
  isLast: boolean,
): number | null {
  const [first, last] = [Math.floor((from + offset) / DAY_MS), Math.floor((to + offset - 1) / DAY_MS)];
  const days = Array.from({ length: Math.max(0, last - first + 1) }, (_, k) => (isLast ? last - k : first + k));
  for (const day of days.filter(isDay)) {
    const midnight = day * DAY_MS - offset;
    const next = firstWhere(0, times.length, (k) => midnight + (times[k] ?? 0) * SECOND_MS >= (isLast ? to : from));
    const time = times[isLast ? next - 1 : next];
    if (time === undefined) continue;
    const at = midnight + time * SECOND_MS;
    return at >= from && at < to ? at : null;
  }
  return null;
}

/** Cron expressions of five fields, or of six that begin with the second. */
import { DAY_MS } from '../time.ts';

export interface CronExpression {
  /** Seconds since midnight at which it is due on its days, in order. */
  readonly times: readonly number[];
  /** Whether it is due again in an hour that comes twice, when clocks go back. */
  readonly goesByElapsedTime: boolean;
  /** @param day number of a day of the calendar since 1970 */
  readonly isDay: (day: number) => boolean;
}

interface Field {
  readonly least: number;
  readonly most: number;
  readonly names: readonly string[];
}

const second: Field = { least: 0, most: 59, names: [] };
const hour: Field = { least: 0, most: 23, names: [] };
const dayOfMonth: Field = { least: 1, most: 31, names: [] };
const month: Field = {
  least: 1,
  most: 12,
  names: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
};
/** Sunday is 0 and 7. */
const weekday: Field = { least: 0, most: 7, names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] };

/** `*`, a value or a range; of `*` and of a range a step may take every second or third value, and so on. */
const PART = /^(?:\*|([a-z\d]+)(?:-([a-z\d]+))?)(?:\/(\d{1,2}))?$/i;
/** From a 29 February to the next there are eight years at most. */
const MAX_WAIT_DAYS = 8 * 366;

/** @returns null for what is no such expression, and for one that is never due, such as on 30 February */
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
  if (!Array.from({ length: MAX_WAIT_DAYS }, (_, day) => day).some(isDay)) return null;
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
    const from = first === undefined ? field.least : valueOf(first, field);
    const to = first === undefined ? field.most : valueOf(last ?? first, field);
    const by = Number(step ?? 1);
    if (from < field.least || to > field.most || !(from <= to) || by === 0) return null;
    for (let value = from; value <= to; value += by) values.add(value);
  }
  return values;
}

/** NaN for what is no value of the field. */
function valueOf(text: string, { least, names }: Field): number {
  const name = names.indexOf(text.toUpperCase());
  return name === -1 ? (/^\d{1,2}$/.test(text) ? Number(text) : Number.NaN) : least + name;
}

function inOrder(values: ReadonlySet<number>): number[] {
  return [...values].toSorted((a, b) => a - b);
}

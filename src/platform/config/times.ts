/**
 * Times in the config: durations (`30m`, `24h`, `7d`), and schedules as cron expressions with time zones. All
 * components of recalld interpret these times in the same way.
 */
import { z } from 'zod';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/time.ts';
import { readCronExpression } from '../../math/schedule/occurrences.ts';

/** The config reference shows `notation` as the type of this field. */
export const cronSchema = z
  .string()
  .superRefine((expression, context) => {
    const problem = cronProblem(expression);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
  })
  .meta({ notation: 'cron expression' });

function cronProblem(expression: string): string | null {
  if (isNeverDue(expression)) return 'never occurs: none of its months has that day; use a day from 1 to 28';
  if (readCronExpression(expression) === null)
    return 'is not a cron expression with five fields, or six with seconds; for an hourly schedule, write "0 * * * *"';
  const [dayOfMonth, , weekday] = expression.trim().split(/ +/).slice(-3);
  // If both fields are set, Unix cron runs a job when either of them matches; other programs require both to match.
  if (dayOfMonth !== '*' && weekday !== '*') {
    return 'sets both a day of the month and a weekday, which cron programs interpret differently; write * for one of them';
  }
  return null;
}

/** True for a valid expression whose day never occurs, such as 30 February. */
function isNeverDue(expression: string): boolean {
  const fields = expression.trim().split(/ +/);
  const days = fields.at(-3) ?? '';
  if (fields.length < 5 || readCronExpression(expression) !== null) return false;
  const onAnyDay = fields.map((field, at) => (at === fields.length - 3 ? '*' : field)).join(' ');
  const areDays = [...days.matchAll(/\d+/g)].every(([day]) => Number(day) >= 1 && Number(day) <= 31);
  return /^\d/.test(days) && areDays && readCronExpression(onAnyDay) !== null;
}

export const timezoneSchema = z.string().refine(isZone, {
  error: 'is not a time zone; use a name like "UTC" or "Europe/Paris"',
});

function isZone(zone: string): boolean {
  // Node.js 22 also accepts offsets such as +01:00, which have no daylight saving time.
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

const unitMs = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS } as const;

const DURATION_RULE = 'must be a number of minutes, hours or days, such as 30m, 24h or 7d';

/** Returns a schema for durations from `minimum` to `maximum`; these limits use the same notation as the durations. */
export function durationSchema(minimum: string, maximum: string) {
  return z
    .string({ error: DURATION_RULE })
    .regex(/^[1-9]\d{0,5}[mhd]$/, { error: DURATION_RULE, abort: true })
    .refine((text) => durationMs(text) >= durationMs(minimum) && durationMs(text) <= durationMs(maximum), {
      error: `must be from ${minimum} to ${maximum}`,
    })
    .meta({ notation: `duration, ${minimum} to ${maximum}` });
}

/** @param text a duration that durationSchema accepts */
export function durationMs(text: string): number {
  return Number.parseInt(text, 10) * unitMs[text.slice(-1) as keyof typeof unitMs];
}

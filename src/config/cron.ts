/** When something runs: cron expressions and time zones that every part of recalld reads in the same way. */
import { CronExpressionParser } from 'cron-parser';
import { z } from 'zod';

/**
 * The common ground of node-cron, which ticks, and cron-parser, which looks back and ahead. Each has dialects of its
 * own: cron-parser takes an empty expression for `* * * * *`, and only it knows `5/15`.
 */
const value = String.raw`(?:\d{1,2}|[A-Za-z]{3})`;
const part = String.raw`(?:${value}|(?:\*|${value}-${value})(?:/\d{1,2})?)`;
const field = `${part}(?:,${part})*`;
const fields = new RegExp(`^ *${field}(?: +${field}){4,5} *$`);

export const cronSchema = z.string().superRefine((expression, context) => {
  const problem = cronProblem(expression);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

function cronProblem(expression: string): string | null {
  const refusal =
    'is not a cron expression of five fields, or six with seconds; an hourly one is "0 * * * *"';
  if (!fields.test(expression) || !isReadable(expression, 'UTC')) return refusal;
  const [dayOfMonth, , weekday] = expression.trim().split(/ +/).slice(-3);
  // node-cron wants both to hold, cron-parser and the cron of Unix want one of them.
  if (dayOfMonth !== '*' && weekday !== '*') {
    return 'names both a day of the month and a weekday, which programs read in two ways; write * for one of them';
  }
  return null;
}

export const timezoneSchema = z.string().refine((zone) => isZone(zone) && isReadable('0 * * * *', zone), {
  error: 'is not a time zone; use a name such as "UTC" or "Europe/Paris"',
});

function isZone(zone: string): boolean {
  // Node.js 22 takes offsets such as +01:00 too, which know no summer.
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

/** Whether the expression can be read and has a next tick; 30 February has none. */
function isReadable(expression: string, zone: string): boolean {
  try {
    CronExpressionParser.parse(expression, { tz: zone }).next();
    return true;
  } catch {
    return false;
  }
}

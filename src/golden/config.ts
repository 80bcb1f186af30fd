/** What the config of golden sets needs beside plain fields. */
import { z } from 'zod';

const time = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: 'must be a time of day such as "22:00", in quotes' });

export const quietHoursSchema = z
  .strictObject({
    from: time.describe('First minute that is quiet.'),
    to: time.describe('First minute that no longer is; earlier than `from` is on the next day.'),
  })
  .refine(({ from, to }) => from !== to, { error: 'is the whole day; leave `cron` out instead' });

/** @param text that the schema has accepted */
export function minuteOfDay(text: string): number {
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  return hours * 60 + minutes;
}

/**
 * Adds one problem per repeat, at the repeat.
 *
 * @param field the field of each element that holds the name; left out, the elements are the names
 */
export function refuseRepeats(names: readonly string[], context: z.core.$RefinementCtx, field?: string): void {
  for (const [index, name] of names.entries()) {
    const first = names.indexOf(name);
    if (first === index) continue;
    context.addIssue({
      code: 'custom',
      path: field === undefined ? [index] : [index, field],
      message: `repeats "${name}" from element ${first} of the list; name each once`,
    });
  }
}

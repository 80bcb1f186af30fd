/** Schemas of the golden config whose fields need additional validation. */
import { z } from 'zod';

const time = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: 'must be a time of day such as "22:00", in quotes' });

export const quietHoursSchema = z
  .strictObject({
    from: time.describe('First minute of the quiet hours.'),
    to: time.describe('First minute after the quiet hours; a time before `from` is on the next day.'),
  })
  .refine(({ from, to }) => from !== to, { error: 'covers the whole day; remove `cron` instead' });

/** @param text already validated by the schema */
export function minuteOfDay(text: string): number {
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  return hours * 60 + minutes;
}

/**
 * Adds one issue per repeated name, at its element.
 *
 * @param field the field of each element that contains the name; omit it if the elements are the names
 */
export function refuseRepeats(names: readonly string[], context: z.core.$RefinementCtx, field?: string): void {
  for (const [index, name] of names.entries()) {
    const first = names.indexOf(name);
    if (first === index) continue;
    context.addIssue({
      code: 'custom',
      path: field === undefined ? [index] : [index, field],
      message: `repeats "${name}" from list element ${first}; name each element once`,
    });
  }
}

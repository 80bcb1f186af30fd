import { z } from 'zod';

const time = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: 'must be a time of day such as "22:00", in quotes' });

export const quietHoursSchema = z
  .strictObject({
    from: time.describe('First minute of the quiet hours, such as "22:00".'),
    to: time.describe(
      'First minute after the quiet hours. If `to` is earlier than `from`, the quiet hours end on the next day.',
    ),
  })
  .refine(({ from, to }) => from !== to, {
    error: 'covers the whole day, so the set would never run; to run it only manually, remove `cron` instead',
  });

/** @param text already validated by the schema */
export function minuteOfDay(text: string): number {
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  return hours * 60 + minutes;
}

/**
 * Reports each repeated name as an issue at the list element that repeats it.
 *
 * @param field name of the field that contains the name; omit it if the elements themselves are the names
 */
export function refuseRepeats(names: readonly string[], context: z.core.$RefinementCtx, field?: string): void {
  for (const [index, name] of names.entries()) {
    const first = names.indexOf(name);
    if (first === index) continue;
    context.addIssue({
      code: 'custom',
      path: field === undefined ? [index] : [index, field],
      message: `repeats "${name}" from list element ${first}; use each name once`,
    });
  }
}

export function refuseRepeatsOf<Field extends string>(field: Field) {
  return (list: readonly Readonly<Record<Field, string>>[], context: z.core.$RefinementCtx): void => {
    const names = list.map((one) => one[field]);
    refuseRepeats(names, context, field);
  };
}

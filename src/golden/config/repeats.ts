/** Refuses a list that names the same thing twice: both would write to the same series. */
import type { z } from 'zod';

/**
 * Adds one problem per repeat, at the repeat.
 *
 * @param field the field of each element that holds the name; left out, the elements are the names
 */
export function refuseRepeats(
  names: readonly string[],
  context: z.core.$RefinementCtx,
  field?: string,
): void {
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

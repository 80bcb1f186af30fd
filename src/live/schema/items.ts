/** A body of one item or many: each item is judged on its own, so that one bad item costs only itself. */
import type { z } from 'zod';
import { RecalldError } from '../../errors.ts';
import type { Rejection, RejectionCode } from '../../rejection.ts';

/** Most items in a body. */
export const MAX_ITEMS = 1000;

export interface ParsedItems<Item> {
  readonly items: readonly Item[];
  /** Where each item stood in the body. */
  readonly positions: readonly number[];
  readonly rejected: readonly (Rejection & { readonly index: number })[];
}

/**
 * @param toItem wire form -> core form
 * @throws RecalldError body_unreadable when the body is neither an object nor a list of at most 1,000
 */
export function parseItems<Schema extends z.ZodType, Item>(
  body: unknown,
  schema: Schema,
  toItem: (parsed: z.infer<Schema>) => Item,
): ParsedItems<Item> {
  const list: readonly unknown[] = Array.isArray(body) ? body : [body];
  if (typeof body !== 'object' || body === null) {
    throw new RecalldError('body_unreadable', 'The body must be a JSON object, or a list of them.');
  }
  if (list.length > MAX_ITEMS)
    throw new RecalldError(
      'body_unreadable',
      `The body has ${list.length} items; send at most ${MAX_ITEMS}.`,
    );
  const items: Item[] = [];
  const positions: number[] = [];
  const rejected: (Rejection & { index: number })[] = [];
  for (const [index, value] of list.entries()) {
    const parsed = schema.safeParse(value);
    if (parsed.success) {
      items.push(toItem(parsed.data));
      positions.push(index);
    } else rejected.push({ index, ...rejectionOf(parsed.error.issues[0]) });
  }
  return { items, positions, rejected };
}

/** The code and sentence of an issue. Never holds a value of the item, which may be what a user asked. */
function rejectionOf(issue: z.core.$ZodIssue | undefined): Rejection {
  if (issue === undefined)
    return { code: 'invalid_field', message: 'The item is not what the contract says.' };
  const field = issue.path.length === 0 ? 'The item' : issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    return {
      code: 'unknown_field',
      message: `${field} has ${issue.keys.length} fields that are not part of the contract; see /openapi.json.`,
    };
  }
  if (issue.code === 'custom') {
    const code = issue.params?.['rejection'] as RejectionCode | undefined;
    return { code: code ?? 'invalid_field', message: `${field} ${issue.message}.` };
  }
  return {
    code: 'invalid_field',
    message: `${field} is missing, has the wrong type or is out of range; see /openapi.json.`,
  };
}

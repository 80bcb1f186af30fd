/** Lists that come page by page: `limit` at most, and `cursor` to go on where a page ended. */
import { z } from 'zod';

const cursorMeaning = '`next_cursor` of the page before.';

/** `limit`, at most `most` and `usual` when it is left out. */
export function limitField(most: number, usual = 50) {
  return z.coerce.number().int().min(1).max(most).default(usual).describe(`Most items of the page, up to ${most}.`);
}

export const pageQueryShape = {
  limit: limitField(1000),
  cursor: z
    .string()
    .regex(/^[\w.:-]{1,200}$/, { error: 'is not a cursor of this API' })
    .optional()
    .describe(cursorMeaning),
};

const numberCursor = z
  .string()
  .regex(/^\d{1,15}$/, { error: 'is not a cursor of this API' })
  .optional()
  .describe(cursorMeaning);

/** Of lists whose cursors are numbers: ids that the database counts, or places in a list that is at hand as a whole. */
export const numberedPageShape = { limit: limitField(1000), cursor: numberCursor };

/** A page of items; `next_cursor` is null on the last one. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), next_cursor: nextCursor });
}

export const nextCursor = z.string().nullable().describe('`cursor` of the next page; null on the last one.');

/** A full page may have a next one; `cursorOf` names the place behind its last item. */
export function toPage<Item, Shown>(
  items: readonly Item[],
  limit: number,
  show: (item: Item) => Shown,
  cursorOf: (item: Item) => string,
): { readonly items: readonly Shown[]; readonly next_cursor: string | null } {
  const last = items.at(-1);
  const isFull = items.length === limit && last !== undefined;
  return { items: items.map(show), next_cursor: isFull ? cursorOf(last) : null };
}

export interface Slice<Item> {
  readonly items: readonly Item[];
  readonly next_cursor: string | null;
}

/** The page of a whole list that begins at the place `cursor`, from 0. */
export function sliceAt<Item>(
  list: readonly Item[],
  { limit, cursor = '0' }: { readonly limit: number; readonly cursor?: string | undefined },
): Slice<Item> {
  const from = Number(cursor);
  const end = from + limit;
  return { items: list.slice(from, end), next_cursor: end < list.length ? String(end) : null };
}

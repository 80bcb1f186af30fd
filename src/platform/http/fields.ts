/** Fields that HTTP API requests share, request validation by schema, and list pagination. */
import { z } from 'zod';
import { RecalldError, type RejectionCode } from '../../core/errors.ts';
import { rejectionOf } from './rejections.ts';

/** Maximum length of a query or comment text, in UTF-16 code units. */
const MAX_TEXT = 100_000;

/** Adds an issue with a rejection code. */
export function refuse(context: z.core.$RefinementCtx, code: RejectionCode, message: string): void {
  context.addIssue({ code: 'custom', message, params: { rejection: code }, input: undefined });
}

// Strings may contain tabs, line feeds and carriage returns, but no other control characters.
const controlInText = /(?![\t\n\r])\p{Cc}/u;
const controlInId = /\p{Cc}/u;

function bounded(max: number, control: RegExp) {
  return z
    .string()
    .superRefine((value, context) => {
      if (value.length > max) refuse(context, 'text_too_long', `has ${value.length} characters, maximum ${max}`);
      else if (control.test(value)) refuse(context, 'control_characters', 'contains control characters');
      else if (!value.isWellFormed()) refuse(context, 'control_characters', 'is not well-formed Unicode');
    })
    .meta({ maxLength: max });
}

export const text = bounded(MAX_TEXT, controlInText);

const MAX_SHORT_TEXT = 1000;

export const shortText = bounded(MAX_SHORT_TEXT, controlInText);

const MAX_ID_LENGTH = 1024;

export const identifier = bounded(MAX_ID_LENGTH, controlInId).refine((value) => value.length > 0, {
  error: 'is empty',
});

/** Equivalent to `identifier`, but much cheaper; each query contains dozens of ids. */
export function isIdentifier(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= MAX_ID_LENGTH && isClean(value, false);
}

/** Equivalent to `text` at a fraction of the cost. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT && isClean(value, true);
}

/** Equivalent to `shortText` at a fraction of the cost. */
export function isShortText(value: unknown): value is string {
  return isText(value) && value.length <= MAX_SHORT_TEXT;
}

/** True if a string has no control characters and no lone surrogates. */
function isClean(value: string, mayHaveLines: boolean): boolean {
  let hasSurrogate = false;
  for (let i = 0; i < value.length; i++) {
    const unit = value.charCodeAt(i);
    if (unit < 0x20) {
      if (!mayHaveLines || (unit !== 0x09 && unit !== 0x0a && unit !== 0x0d)) return false;
    } else if (unit >= 0x7f) {
      if (unit <= 0x9f) return false;
      if (unit >= 0xd800 && unit <= 0xdfff) hasSurrogate = true;
    }
  }
  return !hasSurrogate || value.isWellFormed();
}

export const timestamp = z.iso.datetime({
  offset: true,
  error: 'must be an RFC 3339 time with T and a zone, such as 2026-11-20T15:45:00Z or 2026-11-20T16:45:00+01:00',
});

const [MAX_SEGMENTS, MAX_SEGMENT_KEY, MAX_SEGMENT_VALUE] = [16, 64, 256];

function shortTexts(maxKeys: number, maxValue: number) {
  return z
    .record(bounded(MAX_SEGMENT_KEY, controlInId), bounded(maxValue, controlInId).nullable())
    .refine((texts) => Object.keys(texts).length <= maxKeys, { error: `has more than ${maxKeys} keys` });
}

/** Up to 16 keys with short strings; a key with a null value is omitted. */
export const segmentsSchema = shortTexts(MAX_SEGMENTS, MAX_SEGMENT_VALUE).transform(
  (segments): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(segments).flatMap(([key, value]) => (value === null ? [] : [[key, value]]))),
);

/**
 * Accepts nearly the same values as `segmentsSchema` at a fraction of the cost. Refuses null values and objects that
 * are not plain, although the schema accepts some of them.
 */
export function areSegments(value: unknown): value is Readonly<Record<string, string>> {
  return areShortTexts(value, MAX_SEGMENTS, MAX_SEGMENT_VALUE);
}

/** Maximum number of metadata fields of a retrieved document. */
export const MAX_DOCUMENT_FIELDS = 8;
/** Maximum length of a metadata field's value. */
export const MAX_FIELD_VALUE = 128;

/** Up to 8 keys with short strings; a key whose value is null does not count as a field. */
export const documentFieldsSchema = shortTexts(MAX_DOCUMENT_FIELDS, MAX_FIELD_VALUE);

/**
 * Accepts nearly the same values as `documentFieldsSchema` at a fraction of the cost. Refuses null values, which the
 * schema accepts.
 */
export function areDocumentFields(value: unknown): boolean {
  return areShortTexts(value, MAX_DOCUMENT_FIELDS, MAX_FIELD_VALUE);
}

function areShortTexts(value: unknown, maxKeys: number, maxValue: number): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  let count = 0;
  for (const key in value) {
    const text = (value as Record<string, unknown>)[key];
    count += 1;
    if (count > maxKeys || key === '__proto__') return false;
    if (key.length > MAX_SEGMENT_KEY || !isClean(key, false)) return false;
    if (typeof text !== 'string' || text.length > maxValue || !isClean(text, false)) return false;
  }
  return true;
}

/** An id generated by recalld. */
export const idField = z.string().regex(/^[\w.-]{1,200}$/, { error: 'is not a valid id' });

/** Returns the JSON Schema of the input, for the `wire` property of a hand-written schema. */
export function wireSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return json;
}

/**
 * Parses part of a request according to a schema.
 *
 * @param what names that part in messages
 * @throws RecalldError body_unreadable; its message names the first invalid field, but not the value
 */
export function parseRequest<Schema extends z.ZodType>(
  value: unknown,
  schema: Schema,
  what: 'body' | 'query' | 'path',
): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new RecalldError('body_unreadable', rejectionOf(parsed.error.issues, schema, value, `The ${what}`).message);
}

const cursorMeaning = '`next_cursor` from the previous page.';

/** The page size `limit`: at most `maximum`, and `usual` by default. */
export function limitField(maximum: number, usual = 50) {
  return z.coerce.number().int().min(1).max(maximum).default(usual).describe(`Page size, up to ${maximum}.`);
}

export const pageQueryShape = {
  limit: limitField(1000),
  cursor: z
    .string()
    .regex(/^[\w.:-]{1,200}$/, { error: 'is not a valid cursor' })
    .optional()
    .describe(cursorMeaning),
};

const numberCursor = z
  .string()
  .regex(/^\d{1,15}$/, { error: 'is not a valid cursor' })
  .optional()
  .describe(cursorMeaning);

/** Query parameters of a list whose cursors are numbers: increasing ids, or positions in an in-memory list. */
export const numberedPageShape = { limit: limitField(1000), cursor: numberCursor };

/** A page of items; `next_cursor` is null on the last page. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), next_cursor: nextCursor });
}

export const nextCursor = z.string().nullable().describe('`cursor` for the next page; null on the last page.');

/** Builds a page of items. The cursor of a full page is its last item's cursor. */
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

/** Returns the page of items that starts at position `cursor` in a list, counted from 0. */
export function sliceAt<Item>(
  list: readonly Item[],
  { limit, cursor = '0' }: { readonly limit: number; readonly cursor?: string | undefined },
): { readonly items: readonly Item[]; readonly next_cursor: string | null } {
  const from = Number(cursor);
  const end = from + limit;
  return { items: list.slice(from, end), next_cursor: end < list.length ? String(end) : null };
}

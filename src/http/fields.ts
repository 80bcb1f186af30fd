/** Fields that the bodies of the HTTP API share, and how a request is read by its schema. */
import { z } from 'zod';
import { RecalldError } from '../errors.ts';
import type { RejectionCode } from '../rejection.ts';

/** Longest text of a query or a comment, in UTF-16 units. */
export const MAX_TEXT = 100_000;

/** Adds an issue with a rejection code. */
export function refuse(context: z.core.$RefinementCtx, code: RejectionCode, message: string): void {
  context.addIssue({ code: 'custom', message, params: { rejection: code }, input: undefined });
}

// Tab, line feed and carriage return belong to texts; the other control characters never do.
const controlInText = /(?![\t\n\r])\p{Cc}/u;
const controlInId = /\p{Cc}/u;

function bounded(max: number, control: RegExp) {
  return z
    .string()
    .superRefine((value, context) => {
      if (value.length > max)
        refuse(context, 'text_too_long', `is ${value.length} characters long, at most ${max} are taken`);
      else if (control.test(value)) refuse(context, 'control_characters', 'holds control characters');
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

/** What `identifier` takes, at a fraction of its cost: for ids that come by the dozen with each query. */
export function isIdentifier(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= MAX_ID_LENGTH && isClean(value, false);
}

/** What `text` takes, likewise. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT && isClean(value, true);
}

/** What `shortText` takes, likewise. */
export function isShortText(value: unknown): value is string {
  return isText(value) && value.length <= MAX_SHORT_TEXT;
}

/** No control character, and no half of a surrogate pair. */
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
  error: 'must be an RFC 3339 time such as 2026-11-20T15:45:00Z',
});

const [MAX_SEGMENTS, MAX_SEGMENT_KEY, MAX_SEGMENT_VALUE] = [16, 64, 256];

/** At most 16 keys; a value is a short text. */
export const segmentsSchema = z
  .record(bounded(MAX_SEGMENT_KEY, controlInId), bounded(MAX_SEGMENT_VALUE, controlInId))
  .refine((segments) => Object.keys(segments).length <= MAX_SEGMENTS, { error: `has more than ${MAX_SEGMENTS} keys` });

/** What `segmentsSchema` takes, at a fraction of its cost; it may refuse what is no plain object of a few texts. */
export function areSegments(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  let count = 0;
  for (const key in value) {
    const text = (value as Record<string, unknown>)[key];
    count += 1;
    if (count > MAX_SEGMENTS || key === '__proto__') return false;
    if (key.length > MAX_SEGMENT_KEY || !isClean(key, false)) return false;
    if (typeof text !== 'string' || text.length > MAX_SEGMENT_VALUE || !isClean(text, false)) return false;
  }
  return true;
}

/** Ids that recalld gives. */
export const idField = z.string().regex(/^[\w.-]{1,200}$/, { error: 'is not an id of recalld' });

/** The JSON Schema of what a caller sends, for the `wire` of a schema that parses by hand. */
export function wireSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return json;
}

/**
 * What a request holds, by its schema.
 *
 * @param what the part of the request that is read, for the message
 * @throws RecalldError body_unreadable with the first field that is wrong; its value is not repeated
 */
export function parseRequest<Schema extends z.ZodType>(
  value: unknown,
  schema: Schema,
  what: 'body' | 'query' | 'path',
): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue === undefined || issue.path.length === 0 ? `The ${what}` : issue.path.join('.');
  const problem =
    issue?.code === 'unrecognized_keys'
      ? 'has fields that are not part of the contract'
      : 'is missing, has the wrong type or is out of range';
  throw new RecalldError('body_unreadable', `${field} ${problem}; see /openapi.json.`);
}

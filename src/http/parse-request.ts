import type { z } from 'zod';
import { RecalldError } from '../errors.ts';

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

/** The text of a JSON body -> its value. */
import { RecalldError } from '../errors.ts';
import { JsonBeyondLimit, parseBoundedJson } from '../text/json.ts';

/** @throws RecalldError body_unreadable, never with the words of the parser, which quote the body */
export function parseJson(text: string): unknown {
  try {
    // Some clients begin with the mark of the byte order.
    return parseBoundedJson(text.startsWith('\ufeff') ? text.slice(1) : text);
  } catch (error) {
    if (error instanceof JsonBeyondLimit)
      throw new RecalldError('body_unreadable', `The body ${error.problem}; see /openapi.json.`);
    throw new RecalldError('body_unreadable', 'The request cannot be read; the body must be valid JSON.');
  }
}

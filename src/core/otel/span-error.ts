/** What went wrong in a span, as a class of errors: messages of errors quote the query, so they are never read out. */
import { readText } from './attribute.ts';
import type { OtlpSpan } from './span.ts';

/** How error classes are named: `TimeoutError`, `java.net.UnknownHostException`, `502`, `server_certificate_invalid`. */
const className = /^[\w.:$-]{1,100}$/;

/** The class before the colon in what most languages print of an exception. */
const leadingClass = /^\s*([A-Za-z_$][\w.$]{0,90}(?:Error|Exception|Failure|Timeout))(?::|\s*$)/;

/**
 * Null when the span succeeded. Else the first of `error.type`, the `exception.type` of an exception event, and the
 * class that the status message, the exception message or Langfuse's status message begins with; `error` when none of them names a class.
 *
 * A span failed when its status says so, when it has an `error.type`, or when Langfuse's level is ERROR.
 */
export function errorOf(span: OtlpSpan): string | null {
  const { attributes, status } = span;
  const type = attributes['error.type'];
  const hasFailed =
    status.code === 'error' || readText(type) !== null || attributes['langfuse.observation.level'] === 'ERROR';
  if (!hasFailed) return null;
  const exception = span.events.findLast((event) => event.name === 'exception')?.attributes ?? {};
  for (const name of [type, exception['exception.type']].map(readText)) {
    if (name !== null && className.test(name)) return name;
  }
  const messages = [
    status.message,
    exception['exception.message'],
    attributes['langfuse.observation.status_message'],
  ];
  for (const message of messages.map(readText)) {
    const [, name] = leadingClass.exec(message ?? '') ?? [];
    if (name !== undefined) return name;
  }
  return 'error';
}

/** What went wrong in a span, as a class of errors: messages of errors quote the query, so they are never read out. */
import { readString } from './attribute.ts';
import type { OtlpSpan } from './span.ts';

/** How error types are named: `TimeoutError`, `java.net.UnknownHostException`, `502`, `server_certificate_invalid`. */
const typeName = /^[\w.:$-]{1,100}$/;

/** The class in front of what most languages print of an exception. */
const leadingClass = /^\s*([A-Za-z_$][\w.$]{0,90}(?:Error|Exception|Failure|Timeout))(?::|\s*$)/;

/** Longer messages are not searched for a stack. */
const MAX_MESSAGE = 20_000;

/**
 * Null when the span succeeded. Else the first of `error.type`, the `exception.type` of an exception event, and the
 * class of the exception that the status message, the exception message or Langfuse's status message is printed from;
 * `error` when none of them tells a class.
 *
 * A span failed when its status says so, when it has an `error.type`, or when Langfuse's level is ERROR.
 */
export function errorOf(span: OtlpSpan): string | null {
  const { attributes, status } = span;
  const type = readString(attributes['error.type']);
  const isError = status.code === 'error' || attributes['langfuse.observation.level'] === 'ERROR';
  if (type === null && !isError) return null;
  const exception = span.events.findLast((event) => event.name === 'exception')?.attributes ?? {};
  const types = [type, readString(exception['exception.type'])];
  const messages = [
    status.message,
    exception['exception.message'],
    attributes['langfuse.observation.status_message'],
  ];
  return (
    types.find((name) => name !== null && typeName.test(name)) ??
    messages.map((message) => classOf(readString(message))).find((name) => name !== null) ??
    'error'
  );
}

function classOf(message: string | null): string | null {
  if (message === null) return null;
  return leadingClass.exec(message)?.[1] ?? classOfStack(message.slice(0, MAX_MESSAGE));
}

/**
 * LangChain prints the message, an empty line, and the stack, which begins with the class and the same message. The
 * class is taken only from there, so that an exception which a user pasted into the query is not.
 */
function classOfStack(text: string): string | null {
  for (const match of text.matchAll(/\n\n([A-Za-z_$][\w.$]{0,90}): /g)) {
    const [opening, name] = match;
    const message = text.slice(0, match.index);
    if (name !== undefined && text.startsWith(message, match.index + opening.length)) return name;
  }
  return null;
}

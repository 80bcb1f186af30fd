/** Who asked, and in which conversation, as the span or one around it tells. */
import { readFirst, readId } from './attribute.ts';
import type { Attributes } from './span.ts';

export interface Person {
  readonly sessionId: string | null;
  readonly userId: string | null;
}

/** `session.id` is OpenInference and Langfuse, `gen_ai.conversation.id` OTel GenAI, the last ones OpenLLMetry. */
const sessionNames = [
  'session.id',
  'gen_ai.conversation.id',
  'langfuse.session.id',
  'traceloop.association.properties.session_id',
  'traceloop.association.properties.chat_id',
];

/** `enduser.id` is what OpenTelemetry called `user.id` before. */
const userNames = ['user.id', 'enduser.id', 'langfuse.user.id', 'traceloop.association.properties.user_id'];

/**
 * The session and the user, each from the first of the given attributes that tell it: those of the span, then those
 * of its ancestors. The names are in the files of each convention; see the lists here.
 */
export function readPerson(around: readonly Attributes[]): Person {
  const read = (names: readonly string[]) =>
    around.map((attributes) => readFirst(attributes, names, readId)).find((id) => id !== null) ?? null;
  return { sessionId: read(sessionNames), userId: read(userNames) };
}

/** Who asked, and in which segments, as the span of a request or one around it tells. */
import { type Attributes, type AttributeValue, readFirst, readId, readObject, readTextUpTo } from './span.ts';

const readValue = readTextUpTo(256);

/** Prefixes under which tracing SDKs put the tags of a request: Langfuse twice, OpenLLMetry, LangSmith. */
const prefixes = [
  '',
  'langfuse.trace.metadata.',
  'langfuse.observation.metadata.',
  'traceloop.association.properties.',
  'langsmith.metadata.',
];

/** JSON objects with the tags of a request: OpenInference, Langfuse. */
const objects = ['metadata', 'langfuse.trace.metadata', 'langfuse.observation.metadata'];

/**
 * The value of each segment key, from the first of the given attributes that have it: those of the span, of its
 * ancestors, of the resource. An attribute of that very name comes first, then the metadata of the tracing SDKs. A
 * key that nothing tells of is left out; numbers and booleans are written as text.
 */
export function readSegments(around: readonly Attributes[], keys: readonly string[]): Readonly<Record<string, string>> {
  const segments: Record<string, string> = Object.create(null);
  for (const key of keys) {
    const value = around.map((attributes) => readSegment(attributes, key)).find((found) => found !== null);
    if (value !== undefined && value !== null) segments[key] = value;
  }
  return segments;
}

function readSegment(attributes: Attributes, key: string): string | null {
  const names = prefixes.map((prefix) => prefix + key);
  return (
    readFirst(attributes, names, readSegmentValue) ??
    readFirst(attributes, objects, (value) => readSegmentValue(readObject(value)?.[key]))
  );
}

function readSegmentValue(value: AttributeValue | undefined): string | null {
  const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
  return readValue(text)?.replace(/\p{Cc}/gu, ' ') ?? null;
}

/** Who asked, and in which conversation, as the span or one around it tells. */
export type Person = ReturnType<typeof readPerson>;

/** `session.id` is OpenInference and Langfuse, `gen_ai.conversation.id` OTel GenAI, the last ones OpenLLMetry and LangSmith. */
const sessionNames = [
  'session.id',
  'gen_ai.conversation.id',
  'langfuse.session.id',
  'traceloop.association.properties.session_id',
  'traceloop.association.properties.chat_id',
  'langsmith.metadata.session_id',
  'langsmith.metadata.thread_id',
  'langsmith.metadata.conversation_id',
];

/** `enduser.id` is what OpenTelemetry called `user.id` before. */
const userNames = [
  'user.id',
  'enduser.id',
  'langfuse.user.id',
  'traceloop.association.properties.user_id',
  'langsmith.metadata.user_id',
];

/**
 * The session and the user, each from the first of the given attributes that tell it: those of the span, then those
 * of its ancestors. The names are in the files of each convention; see the lists here.
 */
export function readPerson(around: readonly Attributes[]) {
  const read = (names: readonly string[]) =>
    around.map((attributes) => readFirst(attributes, names, readId)).find((id) => id !== null) ?? null;
  return { sessionId: read(sessionNames), userId: read(userNames) };
}

/** Reads the user, session and segments of a request from a span and its ancestors. */
import { type Attributes, type AttributeValue, readFirst, readId, readObject, readTextUpTo } from './span.ts';

const readValue = readTextUpTo(256);

/** Prefixes of request tags in tracing SDKs: Langfuse (two), OpenLLMetry, LangSmith, the AI SDK. */
const prefixes = [
  '',
  'langfuse.trace.metadata.',
  'langfuse.observation.metadata.',
  'traceloop.association.properties.',
  'langsmith.metadata.',
  'ai.telemetry.metadata.',
];

/** Attributes whose value is a JSON object with the tags of a request, in OpenInference and Langfuse. */
const objects = ['metadata', 'langfuse.trace.metadata', 'langfuse.observation.metadata'];

/**
 * Returns the value of each segment key. Searches the attributes of the span, then those of its ancestors, then those
 * of the resource. An attribute whose name equals the key takes precedence over the metadata of tracing SDKs. Missing
 * keys are omitted; numbers and booleans become text.
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

export type Person = ReturnType<typeof readPerson>;

/**
 * `session.id` is from OpenInference and Langfuse, and `gen_ai.conversation.id` is from OTel GenAI. The remaining names
 * are from Langfuse, OpenLLMetry, LangSmith and the AI SDK. The AI SDK uses the Langfuse keys in its metadata.
 */
const sessionNames = [
  'session.id',
  'gen_ai.conversation.id',
  'langfuse.session.id',
  'traceloop.association.properties.session_id',
  'traceloop.association.properties.chat_id',
  'langsmith.metadata.session_id',
  'langsmith.metadata.thread_id',
  'langsmith.metadata.conversation_id',
  'ai.telemetry.metadata.sessionId',
];

/** `enduser.id` is the former name of `user.id` in OpenTelemetry. */
const userNames = [
  'user.id',
  'enduser.id',
  'langfuse.user.id',
  'traceloop.association.properties.user_id',
  'langsmith.metadata.user_id',
  'ai.telemetry.metadata.userId',
];

/**
 * Returns the session and the user. Each is taken from the span or, if the span has none, from the nearest ancestor
 * that has one.
 */
export function readPerson(around: readonly Attributes[]) {
  const read = (names: readonly string[]) =>
    around.map((attributes) => readFirst(attributes, names, readId)).find((id) => id !== null) ?? null;
  return { sessionId: read(sessionNames), userId: read(userNames) };
}

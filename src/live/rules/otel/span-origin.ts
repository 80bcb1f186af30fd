/** Where a span comes from: who asked, in which segments, and with which chance the span was kept. */
import {
  type Attributes,
  type AttributeValue,
  type OtlpSpan,
  readFirst,
  readId,
  readNumber,
  readObject,
  readTextUpTo,
} from './span.ts';

/** Thresholds have 56 bits: 14 hexadecimal digits, of which trailing zeros may be left out. */
const THRESHOLD_DIGITS = 14;
const MAX_ADJUSTED_COUNT = 2 ** 56;

/**
 * With what probability the service's own tracing kept a span: every estimate over sampled spans needs it.
 *
 * The probability with which a span was kept, in (0, 1], by the first of:
 *
 * - the rejection threshold T of W3C `tracestate` `ot=th:T` (OTel probability sampling): 1 - T / 2^56;
 * - the attribute `sampling.probability`;
 * - the attribute `SampleRate`, of which it is the inverse.
 *
 * 1 when none of them is present and valid: a plain ratio sampler leaves no trace of its ratio.
 *
 * Source: https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/
 */
export function samplingProbability(span: OtlpSpan): number {
  const threshold = thresholdOf(span.traceState);
  if (threshold !== null) return 1 - threshold / MAX_ADJUSTED_COUNT;
  const probability = readNumber(span.attributes['sampling.probability']);
  if (probability !== null && probability > 0 && probability <= 1) return probability;
  const rate = readNumber(span.attributes['SampleRate']);
  return rate !== null && rate >= 1 ? 1 / rate : 1;
}

function thresholdOf(traceState: string): number | null {
  const member = traceState
    .split(',')
    .map((entry) => entry.trim())
    .find((entry) => entry.startsWith('ot='));
  const field = member
    ?.slice('ot='.length)
    .split(';')
    .find((pair) => pair.startsWith('th:'));
  const digits = field?.slice('th:'.length) ?? '';
  if (!/^[0-9a-f]{1,14}$/.test(digits)) return null;
  return Number.parseInt(digits.padEnd(THRESHOLD_DIGITS, '0'), 16);
}

const readValue = readTextUpTo(256);

/** Prefixes under which tracing SDKs put the tags of a request: Langfuse twice, OpenLLMetry. */
const prefixes = [
  '',
  'langfuse.trace.metadata.',
  'langfuse.observation.metadata.',
  'traceloop.association.properties.',
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

/**
 * Spans, log records and their attributes as OpenTelemetry means them, whatever wire format they came in; and with which
 * chance a span was kept.
 */
import { parseBoundedJson, parseExactJson } from '../../../core/text/json.ts';
import { parseLooseJson } from '../../../core/text/loose-json.ts';

/**
 * The value of an attribute. An integer that a double cannot hold exactly is the string of its digits, and bytes are
 * base64 text.
 */
export type AttributeValue = string | number | boolean | null | readonly AttributeValue[] | Attributes;

export interface Attributes {
  readonly [name: string]: AttributeValue;
}

export interface TelemetryResource {
  /** `service.name`; null when the service has none. */
  readonly serviceName: string | null;
  readonly attributes: Attributes;
}

/** The instrumentation that made the span. */
export interface InstrumentationScope {
  readonly name: string;
  readonly version: string;
}

/** What spans and log records have in common: enough to say which pipeline they belong to. */
export interface Telemetry {
  readonly resource: TelemetryResource;
  readonly scope: InstrumentationScope;
  readonly attributes: Attributes;
  /** How many attributes the service left out because of its own limits. */
  readonly droppedAttributesCount: number;
}

export type SpanKind = 'unspecified' | 'internal' | 'server' | 'client' | 'producer' | 'consumer';

export interface SpanStatus {
  readonly code: 'unset' | 'ok' | 'error';
  readonly message: string;
}

export interface SpanEvent {
  readonly name: string;
  readonly timeUnixNano: bigint;
  readonly attributes: Attributes;
}

export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
}

export interface OtlpSpan extends Telemetry {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  /** 16 lower-case hex digits. */
  readonly spanId: string;
  /** Null: the root of its trace. */
  readonly parentSpanId: string | null;
  /** The W3C `tracestate` header. */
  readonly traceState: string;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startTimeUnixNano: bigint;
  readonly endTimeUnixNano: bigint;
  readonly events: readonly SpanEvent[];
  readonly droppedEventsCount: number;
  readonly links: readonly SpanLink[];
  readonly status: SpanStatus;
}

export interface OtlpLogRecord extends Telemetry {
  /** Null: written outside of a trace. */
  readonly traceId: string | null;
  readonly spanId: string | null;
  readonly eventName: string;
  /** When it happened, else when it was observed; 0 when neither is told. */
  readonly timeUnixNano: bigint;
}

/** The id of the live query that a retriever span is; from it the trace can be told again. */
export function liveQueryId(traceId: string, spanId: string): string {
  return `${traceId}-${spanId}`;
}

/** The other way round: the span of a live query of this trace; null for one that came with an id of its own. */
export function spanOfLiveQuery(id: string, traceId: string): string | null {
  const spanId = id.slice(traceId.length + 1);
  return id === liveQueryId(traceId, spanId) && /^(?=.*[1-9a-f])[0-9a-f]{16}$/.test(spanId) ? spanId : null;
}

/** The moment of a time stamp in Unix nanoseconds; null when it is 0, so untold, or beyond what a Date can hold. */
export function toDate(unixNano: bigint): Date | null {
  const date = new Date(Number(unixNano / 1_000_000n));
  return unixNano <= 0n || Number.isNaN(date.getTime()) ? null : date;
}

/** What OpenInference writes in place of a value that its privacy settings hide. */
const REDACTED = '__REDACTED__';

/** Longest text of a query or comment, of a name, and of an id, in UTF-16 units. */
const MAX_TEXT = 100_000;
const MAX_SHORT_TEXT = 1000;
const MAX_ID = 1024;

const MAX_COUNT = 10_000;

/** No embedding model has more dimensions; a longer list is not a vector. */
const MAX_DIMENSIONS = 16_384;

/** Control characters, which PostgreSQL or people cannot read, and halves of surrogate pairs. */
const unreadable = /(?![\t\n\r])[\p{Cc}\p{Cs}]/gu;
/** U+FFFD is what is left of bytes that were cut: the id is that of no document. */
const unreadableInId = /[\p{Cc}\p{Cs}\ufffd]/u;

type Value = AttributeValue | undefined;

/** A string that says something: not empty and not redacted. */
export function readString(value: Value): string | null {
  return typeof value === 'string' && value !== '' && value !== REDACTED ? value : null;
}

/** A string for people to read: cut off at `maxLength`, and what nobody can read is U+FFFD in it. */
export function readTextUpTo(maxLength: number): (value: Value) => string | null {
  return (value) => readString(value)?.slice(0, maxLength).replace(unreadable, '\uFFFD') ?? null;
}

/** The text of a query, comment or document. */
export const readText = readTextUpTo(MAX_TEXT);

/** A name or version. */
export const readShortText = readTextUpTo(MAX_SHORT_TEXT);

/** Ids in the extended JSON of MongoDB. */
const wrappedIds = ['$oid', '$numberLong', '$uuid'];

/**
 * An id: at most 1024 characters without control characters as they stand, or an integer written in digits. A number
 * with a fraction is a score, and an integer that was rounded is the id of something else.
 */
export function readId(value: Value): string | null {
  if (isObject(value)) return readFirst(value, wrappedIds, (wrapped) => (isObject(wrapped) ? null : readId(wrapped)));
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null;
  const id = readString(value);
  return id === null || id.length > MAX_ID || unreadableInId.test(id) ? null : id;
}

/** A finite number, or text of one: Milvus' instrumentation writes distances as text. */
export function readNumber(value: Value): number | null {
  const isNumeric = typeof value === 'string' && /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(value);
  const number = isNumeric ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

/** How many documents were asked for: a whole number from 1 on. More than 10,000 is 10,000. */
export function readCount(value: Value): number | null {
  const number = readNumber(value);
  return number !== null && Number.isInteger(number) && number >= 1 ? Math.min(number, MAX_COUNT) : null;
}

/** An object, be it structured or JSON text. */
export function readObject(value: Value): Attributes | null {
  const structure = readStructure(value);
  return isObject(structure) ? structure : null;
}

/** An array or object, be it structured or JSON text; null for anything else. */
export function readStructure(value: Value): Attributes | readonly AttributeValue[] | null {
  const structure = typeof value === 'string' && /^\s*[[{]/.test(value) ? parsedOrNull(value) : value;
  return isArray(structure) || isObject(structure) ? structure : null;
}

/** As JSON, or as Python prints what is nearly JSON; null for what is neither. */
function parsedOrNull(json: string): AttributeValue {
  try {
    return parseExactJson(json);
  } catch {
    return looselyParsedOrNull(json);
  }
}

function looselyParsedOrNull(text: string): AttributeValue {
  try {
    return parseLooseJson(text);
  } catch {
    return null;
  }
}

/**
 * A dense vector: an array of finite numbers, integers and floats mixed, or JSON text of one. Sparse vectors, the
 * zero vector, which has no direction, and numbers that float32 cannot hold give null.
 */
export function readVector(value: Value): Float32Array | null {
  const numbers = typeof value === 'string' ? parseNumbers(value) : value;
  if (!isArray(numbers) || numbers.length === 0 || numbers.length > MAX_DIMENSIONS) return null;
  const vector = new Float32Array(numbers.length);
  for (const [dimension, number] of numbers.entries()) {
    if (typeof number !== 'number') return null;
    vector[dimension] = number;
  }
  return vector.every(Number.isFinite) && vector.some((number) => number !== 0) ? vector : null;
}

/** Plain JSON, because the digits of a float need no care and there are many of them. */
function parseNumbers(text: string): Value {
  if (!text.startsWith('[')) return null;
  try {
    return parseBoundedJson(text) as AttributeValue;
  } catch {
    return looselyParsedOrNull(text);
  }
}

/**
 * The objects that were flattened to `prefix.<index>.<field>`, in the order of their indices; gaps are closed.
 *
 * @returns null when no attribute has the prefix.
 */
export function readFlattened(attributes: Attributes, prefix: string): readonly Attributes[] | null {
  const objects = flattenedObjects(attributes, prefix);
  if (objects.size === 0) return null;
  return [...objects].toSorted(([a], [b]) => a - b).map(([, object]) => object);
}

/**
 * The same, each at its index, null where there is none: a document that was shown at the third place stays there.
 *
 * @param most indices from here on are left out
 */
export function readFlattenedList(
  attributes: Attributes,
  prefix: string,
  most: number,
): readonly (Attributes | null)[] | null {
  const objects = flattenedObjects(attributes, prefix);
  if (objects.size === 0) return null;
  const last = Math.max(...[...objects.keys()].filter((index) => index < most));
  return Array.from({ length: Math.max(0, last + 1) }, (_, index) => objects.get(index) ?? null);
}

function flattenedObjects(attributes: Attributes, prefix: string): Map<number, Record<string, AttributeValue>> {
  const start = `${prefix}.`;
  const objects = new Map<number, Record<string, AttributeValue>>();
  // By name, since a value may be read when it is asked for.
  for (const name in attributes) {
    if (!name.startsWith(start)) continue;
    const [, index, field] = /^(\d{1,9})\.(.+)$/.exec(name.slice(start.length)) ?? [];
    if (index === undefined || field === undefined) continue;
    const object = objects.get(Number(index)) ?? Object.create(null);
    object[field] = attributes[name];
    objects.set(Number(index), object);
  }
  return objects;
}

/** What `read` makes of the first of the named attributes that it makes something of. */
export function readFirst<T>(
  attributes: Attributes,
  names: readonly string[],
  read: (value: Value) => T | null,
): T | null {
  for (const name of names) {
    const value = read(attributes[name]);
    if (value !== null) return value;
  }
  return null;
}

/** Whether a value is a structured object. */
export function isObject(value: Value): value is Attributes {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isArray(value: Value): value is readonly AttributeValue[] {
  return Array.isArray(value);
}

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

/** Defines spans, log records and their attributes independently of the wire format, and reads attribute values. */
import { parseBoundedJson, parseExactJson } from '../../../core/text/json.ts';
import { parseLooseJson } from '../../../core/text/loose-json.ts';

/** Integers that exceed double precision are represented as strings of digits, and bytes as base64 strings. */
export type AttributeValue = string | number | boolean | null | readonly AttributeValue[] | Attributes;

export interface Attributes {
  readonly [name: string]: AttributeValue;
}

export interface TelemetryResource {
  /** `service.name`; null if missing. */
  readonly serviceName: string | null;
  readonly attributes: Attributes;
}

/** The instrumentation that created the span. */
export interface InstrumentationScope {
  readonly name: string;
  readonly version: string;
}

/** Common fields of spans and log records. */
export interface Telemetry {
  readonly resource: TelemetryResource;
  readonly scope: InstrumentationScope;
  readonly attributes: Attributes;
}

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
  /** Id of the parent span; null for a root span. */
  readonly parentSpanId: string | null;
  /** The W3C `tracestate` header. */
  readonly traceState: string;
  readonly name: string;
  readonly startTimeUnixNano: bigint;
  readonly endTimeUnixNano: bigint;
  readonly events: readonly SpanEvent[];
  /** Number of attributes that the service dropped because of its limits. */
  readonly droppedAttributesCount: number;
  /** Number of events that the service dropped because of its limits. */
  readonly droppedEventsCount: number;
  readonly links: readonly SpanLink[];
  readonly status: SpanStatus;
}

export interface OtlpLogRecord extends Telemetry {
  /** Trace id; null if the record is not part of a trace. */
  readonly traceId: string | null;
  readonly spanId: string | null;
  readonly eventName: string;
  /** Time at which the event occurred or, if that time is missing, was observed; 0 if both times are missing. */
  readonly timeUnixNano: bigint;
}

/** Returns the live query id of a retriever span. The live query id contains the trace id. */
export function liveQueryId(traceId: string, spanId: string): string {
  return `${traceId}-${spanId}`;
}

/** Returns the span id of a live query in this trace; null if the id was not derived from a span of the trace. */
export function spanOfLiveQuery(id: string, traceId: string): string | null {
  const spanId = id.slice(traceId.length + 1);
  return id === liveQueryId(traceId, spanId) && /^(?=.*[1-9a-f])[0-9a-f]{16}$/.test(spanId) ? spanId : null;
}

/** Converts Unix nanoseconds to a Date; null for 0 (unknown) and for values out of range. */
export function toDate(unixNano: bigint): Date | null {
  const date = new Date(Number(unixNano / 1_000_000n));
  return unixNano <= 0n || Number.isNaN(date.getTime()) ? null : date;
}

/** Placeholders that OpenInference and Logfire write instead of hidden values. */
const hidden = /^(__REDACTED__|\[Scrubbed due to '[^\n]*'\])$/;

/**
 * True if a privacy setting of the service replaced the value. The placeholder cannot identify a user or query, because
 * it is always the same.
 */
export function isHidden(value: Value): boolean {
  return typeof value === 'string' && hidden.test(value);
}

/** Maximum length of a text in UTF-16 code units. */
const MAX_TEXT = 100_000;
/** Maximum length of a name in UTF-16 code units. */
const MAX_SHORT_TEXT = 1000;
/** Maximum length of an id in UTF-16 code units. */
const MAX_ID = 1024;

const MAX_COUNT = 10_000;

/** Maximum number of dimensions; no embedding model has more. */
const MAX_DIMENSIONS = 16_384;

/** Control characters and lone surrogates. */
const unreadable = /(?![\t\n\r])[\p{Cc}\p{Cs}]/gu;
/** U+FFFD marks a truncated character, so the id would not match any document. */
const unreadableInId = /[\p{Cc}\p{Cs}\ufffd]/u;

type Value = AttributeValue | undefined;

/** Returns a string; null if it is empty or redacted. */
export function readString(value: Value): string | null {
  return typeof value === 'string' && value !== '' && !isHidden(value) ? value : null;
}

/** Creates a reader that truncates strings at `maxLength` and replaces unreadable characters with U+FFFD. */
export function readTextUpTo(maxLength: number): (value: Value) => string | null {
  return (value) => readString(value)?.slice(0, maxLength).replace(unreadable, '\uFFFD') ?? null;
}

export const readText = readTextUpTo(MAX_TEXT);

export const readShortText = readTextUpTo(MAX_SHORT_TEXT);

/** Keys that wrap ids in MongoDB extended JSON. */
const wrappedIds = ['$oid', '$numberLong', '$uuid'];

/**
 * Reads an id: a string of at most 1024 characters without control characters, or a safe integer. Fractions are
 * rejected because they are scores. Unsafe integers are rejected because rounding may turn them into the ids of other
 * documents.
 */
export function readId(value: Value): string | null {
  if (isObject(value)) return readFirst(value, wrappedIds, (wrapped) => (isObject(wrapped) ? null : readId(wrapped)));
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null;
  const id = readString(value);
  return id === null || id.length > MAX_ID || unreadableInId.test(id) ? null : id;
}

/**
 * Returns the value of a finite number or of a numeric string; null for anything else. Milvus instrumentation writes
 * distances as strings.
 */
export function readNumber(value: Value): number | null {
  const isNumeric = typeof value === 'string' && /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(value);
  const number = isNumeric ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

/** Reads the number of requested documents: an integer >= 1, capped at 10,000. */
export function readCount(value: Value): number | null {
  const number = readNumber(value);
  return number !== null && Number.isInteger(number) && number >= 1 ? Math.min(number, MAX_COUNT) : null;
}

/** Reads an object, either structured or as JSON text. */
export function readObject(value: Value): Attributes | null {
  const structure = readStructure(value);
  return isObject(structure) ? structure : null;
}

/** Reads an array or object, structured or as JSON text; null for anything else. */
export function readStructure(value: Value): Attributes | readonly AttributeValue[] | null {
  const structure = typeof value === 'string' && /^\s*[[{]/.test(value) ? parsedOrNull(value, parseExactJson) : value;
  return isArray(structure) || isObject(structure) ? structure : null;
}

/** Parses JSON, or the JSON-like output of Python; null for anything else. */
function parsedOrNull(text: string, parse: (json: string) => unknown): AttributeValue {
  for (const attempt of [parse, parseLooseJson]) {
    try {
      return attempt(text) as AttributeValue;
    } catch {
      // The text may be in the other format.
    }
  }
  return null;
}

/**
 * Reads a dense vector from an array of finite numbers or its JSON text. Returns null for sparse vectors, for the zero
 * vector (which has no direction), and for numbers outside the float32 range.
 */
export function readVector(value: Value): Float32Array | null {
  // Uses the plain JSON parser for speed, because the exact digits of floats are not needed.
  const isJson = typeof value === 'string' && value.startsWith('[');
  const numbers = isJson ? parsedOrNull(value, parseBoundedJson) : value;
  if (!isArray(numbers) || numbers.length === 0 || numbers.length > MAX_DIMENSIONS) return null;
  const vector = new Float32Array(numbers.length);
  for (const [dimension, number] of numbers.entries()) {
    if (typeof number !== 'number') return null;
    vector[dimension] = number;
  }
  return vector.every(Number.isFinite) && vector.some((number) => number !== 0) ? vector : null;
}

/**
 * Reads objects from attributes named `prefix.<index>.<field>`, ordered by index without gaps; null if there are none.
 */
export function readFlattened(attributes: Attributes, prefix: string): readonly Attributes[] | null {
  const objects = flattenedObjects(attributes, prefix);
  if (objects.size === 0) return null;
  return [...objects].toSorted(([a], [b]) => a - b).map(([, object]) => object);
}

/**
 * Like `readFlattened`, but keeps gaps as null, so that documents keep their ranks.
 *
 * @param max larger indices are dropped
 */
export function readFlattenedList(
  attributes: Attributes,
  prefix: string,
  max: number,
): readonly (Attributes | null)[] | null {
  const objects = flattenedObjects(attributes, prefix);
  if (objects.size === 0) return null;
  const last = Math.max(...[...objects.keys()].filter((index) => index < max));
  return Array.from({ length: Math.max(0, last + 1) }, (_, index) => objects.get(index) ?? null);
}

function flattenedObjects(attributes: Attributes, prefix: string): Map<number, Record<string, AttributeValue>> {
  const start = `${prefix}.`;
  const objects = new Map<number, Record<string, AttributeValue>>();
  // Iterates over names only, because accessing a value may parse it.
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

/** Returns the first non-null result of `read` over the named attributes. */
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

export function isObject(value: Value): value is Attributes {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isArray(value: Value): value is readonly AttributeValue[] {
  return Array.isArray(value);
}

/** Thresholds have 56 bits: 14 hexadecimal digits, whose trailing zeros may be omitted. */
const THRESHOLD_DIGITS = 14;
const MAX_ADJUSTED_COUNT = 2 ** 56;

/**
 * Returns the probability, in (0, 1], with which the service's tracing sampled a span. The probability comes from the
 * first of these sources:
 *
 * - the rejection threshold T in W3C `tracestate` `ot=th:T` (OTel probability sampling): 1 - T / 2^56;
 * - the attribute `sampling.probability`;
 * - the inverse of the attribute `SampleRate`.
 *
 * Returns 1 if no source is present and valid; a plain ratio sampler does not record its ratio.
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
  const [, member = ''] = /(?:^|,)\s*ot=([^,]*)/.exec(traceState) ?? [];
  const [, digits] = /(?:^|;)th:([0-9a-f]{1,14})(?:;|$)/.exec(member.trimEnd()) ?? [];
  return digits === undefined ? null : Number.parseInt(digits.padEnd(THRESHOLD_DIGITS, '0'), 16);
}

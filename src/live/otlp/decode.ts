/** From the body of an OTLP/HTTP request to spans and log records. */
import type {
  Attributes,
  AttributeValue,
  InstrumentationScope,
  OtlpLogRecord,
  OtlpSpan,
  SpanKind,
  SpanLink,
  SpanStatus,
  TelemetryResource,
} from '../rules/otel/span.ts';
import { malformed, messageType, type OtlpContent, type OtlpLimits, parseMessage, tooLarge } from './parse.ts';

/** A field of a message; undefined when there is no such field or no message. */
function field(message: unknown, name: string): unknown {
  if (typeof message !== 'object' || message === null) return undefined;
  return (message as Record<string, unknown>)[name];
}

/** The elements of a repeated field; none when it is missing. */
function elements(message: unknown, name: string): readonly unknown[] {
  const value = field(message, name);
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw malformed(`The field ${name} of the OTLP body is not a list.`);
  return value;
}

/** Text; empty when the field is missing. */
function text(message: unknown, name: string): string {
  const value = field(message, name);
  return typeof value === 'string' ? value : '';
}

/** A count; 0 when the field is missing. */
function count(message: unknown, name: string): number {
  const value = Number(field(message, name) ?? 0);
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
}

/**
 * An id as lower-case hexadecimal digits: bytes in protobuf, digits in JSON.
 *
 * @returns null when it is missing, of another length, or all zero, which OpenTelemetry calls invalid.
 */
function hexId(message: unknown, name: string, byteLength: number): string | null {
  const value = field(message, name);
  const digits = value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
  if (typeof digits !== 'string' || digits.length !== byteLength * 2) return null;
  return /^[0-9a-f]+$/i.test(digits) && /[^0]/.test(digits) ? digits.toLowerCase() : null;
}

/** A time in Unix nanoseconds: {low, high} in protobuf, digits or a number in JSON; 0 when it is missing. */
function nanoseconds(message: unknown, name: string): bigint {
  const value = integer(field(message, name), true);
  return value === null || value < 0n ? 0n : value;
}

/** A member of an enum, whether it is written as its number or as its name: `prefix` and a word of `words`. */
function member<T extends string>(message: unknown, name: string, prefix: string, words: readonly [T, ...T[]]): T {
  const value = field(message, name);
  const index =
    typeof value === 'string' ? words.findIndex((word) => value === prefix + word.toUpperCase()) : Number(value ?? 0);
  return words[index] ?? words[0];
}

/** Attributes by their keys; of a key that comes twice the last, and none by the key `__proto__`. */
function attributesOf(message: unknown, maxDepth: number): Attributes {
  return keyValues(elements(message, 'attributes'), maxDepth);
}

/** Shared, because a body can hold a million events without attributes. */
const noAttributes: Attributes = Object.freeze({});

function keyValues(pairs: readonly unknown[], depthLeft: number): Attributes {
  if (pairs.length === 0) return noAttributes;
  const attributes: Record<string, AttributeValue> = {};
  for (const pair of pairs) {
    const key = text(pair, 'key');
    // It would set the prototype. An object without one is no way out: it takes several times the memory.
    if (key !== '__proto__') attributes[key] = anyValue(field(pair, 'value'), depthLeft);
  }
  return attributes;
}

function anyValue(value: unknown, depthLeft: number): AttributeValue {
  if (typeof value !== 'object' || value === null) return null;
  if (depthLeft <= 0) throw malformed('An attribute of the OTLP body nests too deep.');
  const has = (name: string) => Object.hasOwn(value, name);
  if (has('stringValue')) return text(value, 'stringValue');
  if (has('boolValue')) return field(value, 'boolValue') === true;
  if (has('intValue')) return integerValue(field(value, 'intValue'));
  if (has('doubleValue')) return doubleValue(field(value, 'doubleValue'));
  if (has('arrayValue'))
    return elements(field(value, 'arrayValue'), 'values').map((item) => anyValue(item, depthLeft - 1));
  if (has('kvlistValue')) return keyValues(elements(field(value, 'kvlistValue'), 'values'), depthLeft - 1);
  return has('bytesValue') ? base64(field(value, 'bytesValue')) : null;
}

function integerValue(value: unknown): AttributeValue {
  if (typeof value === 'number') return value;
  const exact = integer(value, false);
  if (exact === null) return null;
  const number = Number(exact);
  return Number.isSafeInteger(number) ? number : String(exact);
}

/** JSON has no NaN and no infinities; proto3 writes them as words. */
function doubleValue(value: unknown): AttributeValue {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : null;
}

function base64(value: unknown): AttributeValue {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return typeof value === 'string' ? value : null;
}

/** A 64-bit integer, however it is written. */
function integer(value: unknown, isUnsigned: boolean): bigint | null {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : null;
  if (typeof value === 'string') return /^[+-]?\d{1,20}$/.test(value) ? BigInt(value) : null;
  const low = field(value, 'low');
  const high = field(value, 'high');
  if (typeof low !== 'number' || typeof high !== 'number') return null;
  const bits = (BigInt.asUintN(32, BigInt(Math.trunc(high))) << 32n) | BigInt.asUintN(32, BigInt(Math.trunc(low)));
  return isUnsigned ? bits : BigInt.asIntN(64, bits);
}

interface Decoded<T> {
  readonly items: readonly T[];
  /** Items without a valid id; the answer tells how many there were. */
  readonly rejected: number;
}

/**
 * Decodes the body of `POST /v1/traces`.
 *
 * Unknown fields are skipped. Spans without a valid trace id and span id are counted as rejected.
 *
 * @throws RecalldError when the body is malformed or larger than the limits.
 */
export function decodeTraces({ format, bytes }: OtlpContent, limits: OtlpLimits): Decoded<OtlpSpan> {
  const request = parseMessage(messageType('ExportTraceServiceRequest'), bytes, format, limits);
  return readItems(request, ['resourceSpans', 'scopeSpans', 'spans'], limits, toSpan);
}

/**
 * Decodes the body of `POST /v1/logs`, like `decodeTraces`. A log record needs no ids.
 *
 * @throws RecalldError as `decodeTraces` does.
 */
export function decodeLogs({ format, bytes }: OtlpContent, limits: OtlpLimits): Decoded<OtlpLogRecord> {
  const request = parseMessage(messageType('ExportLogsServiceRequest'), bytes, format, limits);
  return readItems(request, ['resourceLogs', 'scopeLogs', 'logRecords'], limits, toLogRecord);
}

interface Origin {
  readonly resource: TelemetryResource;
  readonly scope: InstrumentationScope;
}

function readItems<T>(
  request: object,
  [resources, scopes, items]: readonly [string, string, string],
  limits: OtlpLimits,
  read: (item: unknown, origin: Origin, maxDepth: number) => T | null,
): Decoded<T> {
  const found: T[] = [];
  let rejected = 0;
  for (const ofResource of elements(request, resources)) {
    const resource = toResource(field(ofResource, 'resource'), limits.maxDepth);
    for (const ofScope of elements(ofResource, scopes)) {
      const scope = toScope(field(ofScope, 'scope'));
      for (const item of elements(ofScope, items)) {
        if (found.length + rejected >= limits.maxItems)
          throw tooLarge(`The OTLP body holds more than ${limits.maxItems} ${items}.`);
        const value = read(item, { resource, scope }, limits.maxDepth);
        if (value === null) rejected += 1;
        else found.push(value);
      }
    }
  }
  return { items: found, rejected };
}

const kinds: readonly [SpanKind, ...SpanKind[]] = [
  'unspecified',
  'internal',
  'server',
  'client',
  'producer',
  'consumer',
];
const statusCodes: readonly [SpanStatus['code'], ...SpanStatus['code'][]] = ['unset', 'ok', 'error'];

function toSpan(span: unknown, origin: Origin, maxDepth: number): OtlpSpan | null {
  const traceId = hexId(span, 'traceId', 16);
  const spanId = hexId(span, 'spanId', 8);
  if (traceId === null || spanId === null) return null;
  const status = field(span, 'status');
  return {
    ...origin,
    traceId,
    spanId,
    parentSpanId: hexId(span, 'parentSpanId', 8),
    traceState: text(span, 'traceState'),
    name: text(span, 'name'),
    kind: member(span, 'kind', 'SPAN_KIND_', kinds),
    startTimeUnixNano: nanoseconds(span, 'startTimeUnixNano'),
    endTimeUnixNano: nanoseconds(span, 'endTimeUnixNano'),
    attributes: attributesOf(span, maxDepth),
    droppedAttributesCount: count(span, 'droppedAttributesCount'),
    events: elements(span, 'events').map((event) => ({
      name: text(event, 'name'),
      timeUnixNano: nanoseconds(event, 'timeUnixNano'),
      attributes: attributesOf(event, maxDepth),
    })),
    droppedEventsCount: count(span, 'droppedEventsCount'),
    links: elements(span, 'links').flatMap(toLink),
    status: {
      code: member(status, 'code', 'STATUS_CODE_', statusCodes),
      message: text(status, 'message'),
    },
  };
}

function toLink(link: unknown): readonly SpanLink[] {
  const traceId = hexId(link, 'traceId', 16);
  const spanId = hexId(link, 'spanId', 8);
  return traceId === null || spanId === null ? [] : [{ traceId, spanId }];
}

function toLogRecord(record: unknown, origin: Origin, maxDepth: number): OtlpLogRecord {
  const happened = nanoseconds(record, 'timeUnixNano');
  return {
    ...origin,
    traceId: hexId(record, 'traceId', 16),
    spanId: hexId(record, 'spanId', 8),
    eventName: text(record, 'eventName'),
    timeUnixNano: happened > 0n ? happened : nanoseconds(record, 'observedTimeUnixNano'),
    attributes: attributesOf(record, maxDepth),
    droppedAttributesCount: count(record, 'droppedAttributesCount'),
  };
}

function toResource(resource: unknown, maxDepth: number): TelemetryResource {
  const attributes = attributesOf(resource, maxDepth);
  const name = attributes['service.name'];
  return { serviceName: typeof name === 'string' && name !== '' ? name : null, attributes };
}

function toScope(scope: unknown): InstrumentationScope {
  return { name: text(scope, 'name'), version: text(scope, 'version') };
}

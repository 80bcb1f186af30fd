/**
 * The messages of an OTLP body, opened one by one: one that cannot be read costs itself alone. Of each the fields that
 * we use are read, and the others skipped.
 */
import protobuf from 'protobufjs/light.js';
import { RecalldError, type RejectionCode } from '../../errors.ts';
import { JsonBeyondLimit, parseExactJson } from '../../text/json.ts';
import type { Attributes, AttributeValue } from '../rules/otel/span.ts';
import { malformed, type OtlpContent, type OtlpLimits, tooLarge } from './parse.ts';

/** Marks a message that cannot be read, with the code under which it is counted. */
export class UnreadableMessage extends Error {
  readonly code: RejectionCode;

  constructor(code: RejectionCode) {
    super(code);
    this.code = code;
  }
}

/** A value that is at hand, or that is read when it is first asked for. */
export type ReadValue = AttributeValue | (() => AttributeValue);

export interface OtlpMessages {
  /** The body itself. */
  readonly body: object;
  /** The fields of a message within the body, as `body` holds it; null when it cannot be read. */
  open(message: unknown, type: MessageName): object | null;
  /**
   * Key and value of an attribute; lists and maps are read when they are asked for, and then throw `UnreadableMessage`.
   *
   * @throws UnreadableMessage
   */
  attribute(message: unknown): readonly [key: string, value: ReadValue];
}

/**
 * @throws RecalldError when the bytes are no such message, or hold more fields than allowed; so do the methods for the latter
 */
export function openMessages({ format, bytes }: OtlpContent, type: MessageName, limits: OtlpLimits): OtlpMessages {
  return format === 'protobuf' ? protobufMessages(bytes, type, limits) : jsonMessages(bytes, limits);
}

/** A field of a message; undefined when there is no such field or no message. What prototypes have are defaults. */
export function field(message: unknown, name: string): unknown {
  if (typeof message !== 'object' || message === null || !Object.hasOwn(message, name)) return undefined;
  return (message as Record<string, unknown>)[name];
}

/** Text; empty when the field is missing. */
export function text(message: unknown, name: string): string {
  const value = field(message, name);
  return typeof value === 'string' ? value : '';
}

/** The elements of a repeated field; none when it is missing. @throws UnreadableMessage for what is no list */
export function elements(message: unknown, name: string, code: RejectionCode): readonly unknown[] {
  const value = field(message, name);
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new UnreadableMessage(code);
  return value;
}

/** A 64-bit integer, however it is written. */
export function integer(value: unknown, isUnsigned: boolean): bigint | null {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : null;
  if (typeof value === 'string') return /^[+-]?\d{1,20}$/.test(value) ? BigInt(value) : null;
  const low = field(value, 'low');
  const high = field(value, 'high');
  if (typeof low !== 'number' || typeof high !== 'number') return null;
  const bits = (BigInt.asUintN(32, BigInt(Math.trunc(high))) << 32n) | BigInt.asUintN(32, BigInt(Math.trunc(low)));
  return isUnsigned ? bits : BigInt.asIntN(64, bits);
}

function integerValue(value: unknown): AttributeValue {
  if (typeof value === 'number') return value;
  const exact = integer(value, false);
  if (exact === null) return null;
  const number = Number(exact);
  return Number.isSafeInteger(number) ? number : String(exact);
}

/** Shared, because a body can hold a million events without attributes. */
export const noAttributes: Attributes = Object.freeze({});

/** It would set the prototype. An object without one is no way out: it takes several times the memory. */
export const FORBIDDEN_KEY = '__proto__';

function tooManyFields(): RecalldError {
  return tooLarge('The OTLP body holds more fields than are taken.');
}

const BYTE_ORDER_MARK = '\ufeff';

/** JSON.parse takes some 300 bytes for each level that is open. Values are read no deeper than `OtlpLimits.maxDepth`. */
const MAX_JSON_DEPTH = 50_000;

function jsonMessages(bytes: Uint8Array, limits: OtlpLimits): OtlpMessages {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  let body: unknown;
  try {
    const limit = { depth: MAX_JSON_DEPTH, containers: limits.maxFields };
    body = parseExactJson(json.startsWith(BYTE_ORDER_MARK) ? json.slice(1) : json, limit);
  } catch (cause) {
    if (!(cause instanceof JsonBeyondLimit))
      throw malformed('The OTLP body says application/json but is not JSON.', cause);
    throw cause.code === 'too_deep' ? malformed('The OTLP body nests too deep.', cause) : tooManyFields();
  }
  if (!isObject(body)) throw malformed('The OTLP body is not a JSON object.');
  return {
    body,
    open: (message) => (isObject(message) ? message : null),
    attribute(pair) {
      const key = field(pair, 'key');
      if (typeof key !== 'string') throw new UnreadableMessage('attribute_malformed');
      const value = field(pair, 'value');
      if (isObject(value) && ('arrayValue' in value || 'kvlistValue' in value))
        return [key, () => valueOfJson(value, limits.maxDepth)];
      return [key, valueOfJson(value, limits.maxDepth)];
    },
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An attribute without a value is legal, and so is one of a type that is not known yet. */
function valueOfJson(value: unknown, depthLeft: number): AttributeValue {
  if (value === undefined || value === null) return null;
  if (!isObject(value)) throw new UnreadableMessage('attribute_malformed');
  if (depthLeft <= 0) throw new UnreadableMessage('attribute_too_deep');
  const has = (name: string) => Object.hasOwn(value, name);
  if (has('stringValue')) return text(value, 'stringValue');
  if (has('boolValue')) return value['boolValue'] === true;
  if (has('intValue')) return integerValue(value['intValue']);
  if (has('doubleValue')) return doubleValue(value['doubleValue']);
  if (has('arrayValue'))
    return elements(value['arrayValue'], 'values', 'attribute_malformed').map((item) =>
      valueOfJson(item, depthLeft - 1),
    );
  if (has('kvlistValue')) {
    const map: Record<string, AttributeValue> = {};
    for (const pair of elements(value['kvlistValue'], 'values', 'attribute_malformed')) {
      const key = text(pair, 'key');
      if (key !== FORBIDDEN_KEY) map[key] = valueOfJson(field(pair, 'value'), depthLeft - 1);
    }
    return map;
  }
  const bytes = value['bytesValue'];
  return typeof bytes === 'string' ? bytes : null;
}

/** JSON has no NaN and no infinities; proto3 writes them as words. */
function doubleValue(value: unknown): AttributeValue {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : null;
}

/** Reads one message after the other. Refuses to go on after so many fields: an empty message takes two bytes on the wire and a hundred in memory. */
class MessageReader extends protobuf.Reader {
  fieldsLeft: number;

  constructor(bytes: Uint8Array, maxFields: number) {
    super(bytes);
    this.fieldsLeft = maxFields;
  }

  at(bytes: Uint8Array): this {
    this.buf = bytes;
    this.pos = 0;
    this.len = bytes.length;
    return this;
  }

  override tag(): number {
    this.fieldsLeft -= 1;
    if (this.fieldsLeft < 0) throw tooManyFields();
    return super.tag();
  }

  override string(): string {
    const length = this.uint32();
    const end = this.pos + length;
    if (end > this.len) throw new RangeError('index out of range');
    const { buffer, byteOffset } = this.buf;
    const read = Buffer.from(buffer, byteOffset + this.pos, length).toString('utf8');
    this.pos = end;
    return read;
  }

  /** Where the message that begins here ends. */
  endOfMessage(): number {
    const length = this.uint32();
    const end = this.pos + length;
    if (end > this.len) throw new RangeError('index out of range');
    return end;
  }
}

function protobufMessages(bytes: Uint8Array, type: MessageName, limits: OtlpLimits): OtlpMessages {
  const reader = new MessageReader(bytes, limits.maxFields);
  const open = (message: unknown, name: MessageName): object | null => {
    if (!(message instanceof Uint8Array)) return null;
    try {
      return requests.lookupType(name).decode(reader.at(message));
    } catch (cause) {
      if (cause instanceof RecalldError) throw cause;
      return null;
    }
  };
  const body = open(bytes, type);
  if (body === null) throw malformed(`The OTLP body is not a protobuf ${type}.`);
  return {
    body,
    open,
    attribute(message) {
      if (!(message instanceof Uint8Array)) throw new UnreadableMessage('attribute_malformed');
      return readOrRefuse(() => readAttribute(reader.at(message), limits.maxDepth));
    },
  };
}

function readOrRefuse<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof RecalldError || cause instanceof UnreadableMessage) throw cause;
    throw new UnreadableMessage('attribute_malformed');
  }
}

/** Tags on the wire: the number of a field, shifted by three bits, and its wire type. */
const KEY = 0x0a;
const VALUE = 0x12;
const ITEM = 0x0a;
const STRING = 0x0a;
const BOOL = 0x10;
const INT = 0x18;
const DOUBLE = 0x21;
const ARRAY = 0x2a;
const MAP = 0x32;
const BYTES = 0x3a;

function readAttribute(reader: MessageReader, maxDepth: number): readonly [string, ReadValue] {
  let key = '';
  let value: ReadValue = null;
  while (reader.pos < reader.len) {
    const tag = reader.tag();
    if (tag === KEY) key = reader.string();
    else if (tag === VALUE) {
      const end = reader.endOfMessage();
      const first = reader.buf[reader.pos];
      if (first === ARRAY || first === MAP) {
        const later = reader.buf.subarray(reader.pos, end);
        value = () => readOrRefuse(() => readValue(reader.at(later), later.length, maxDepth));
        reader.pos = end;
      } else value = readValue(reader, end, maxDepth);
    } else reader.skipType(tag & 7);
  }
  return [key, value];
}

/** Of several values the last. */
function readValue(reader: MessageReader, end: number, depthLeft: number): AttributeValue {
  if (depthLeft <= 0) throw new UnreadableMessage('attribute_too_deep');
  let value: AttributeValue = null;
  while (reader.pos < end) {
    const tag = reader.tag();
    if (tag === STRING) value = reader.string();
    else if (tag === DOUBLE) value = reader.double();
    else if (tag === INT) value = integerValue(reader.int64());
    else if (tag === BOOL) value = reader.bool();
    else if (tag === BYTES) value = Buffer.from(reader.bytes()).toString('base64');
    else if (tag === ARRAY) value = readArray(reader, reader.endOfMessage(), depthLeft - 1);
    else if (tag === MAP) value = readMap(reader, reader.endOfMessage(), depthLeft - 1);
    else reader.skipType(tag & 7);
  }
  if (reader.pos !== end) throw new UnreadableMessage('attribute_malformed');
  return value;
}

function readArray(reader: MessageReader, end: number, depthLeft: number): AttributeValue[] {
  const items: AttributeValue[] = [];
  while (reader.pos < end) {
    const tag = reader.tag();
    if (tag === ITEM) items.push(readValue(reader, reader.endOfMessage(), depthLeft));
    else reader.skipType(tag & 7);
  }
  return items;
}

function readMap(reader: MessageReader, end: number, depthLeft: number): Attributes {
  const map: Record<string, AttributeValue> = {};
  while (reader.pos < end) {
    const tag = reader.tag();
    if (tag !== ITEM) {
      reader.skipType(tag & 7);
      continue;
    }
    const endOfPair = reader.endOfMessage();
    let key = '';
    let value: AttributeValue = null;
    while (reader.pos < endOfPair) {
      const part = reader.tag();
      if (part === KEY) key = reader.string();
      else if (part === VALUE) value = readValue(reader, reader.endOfMessage(), depthLeft);
      else reader.skipType(part & 7);
    }
    if (key !== FORBIDDEN_KEY) map[key] = value;
  }
  return map;
}

// Field numbers are those of opentelemetry-proto v1 (collector, trace, logs, common and resource). Messages within a
// message are bytes, which are opened on their own.
const messages = (id: number) => ({ rule: 'repeated', type: 'bytes', id });
const message = (id: number) => ({ type: 'bytes', id });

const definitions = {
  ExportTraceServiceRequest: { fields: { resourceSpans: messages(1) } },
  ResourceSpans: { fields: { resource: message(1), scopeSpans: messages(2) } },
  ScopeSpans: { fields: { scope: message(1), spans: messages(2) } },
  Span: {
    fields: {
      traceId: { type: 'bytes', id: 1 },
      spanId: { type: 'bytes', id: 2 },
      traceState: { type: 'string', id: 3 },
      parentSpanId: { type: 'bytes', id: 4 },
      name: { type: 'string', id: 5 },
      kind: { type: 'int32', id: 6 },
      startTimeUnixNano: { type: 'fixed64', id: 7 },
      endTimeUnixNano: { type: 'fixed64', id: 8 },
      attributes: messages(9),
      droppedAttributesCount: { type: 'uint32', id: 10 },
      events: messages(11),
      droppedEventsCount: { type: 'uint32', id: 12 },
      links: messages(13),
      status: message(15),
    },
  },
  Event: {
    fields: { timeUnixNano: { type: 'fixed64', id: 1 }, name: { type: 'string', id: 2 }, attributes: messages(3) },
  },
  Link: { fields: { traceId: { type: 'bytes', id: 1 }, spanId: { type: 'bytes', id: 2 } } },
  Status: { fields: { message: { type: 'string', id: 2 }, code: { type: 'int32', id: 3 } } },

  ExportLogsServiceRequest: { fields: { resourceLogs: messages(1) } },
  ResourceLogs: { fields: { resource: message(1), scopeLogs: messages(2) } },
  ScopeLogs: { fields: { scope: message(1), logRecords: messages(2) } },
  LogRecord: {
    fields: {
      timeUnixNano: { type: 'fixed64', id: 1 },
      attributes: messages(6),
      droppedAttributesCount: { type: 'uint32', id: 7 },
      traceId: { type: 'bytes', id: 9 },
      spanId: { type: 'bytes', id: 10 },
      observedTimeUnixNano: { type: 'fixed64', id: 11 },
      eventName: { type: 'string', id: 12 },
    },
  },

  Resource: { fields: { attributes: messages(1) } },
  Scope: { fields: { name: { type: 'string', id: 1 }, version: { type: 'string', id: 2 } } },
};

export type MessageName = keyof typeof definitions;

const requests = protobuf.Root.fromJSON({ nested: definitions });

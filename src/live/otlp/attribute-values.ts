/**
 * Reads attribute values from both OTLP encodings. Unreadable elements of a list or map become null, so that the other
 * elements keep their positions.
 */
import protobuf from 'protobufjs/light.js';
import { RecalldError, type RejectionCode } from '../../core/errors.ts';
import type { Attributes, AttributeValue } from '../rules/otel/span.ts';
import { tooLarge } from './parse.ts';

/** Error for an unreadable message, with the code under which the message is counted. */
export class UnreadableMessage extends Error {
  readonly code: RejectionCode;

  private constructor(code: RejectionCode) {
    super(code);
    this.code = code;
  }

  /**
   * Returns a shared instance per code. A body can cause millions of errors, and each stack trace would take a
   * microsecond.
   */
  static of(code: RejectionCode): UnreadableMessage {
    const known = unreadable.get(code) ?? new UnreadableMessage(code);
    unreadable.set(code, known);
    return known;
  }
}

const unreadable = new Map<RejectionCode, UnreadableMessage>();

/** Callback for each unreadable element of a list or map. */
export type LeaveOut = (code: RejectionCode) => void;

/** Reads a value. If the message is unreadable, reports its code and returns null. */
export function readOr<T>(report: LeaveOut, read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof UnreadableMessage)) throw error;
    report(error.code);
    return null;
  }
}

/** A value, or a function that reads it on first access. */
export type ReadValue = AttributeValue | (() => AttributeValue);

/** Returns undefined for a missing field. Inherited fields are protobuf defaults and are ignored. */
export function field(message: unknown, name: string): unknown {
  if (typeof message !== 'object' || message === null || !Object.hasOwn(message, name)) return undefined;
  return (message as Record<string, unknown>)[name];
}

/** Returns an empty string if the field is missing or is not a string. */
export function text(message: unknown, name: string): string {
  const value = field(message, name);
  return typeof value === 'string' ? value : '';
}

/**
 * Returns the elements of a repeated field; empty if it is missing.
 *
 * @throws UnreadableMessage unless the field is a list
 */
export function elements(message: unknown, name: string, code: RejectionCode): readonly unknown[] {
  const value = field(message, name);
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw UnreadableMessage.of(code);
  return value;
}

/** Parses a 64-bit integer from a number, a string or {low, high}. */
export function integer(value: unknown, isUnsigned: boolean): bigint | null {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : null;
  if (typeof value === 'string') return /^[+-]?\d{1,20}$/.test(value) ? BigInt(value) : null;
  const low = field(value, 'low');
  const high = field(value, 'high');
  if (typeof low !== 'number' || typeof high !== 'number') return null;
  const bits = (BigInt.asUintN(32, BigInt(Math.trunc(high))) << 32n) | BigInt.asUintN(32, BigInt(Math.trunc(low)));
  return isUnsigned ? bits : BigInt.asIntN(64, bits);
}

/** @throws UnreadableMessage unless the value is an integer or null */
function integerValue(value: unknown): AttributeValue {
  if (typeof value === 'number' || value === null) return value;
  const exact = integer(value, false);
  if (exact === null) throw UnreadableMessage.of('attribute_malformed');
  const number = Number(exact);
  return Number.isSafeInteger(number) ? number : String(exact);
}

/** Shared empty attributes, because a body can contain a million events without attributes. */
export const noAttributes: Attributes = Object.freeze({});

/**
 * Attribute key that would set the prototype of the attributes object. Objects without a prototype would not have this
 * problem, but need several times the memory.
 */
export const FORBIDDEN_KEY = '__proto__';

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Missing values and values of unknown types are legal and become null.
 *
 * @throws UnreadableMessage
 */
export function valueOfJson(value: unknown, depthLeft: number, leaveOut: LeaveOut): AttributeValue {
  if (value === undefined || value === null) return null;
  if (!isObject(value)) throw UnreadableMessage.of('attribute_malformed');
  if (depthLeft <= 0) throw UnreadableMessage.of('attribute_too_deep');
  const has = (name: string) => Object.hasOwn(value, name);
  if (has('stringValue')) return scalarOfJson(value['stringValue'], 'string');
  if (has('boolValue')) return scalarOfJson(value['boolValue'], 'boolean');
  if (has('intValue')) return integerValue(value['intValue']);
  if (has('doubleValue')) return doubleValue(value['doubleValue']);
  if (has('arrayValue'))
    return elements(value['arrayValue'], 'values', 'attribute_malformed').map((item) =>
      partOfJson(item, depthLeft - 1, leaveOut),
    );
  if (has('kvlistValue')) {
    const map: Record<string, AttributeValue> = {};
    for (const pair of elements(value['kvlistValue'], 'values', 'attribute_malformed')) {
      const key = text(pair, 'key');
      if (key !== FORBIDDEN_KEY) map[key] = partOfJson(field(pair, 'value'), depthLeft - 1, leaveOut);
    }
    return map;
  }
  const bytes = value['bytesValue'];
  return typeof bytes === 'string' ? bytes : null;
}

/** Reads an element of a list or map; null if it is unreadable. */
function partOfJson(value: unknown, depthLeft: number, leaveOut: LeaveOut): AttributeValue {
  return readOr(leaveOut, () => valueOfJson(value, depthLeft, leaveOut));
}

function scalarOfJson(value: unknown, type: 'string' | 'boolean'): AttributeValue {
  if (value === null) return null;
  if (typeof value !== type) throw UnreadableMessage.of('attribute_malformed');
  return value as string | boolean;
}

/** JSON has neither NaN nor infinities; protobuf JSON encodes them as strings. */
function doubleValue(value: unknown): AttributeValue {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : null;
}

export function tooManyFields(): RecalldError {
  return tooLarge('The OTLP body has too many fields.');
}

/**
 * A reusable protobuf reader that limits the total number of fields. An empty message takes two bytes on the wire but a
 * hundred in memory.
 */
export class MessageReader extends protobuf.Reader {
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
    const end = this.endOfMessage();
    const { buffer, byteOffset } = this.buf;
    const read = Buffer.from(buffer, byteOffset + this.pos, end - this.pos).toString('utf8');
    this.pos = end;
    return read;
  }

  /** Returns the end of the nested message or string at the current position. */
  endOfMessage(): number {
    const length = this.uint32();
    const end = this.pos + length;
    if (end > this.len) throw new RangeError('index out of range');
    return end;
  }
}

/** Converts errors of the protobuf reader to UnreadableMessage. */
export function readOrRefuse<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof RecalldError || cause instanceof UnreadableMessage) throw cause;
    throw UnreadableMessage.of('attribute_malformed');
  }
}

/** Wire tags: (field number << 3) | wire type. */
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

export function readAttribute(
  reader: MessageReader,
  maxDepth: number,
  leaveOut: LeaveOut,
): readonly [string, ReadValue] {
  return readPair<ReadValue>(reader, reader.len, () => {
    const end = reader.endOfMessage();
    const first = reader.buf[reader.pos];
    if (first !== ARRAY && first !== MAP) return readValue(reader, end, maxDepth, leaveOut);
    const later = reader.buf.subarray(reader.pos, end);
    reader.pos = end;
    return () => readOrRefuse(() => readValue(reader.at(later), later.length, maxDepth, leaveOut));
  });
}

/** Reads a key and its value. If there are several keys or values, the last one applies. */
function readPair<Value>(reader: MessageReader, end: number, read: () => Value): readonly [string, Value | null] {
  let key = '';
  let value: Value | null = null;
  while (reader.pos < end) {
    const tag = reader.tag();
    if (tag === KEY) key = reader.string();
    else if (tag === VALUE) value = read();
    else reader.skipType(tag & 7);
  }
  return [key, value];
}

/** Reads a value. If there are several values, the last one applies. */
function readValue(reader: MessageReader, end: number, depthLeft: number, leaveOut: LeaveOut): AttributeValue {
  if (depthLeft <= 0) throw UnreadableMessage.of('attribute_too_deep');
  let value: AttributeValue = null;
  while (reader.pos < end) {
    const tag = reader.tag();
    if (tag === STRING) value = reader.string();
    else if (tag === DOUBLE) value = reader.double();
    else if (tag === INT) value = integerValue(reader.int64());
    else if (tag === BOOL) value = reader.bool();
    else if (tag === BYTES) value = Buffer.from(reader.bytes()).toString('base64');
    else if (tag === ARRAY) value = readArray(reader, reader.endOfMessage(), depthLeft - 1, leaveOut);
    else if (tag === MAP) value = readMap(reader, reader.endOfMessage(), depthLeft - 1, leaveOut);
    else reader.skipType(tag & 7);
  }
  if (reader.pos !== end) throw UnreadableMessage.of('attribute_malformed');
  return value;
}

/**
 * Reads an element of a list or map; null if it is unreadable. The declared length of an unreadable element shows where
 * the next element starts.
 */
function readPart(reader: MessageReader, depthLeft: number, leaveOut: LeaveOut): AttributeValue {
  const end = reader.endOfMessage();
  const value = readOr(leaveOut, () => readOrRefuse(() => readValue(reader, end, depthLeft, leaveOut)));
  reader.pos = end;
  return value;
}

function readArray(reader: MessageReader, end: number, depthLeft: number, leaveOut: LeaveOut): AttributeValue[] {
  const items: AttributeValue[] = [];
  while (reader.pos < end) {
    const tag = reader.tag();
    if (tag === ITEM) items.push(readPart(reader, depthLeft, leaveOut));
    else reader.skipType(tag & 7);
  }
  return items;
}

function readMap(reader: MessageReader, end: number, depthLeft: number, leaveOut: LeaveOut): Attributes {
  const map: Record<string, AttributeValue> = {};
  while (reader.pos < end) {
    const tag = reader.tag();
    if (tag !== ITEM) {
      reader.skipType(tag & 7);
      continue;
    }
    const [key, value] = readPair(reader, reader.endOfMessage(), () => readPart(reader, depthLeft, leaveOut));
    if (key !== FORBIDDEN_KEY) map[key] = value;
  }
  return map;
}

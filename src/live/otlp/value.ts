/** Reads single fields of a parsed message, whose types nobody has checked. */
import type { Attributes, AttributeValue } from '../rules/otel/span.ts';
import { malformed } from './parse.ts';

/** A field of a message; undefined when there is no such field or no message. */
export function field(message: unknown, name: string): unknown {
  if (typeof message !== 'object' || message === null) return undefined;
  return (message as Record<string, unknown>)[name];
}

/** The elements of a repeated field; none when it is missing. */
export function elements(message: unknown, name: string): readonly unknown[] {
  const value = field(message, name);
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw malformed(`The field ${name} of the OTLP body is not a list.`);
  return value;
}

/** Text; empty when the field is missing. */
export function text(message: unknown, name: string): string {
  const value = field(message, name);
  return typeof value === 'string' ? value : '';
}

/** A count; 0 when the field is missing. */
export function count(message: unknown, name: string): number {
  const value = Number(field(message, name) ?? 0);
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
}

/**
 * An id as lower-case hexadecimal digits: bytes in protobuf, digits in JSON.
 *
 * @returns null when it is missing, of another length, or all zero, which OpenTelemetry calls invalid.
 */
export function hexId(message: unknown, name: string, byteLength: number): string | null {
  const value = field(message, name);
  const digits = value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
  if (typeof digits !== 'string' || digits.length !== byteLength * 2) return null;
  return /^[0-9a-f]+$/i.test(digits) && /[^0]/.test(digits) ? digits.toLowerCase() : null;
}

/** A time in Unix nanoseconds: {low, high} in protobuf, digits or a number in JSON; 0 when it is missing. */
export function nanoseconds(message: unknown, name: string): bigint {
  const value = integer(field(message, name), true);
  return value === null || value < 0n ? 0n : value;
}

/** A member of an enum, whether it is written as its number or as its name: `prefix` and a word of `words`. */
export function member<T extends string>(
  message: unknown,
  name: string,
  prefix: string,
  words: readonly [T, ...T[]],
): T {
  const value = field(message, name);
  const index =
    typeof value === 'string'
      ? words.findIndex((word) => value === prefix + word.toUpperCase())
      : Number(value ?? 0);
  return words[index] ?? words[0];
}

/** Attributes by their keys; of a key that comes twice the last, and none by the key `__proto__`. */
export function attributesOf(message: unknown, maxDepth: number): Attributes {
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
  const bits =
    (BigInt.asUintN(32, BigInt(Math.trunc(high))) << 32n) | BigInt.asUintN(32, BigInt(Math.trunc(low)));
  return isUnsigned ? bits : BigInt.asIntN(64, bits);
}

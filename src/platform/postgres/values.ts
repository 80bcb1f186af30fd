/** Encodes and decodes values for PostgreSQL: columns with many rows, vectors, and text. */
import { DAY_MS } from '../../core/time.ts';

/**
 * Columns with many rows in PostgreSQL's binary array format (`array_send`, `array_recv`). In text format, both sides
 * would have to convert each value, and a vector would take twice as many bytes.
 */

/** Type object ids, from `pg_type`. */
const types = {
  bytea: 17,
  smallint: 21,
  integer: 23,
  text: 25,
  'double precision': 701,
  date: 1082,
  timestamptz: 1184,
} as const;

export type ElementType = keyof typeof types;

/** For a `date` column, a Date with any time of day is accepted and stored as its UTC day. */
export type Element = string | number | Date | Buffer | null;

/** PostgreSQL's epoch. */
const EPOCH_MS = Date.UTC(2000, 0, 1);
const HEAD_BYTES = 20;
const NULL_LENGTH = -1;

/**
 * Encodes a one-dimensional array, for a parameter with a type cast.
 *
 * @throws TypeError for a value of another type, RangeError for a number that is out of range
 */
export function binaryArray(type: ElementType, values: readonly Element[]): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + 4 * values.length + values.reduce(roomFor, 0));
  bytes.writeInt32BE(1, 0);
  bytes.writeInt32BE(values.includes(null) ? 1 : 0, 4);
  bytes.writeInt32BE(types[type], 8);
  bytes.writeInt32BE(values.length, 12);
  bytes.writeInt32BE(1, 16);
  let end = HEAD_BYTES;
  // Iterates by index, because an iterator allocates an object for each value.
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? null;
    const length = value === null ? NULL_LENGTH : writeElement(bytes, end + 4, type, value);
    bytes.writeInt32BE(length, end);
    end += 4 + Math.max(0, length);
  }
  return bytes.subarray(0, end);
}

/** Adds the maximum encoded size of a value to the sum: three bytes per UTF-16 code unit of a string. */
function roomFor(sum: number, value: Element): number {
  if (typeof value === 'string') return sum + 3 * value.length;
  return sum + (Buffer.isBuffer(value) ? value.length : 8);
}

/** @returns the number of bytes written at `at` */
function writeElement(bytes: Buffer, at: number, type: ElementType, value: NonNullable<Element>): number {
  if (type === 'text' && typeof value === 'string') return bytes.write(value, at);
  if (type === 'bytea' && Buffer.isBuffer(value)) return value.copy(bytes, at);
  if (type === 'smallint' && typeof value === 'number') return bytes.writeInt16BE(value, at) - at;
  if (type === 'integer' && typeof value === 'number') return bytes.writeInt32BE(value, at) - at;
  if (type === 'double precision' && typeof value === 'number') return bytes.writeDoubleBE(value, at) - at;
  if (type === 'date' && value instanceof Date) {
    return bytes.writeInt32BE(Math.floor((value.getTime() - EPOCH_MS) / DAY_MS), at) - at;
  }
  if (type === 'timestamptz' && value instanceof Date) {
    return bytes.writeBigInt64BE(BigInt(value.getTime() - EPOCH_MS) * 1000n, at) - at;
  }
  throw new TypeError(`A ${typeof value} is not an element of ${type}[].`);
}

/** Returns one array per column, for `unnest`. A column is a key of the rows, or a function that returns its value. */
export function columnsOf<Row>(
  rows: readonly Row[],
  columns: readonly (keyof Row | ((row: Row) => unknown))[],
): unknown[][] {
  return columns.map((column) => rows.map((row) => (typeof column === 'function' ? column(row) : row[column])));
}

/**
 * Vectors are stored as float32 and computed numbers as float64, both little-endian. Every machine that Node.js
 * supports is also little-endian.
 */
export function bytesOfVector(vector: Float32Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}

/** Copies the bytes, because a row's bytes may be at any offset in a driver buffer. */
export function vectorOfBytes(bytes: Uint8Array): Float32Array {
  return new Float32Array(Uint8Array.from(bytes).buffer);
}

export function bytesOfNumbers(numbers: Float64Array): Buffer {
  return Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}

/** Copies the bytes, because a row's bytes may be at any offset in a driver buffer. */
export function numbersOfBytes(bytes: Uint8Array): Float64Array {
  return new Float64Array(Uint8Array.from(bytes).buffer);
}

/** Values as PostgreSQL takes and gives them: columns of many rows, lists of numbers, text. */
import { DAY_MS } from '../../core/time.ts';

/**
 * Columns of many rows in the format in which PostgreSQL sends and receives arrays (`array_send`, `array_recv`): what is
 * written as text here has to be read as text there, and the bytes of a vector would be twice as many.
 */

/** Each type with its object id, from `pg_type`. */
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

/** A date is a day in UTC: any time of it. */
export type Element = string | number | Date | Buffer | null;

/** PostgreSQL counts time from here. */
const EPOCH_MS = Date.UTC(2000, 0, 1);
const HEAD_BYTES = 20;
const NULL_LENGTH = -1;

/**
 * An array of one dimension, as the parameter of a statement that says its type.
 *
 * @throws TypeError for a value that is not of the type, RangeError for a number that does not fit it
 */
export function binaryArray(type: ElementType, values: readonly Element[]): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + 4 * values.length + values.reduce(roomFor, 0));
  bytes.writeInt32BE(1, 0);
  bytes.writeInt32BE(values.includes(null) ? 1 : 0, 4);
  bytes.writeInt32BE(types[type], 8);
  bytes.writeInt32BE(values.length, 12);
  bytes.writeInt32BE(1, 16);
  let end = HEAD_BYTES;
  // By index: an iterator makes an object for each value of each row.
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? null;
    const length = value === null ? NULL_LENGTH : writeElement(bytes, end + 4, type, value);
    bytes.writeInt32BE(length, end);
    end += 4 + Math.max(0, length);
  }
  return bytes.subarray(0, end);
}

/** No more than three bytes for a UTF-16 unit. */
function roomFor(sum: number, value: Element): number {
  if (typeof value === 'string') return sum + 3 * value.length;
  return sum + (Buffer.isBuffer(value) ? value.length : 8);
}

/** @returns how many bytes were written at `at` */
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
  throw new TypeError(`A ${typeof value} is no element of ${type}[].`);
}

/** What `unnest` wants: one array for each column. */
export function columnsOf<Row>(rows: readonly Row[], columns: readonly ((row: Row) => unknown)[]): unknown[][] {
  return columns.map((column) => rows.map(column));
}

/**
 * Text as PostgreSQL keeps it: half of a surrogate pair becomes U+FFFD. The driver does so with parameters of its
 * own accord; inside JSON such text is an error.
 */
export function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\uFFFD');
}

/**
 * Lists of numbers as they are stored: float32 for the vectors of embedding models, float64 for what was computed. Both
 * are little-endian, as every machine that Node.js runs on today keeps them.
 */
export function bytesOfVector(vector: Float32Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}

/** A copy, since the bytes of a row lie in a buffer of the driver at any offset. */
export function vectorOfBytes(bytes: Uint8Array): Float32Array {
  return new Float32Array(Uint8Array.from(bytes).buffer);
}

export function bytesOfNumbers(numbers: Float64Array): Buffer {
  return Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}

/** A copy, likewise. */
export function numbersOfBytes(bytes: Uint8Array): Float64Array {
  return new Float64Array(Uint8Array.from(bytes).buffer);
}

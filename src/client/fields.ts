/** Reads one field of an argument that may be anything. Null and undefined are a missing field. */

const MAX_IDENTIFIER = 1024;
export const MAX_TEXT = 100_000;
export const MAX_SHORT_TEXT = 1000;

/** An argument that cannot be used; the message names the field and never quotes its value. */
export class InvalidField extends Error {
  override readonly name = 'InvalidField';
}

/** The value as an object whose fields can be read. */
export function readObject(value: unknown, field: string): Readonly<Record<string, unknown>> | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) throw new InvalidField(`${field} must be an object`);
  return value as Readonly<Record<string, unknown>>;
}

/** A text of at most `max` UTF-16 units. */
export function readText(value: unknown, field: string, max: number): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'string') throw new InvalidField(`${field} must be a string`);
  if (value.length > max) throw new InvalidField(`${field} is longer than ${max} characters`);
  return value;
}

/** A text of 1 to 1,024 UTF-16 units; a finite number becomes one. */
export function readIdentifier(value: unknown, field: string): string | undefined {
  const text = typeof value === 'number' && Number.isFinite(value) ? String(value) : value;
  const identifier = readText(text, field, MAX_IDENTIFIER);
  if (identifier === '') throw new InvalidField(`${field} is empty`);
  return identifier;
}

/** A finite number in [min, max]. */
export function readNumber(value: unknown, field: string, min: number, max: number): number | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'number' && value >= min && value <= max) return value;
  throw new InvalidField(`${field} must be a number from ${min} to ${max}`);
}

/** A whole number in [1, 10,000], as ranks and result counts are. */
export function readCount(value: unknown, field: string): number | undefined {
  const count = readNumber(value, field, 1, 10_000);
  if (count !== undefined && !Number.isInteger(count)) throw new InvalidField(`${field} must be a whole number`);
  return count;
}

// RFC 3339 writes years with four digits.
const LAST_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** A Date, a number of milliseconds since the epoch or an ISO 8601 text, as an RFC 3339 text in UTC. */
export function readTime(value: unknown, field: string): string | undefined {
  if (value === null || value === undefined) return undefined;
  let time = Number.NaN;
  if (typeof value === 'number') time = value;
  else if (typeof value === 'string') time = Date.parse(value);
  else if (value instanceof Date) time = value.getTime();
  if (time >= 0 && time <= LAST_TIME) return new Date(time).toISOString();
  throw new InvalidField(`${field} must be a Date, milliseconds since the epoch or an ISO 8601 text`);
}

/** The value, when there is one. */
export function required<T>(value: T | undefined, field: string): T {
  if (value === undefined) throw new InvalidField(`${field} is missing`);
  return value;
}

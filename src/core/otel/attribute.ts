/** Reads one attribute as the type that is wanted of it; whatever does not fit is null, never an error. */
import { parseExactJson } from './exact-json.ts';
import type { AttributeValue, Attributes } from './span.ts';

/** What OpenInference writes in place of a value that its privacy settings hide. */
const REDACTED = '__REDACTED__';

/** No embedding model has more dimensions; a longer list is not a vector. */
const MAX_DIMENSIONS = 65_536;

type Value = AttributeValue | undefined;

/** Text that says something: not empty and not redacted. NUL, which PostgreSQL cannot store, becomes U+FFFD. */
export function readText(value: Value): string | null {
  if (typeof value !== 'string' || value === '' || value === REDACTED) return null;
  return value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value;
}

/**
 * An id: text as it stands, or an integer written in digits. A number with a fraction is a score, and an integer that
 * was rounded is the id of something else.
 */
export function readId(value: Value): string | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null;
  const text = readText(value);
  return text === null || text.includes('\uFFFD') ? null : text;
}

/** A finite number, or text of one: Milvus' instrumentation writes distances as text. */
export function readNumber(value: Value): number | null {
  const isNumeric = typeof value === 'string' && /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(value);
  const number = isNumeric ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

/** A whole number that is at least 1, such as a top k. */
export function readCount(value: Value): number | null {
  const number = readNumber(value);
  return number !== null && Number.isSafeInteger(number) && number >= 1 ? number : null;
}

/** An object, be it structured or JSON text. */
export function readObject(value: Value): Attributes | null {
  const structure = readStructure(value);
  return isObject(structure) ? structure : null;
}

/** An array, be it structured or JSON text. */
export function readArray(value: Value): readonly AttributeValue[] | null {
  const structure = readStructure(value);
  return isArray(structure) ? structure : null;
}

/** An array or object, be it structured or JSON text; null for anything else. */
export function readStructure(value: Value): Attributes | readonly AttributeValue[] | null {
  const structure = typeof value === 'string' && /^\s*[[{]/.test(value) ? parseExactJson(value) : value;
  return isArray(structure) || isObject(structure) ? structure : null;
}

/**
 * A dense vector: an array of finite numbers, integers and floats mixed, or JSON text of one. Sparse vectors, zero
 * dimensions and numbers that float32 cannot hold give null.
 */
export function readVector(value: Value): Float32Array | null {
  const numbers = typeof value === 'string' ? parseNumbers(value) : value;
  if (!isArray(numbers) || numbers.length === 0 || numbers.length > MAX_DIMENSIONS) return null;
  const vector = new Float32Array(numbers.length);
  for (const [dimension, number] of numbers.entries()) {
    if (typeof number !== 'number') return null;
    vector[dimension] = number;
  }
  return vector.every(Number.isFinite) ? vector : null;
}

/** Plain JSON, because the digits of a float need no care and there are many of them. */
function parseNumbers(text: string): Value {
  if (!text.startsWith('[')) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * The objects that were flattened to `prefix.<index>.<field>`, in the order of their indices; gaps are closed.
 *
 * @returns null when no attribute has the prefix.
 */
export function readFlattened(attributes: Attributes, prefix: string): readonly Attributes[] | null {
  const start = `${prefix}.`;
  const objects = new Map<number, Record<string, AttributeValue>>();
  for (const [name, value] of Object.entries(attributes)) {
    if (!name.startsWith(start)) continue;
    const [, index, field] = /^(\d{1,9})\.(.+)$/.exec(name.slice(start.length)) ?? [];
    if (index === undefined || field === undefined) continue;
    const object = objects.get(Number(index)) ?? Object.create(null);
    object[field] = value;
    objects.set(Number(index), object);
  }
  if (objects.size === 0) return null;
  return [...objects].toSorted(([a], [b]) => a - b).map(([, object]) => object);
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

function isArray(value: Value): value is readonly AttributeValue[] {
  return Array.isArray(value);
}

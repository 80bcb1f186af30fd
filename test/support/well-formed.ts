/** Text as a database returns it: lone surrogates become the replacement character. */

/** Returns a copy of JSON-like data whose strings, including keys, are valid Unicode. */
export function wellFormed<T>(value: T): T;
export function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return Buffer.from(value, 'utf8').toString('utf8');
  if (Array.isArray(value)) return value.map((item: unknown) => wellFormed(item));
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [wellFormed(key), wellFormed(child)]));
}

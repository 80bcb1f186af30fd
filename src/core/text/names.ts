/** Property names: camel case in the program, snake case in tables and documents. */

/** `receivedAt` for `received_at`. */
export function camelCase(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** `received_at` for `receivedAt`. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

type SnakeCase<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Uppercase<First> ? (First extends Lowercase<First> ? First : `_${Lowercase<First>}`) : First}${SnakeCase<Rest>}`
  : Name;

export type Document<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Document<Item>[]
    : T extends object
      ? { [Name in keyof T as SnakeCase<Name>]: Document<T[Name]> }
      : T;

/**
 * Returns a value as a JSON document: names in snake case, dates in ISO 8601. Converts all keys, so a key that is data
 * must already be in snake case.
 */
export function toDocument<T>(value: T): Document<T> {
  return documentOf(value) as Document<T>;
}

function documentOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(documentOf);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [snakeCase(name), documentOf(item)]));
}

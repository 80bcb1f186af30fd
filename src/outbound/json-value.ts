/** Reading of answers whose form is known from a document only: what is not there is null, never an exception. */

export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value at a path of keys and indexes. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof key === 'number' ? listOf(inner)[key] : fieldsOf(inner)[key]),
    value,
  );
}

/** A field by its name, or by a path with dots where no field has that very name. */
export function fieldAt(value: unknown, name: string): unknown {
  const fields = fieldsOf(value);
  if (Object.hasOwn(fields, name)) return fields[name];
  const dot = name.indexOf('.');
  return dot === -1 ? undefined : fieldAt(fields[name.slice(0, dot)], name.slice(dot + 1));
}

/** A string, or a number or truth value as text; the first one of a list. */
export function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return Array.isArray(value) && value.length > 0 ? textOf(value[0]) : null;
}

/** A finite number, also one that was sent as text. */
export function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

/** A list of numbers that are finite as float32, not empty. */
export function vectorOf(value: unknown): Float32Array | null {
  if (!Array.isArray(value) || value.length === 0) return null;
  const vector = new Float32Array(value.length);
  for (const [index, number] of value.entries()) {
    const read = numberOf(number);
    if (read === null || !Number.isFinite(Math.fround(read))) return null;
    vector[index] = read;
  }
  return vector;
}

/** What goes over the wire, from what the program holds: by its schema, and nothing that the schema does not name. */
import { z } from 'zod';

type CamelCase<Key> = Key extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : Key;

/** What a wire form is within the program: names in camelCase, moments as dates. */
export type Inside<Wire> = Wire extends string
  ? string extends Wire
    ? Wire | Date
    : Wire
  : Wire extends readonly (infer Item)[]
    ? readonly Inside<Item>[]
    : Wire extends object
      ? string extends keyof Wire
        ? { readonly [Key in keyof Wire]: Inside<Wire[Key]> }
        : { readonly [Key in keyof Wire as CamelCase<Key>]: Inside<Wire[Key]> }
      : Wire;

/**
 * The wire form of a value. A name of the schema in snake_case is taken from the property in camelCase, a date becomes
 * ISO 8601; what the schema does not name stays here. The keys of a record are data and stay as they are.
 *
 * @throws TypeError for a schema of a kind that is not told by name: a mapping must be an object, a list or a record
 */
export function toWire<Schema extends z.ZodType>(schema: Schema, value: Inside<z.output<Schema>>): z.output<Schema> {
  return wireOf(schema, value) as z.output<Schema>;
}

function wireOf(schema: z.core.$ZodType, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (value instanceof Date) return value.toISOString();
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return wireOf(schema.unwrap(), value);
  if (schema instanceof z.ZodArray) return (value as readonly unknown[]).map((item) => wireOf(schema.element, item));
  if (schema instanceof z.ZodRecord) {
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([key, item]) => [key, wireOf(schema.valueType, item)]));
  }
  if (schema instanceof z.ZodObject) {
    const from = value as Readonly<Record<string, unknown>>;
    return Object.fromEntries(
      Object.entries(schema.shape).map(([name, field]) => [name, wireOf(field, from[camelCase(name)])]),
    );
  }
  if (typeof value === 'object') throw new TypeError('an object has no wire form by this schema');
  return value;
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

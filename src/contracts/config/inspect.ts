/** Views of a parsed config for people: without its secrets, and what of it this version does not act on. */
import type { z } from 'zod';
import { formatPath } from './explain.ts';
import { configJsonSchema } from './parse.ts';
import type { Config } from './schema.ts';

type JsonSchema = z.core.JSONSchema.JSONSchema;

const REDACTED = '[redacted]';

/** The config with every secret replaced; of a URL only the password goes. */
export function redactConfig(config: Config): unknown {
  return redact(config, [configJsonSchema()]);
}

function redact(value: unknown, schemas: readonly JsonSchema[]): unknown {
  if (typeof value === 'string') return schemas.some((schema) => schema['secret'] === true) ? redactSecret(value) : value;
  if (Array.isArray(value)) return value.map((item) => redact(item, children(schemas, (schema) => schema.items)));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, child]) => [
        key,
        redact(child, children(schemas, (schema) => schema.properties?.[key] ?? schema.additionalProperties)),
      ]),
    );
  }
  return value;
}

function redactSecret(value: string): string {
  if (value === 'embedded') return value;
  if (!URL.canParse(value)) return REDACTED;
  const url = new URL(value);
  if (url.password === '') return value;
  url.password = 'redacted';
  return url.toString();
}

/** The fields of the config that are part of the contract but change nothing in this version. */
export function inactiveFields(config: Config): string[] {
  const found: string[] = [];
  const visit = (value: unknown, schemas: readonly JsonSchema[], path: readonly PropertyKey[]): void => {
    if (value === undefined) return;
    if (schemas.some((schema) => schema['inactive'] === true && holds(schema, value))) {
      found.push(formatPath(path));
      return;
    }
    if (Array.isArray(value)) {
      const items = children(schemas, (schema) => schema.items);
      for (const [index, item] of value.entries()) visit(item, items, [...path, index]);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, child] of Object.entries(value)) visit(child, children(schemas, (schema) => schema.properties?.[key]), [...path, key]);
    }
  };
  visit(config, [configJsonSchema()], []);
  return found;
}

/** Whether `value` is of this branch of a union: it has all keys that the branch requires. */
function holds(schema: JsonSchema, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return (schema.required ?? []).every((key) => key in value);
}

function children(schemas: readonly JsonSchema[], step: (schema: JsonSchema) => unknown): JsonSchema[] {
  return schemas.flatMap((schema) => {
    const next = step(schema);
    return typeof next === 'object' && next !== null && !Array.isArray(next) ? alternatives(next as JsonSchema) : [];
  });
}

function alternatives(schema: JsonSchema): JsonSchema[] {
  const options = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].filter((s): s is JsonSchema => typeof s === 'object');
  return [schema, ...options.flatMap(alternatives)];
}

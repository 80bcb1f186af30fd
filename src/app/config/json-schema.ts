/** The JSON Schema of the config, walked beside a value of it: which branch of a union is meant, what it knows. */
import type { z } from 'zod';

export type JsonSchema = z.core.JSONSchema.JSONSchema;

/** The branches of a union, those of unions within it included; a schema that is none is its own branch. */
export function branches(schema: JsonSchema): JsonSchema[] {
  const options = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].filter(isSchema);
  return options.length === 0 ? [schema] : options.flatMap(branches);
}

/** What the schemas say of a key of a mapping, or of an element of a list; nothing for what they do not know. */
export function childSchemas(schemas: readonly JsonSchema[], part: PropertyKey): JsonSchema[] {
  return schemas
    .map((schema) => {
      if (typeof part === 'number') return schema.items;
      const properties = schema.properties ?? {};
      return Object.hasOwn(properties, part) ? properties[String(part)] : schema.additionalProperties;
    })
    .filter(isSchema);
}

/** Whether `value` has all that this branch requires, and in the fields that tell branches apart what it wants there. */
function fits(schema: JsonSchema, value: unknown): boolean {
  if (!isMapping(value)) return true;
  if (!(schema.required ?? []).every((key) => Object.hasOwn(value, key))) return false;
  return Object.entries(schema.properties ?? {}).every(([key, child]) => {
    if (!isSchema(child) || !Object.hasOwn(value, key)) return true;
    if (child.const !== undefined) return value[key] === child.const;
    return child.enum === undefined || child.enum.some((allowed) => allowed === value[key]);
  });
}

/** The branches that a value is of, or all of them when it is of none. */
export function branchesFor(schema: JsonSchema, value: unknown): JsonSchema[] {
  const all = branches(schema);
  const fitting = all.filter((branch) => fits(branch, value));
  return fitting.length === 0 ? all : fitting;
}

export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSchema(value: unknown): value is JsonSchema {
  return isMapping(value);
}

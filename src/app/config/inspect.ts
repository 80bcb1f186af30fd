/** Views of a parsed config for people: without its secrets, and what of it this version does not act on. */

import { redactAll, redactBody, redactCommand, redactUrl } from '../../privacy/redact-config.ts';
import { formatPath } from './explain.ts';
import { branches, childSchemas, fits, isMapping, type JsonSchema } from './json-schema.ts';
import { configJsonSchema } from './parse.ts';
import type { Config } from './schema.ts';

/** The config with every secret replaced; of a URL only the credentials go, of a request body what sounds like one. */
export function redactConfig(config: Config): unknown {
  return redact(config, [configJsonSchema()]);
}

function redact(value: unknown, schemas: readonly JsonSchema[]): unknown {
  const marks = new Set(schemas.map((schema) => schema['secret']));
  if (marks.has('all')) return redactAll(value);
  if (marks.has('body')) return redactBody(value);
  if (marks.has('command')) return redactCommand(value);
  if (marks.has('url')) return typeof value === 'string' ? redactUrl(value) : redactAll(value);
  if (Array.isArray(value)) return value.map((item, index) => redact(item, descend(schemas, index)));
  if (!isMapping(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, redact(child, descend(schemas, key))]),
  );
}

/** The fields of the config that are part of the contract but change nothing in this version. */
export function inactiveFields(config: Config): string[] {
  const found: string[] = [];
  const visit = (value: unknown, schemas: readonly JsonSchema[], path: readonly PropertyKey[]): void => {
    if (value === undefined) return;
    if (schemas.some((schema) => schema['inactive'] === true && fits(schema, value))) {
      found.push(formatPath(path));
    } else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item, descend(schemas, index), [...path, index]);
    } else if (isMapping(value)) {
      for (const [key, child] of Object.entries(value)) visit(child, descend(schemas, key), [...path, key]);
    }
  };
  visit(config, [configJsonSchema()], []);
  return found;
}

/** Marks may stand on a union and on its branches, so both are kept. */
function descend(schemas: readonly JsonSchema[], part: PropertyKey): JsonSchema[] {
  return childSchemas(schemas.flatMap(branches), part).flatMap((child) => [child, ...branches(child)]);
}

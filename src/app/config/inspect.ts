/** A parsed config for people: without its secrets. */
import { redactAll, redactBody, redactCommand, redactUrl } from '../../privacy/redact-config.ts';
import { branches, childSchemas, isMapping, type JsonSchema } from './json-schema.ts';
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

/** Marks may stand on a union and on its branches, so both are kept. */
function descend(schemas: readonly JsonSchema[], part: PropertyKey): JsonSchema[] {
  return childSchemas(schemas.flatMap(branches), part).flatMap((child) => [child, ...branches(child)]);
}

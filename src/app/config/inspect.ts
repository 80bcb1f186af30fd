/** Shows a parsed config without its secrets, and warns about settings that were probably forgotten. */
import { isMapping } from '../../core/text/json.ts';
import { branches, childSchemas, type JsonSchema } from './explain.ts';
import { configJsonSchema } from './parse.ts';
import type { Config } from './schema.ts';

const REDACTED = '[redacted]';
/** Text shown instead of a secret in a URL, where brackets would be escaped. */
const REDACTED_IN_URL = 'redacted';

/** Connection string parameters that are not secret, and that users need to see. */
const harmlessParameters: ReadonlySet<string> = new Set(['sslmode', 'application_name', 'connect_timeout']);

const placeholder = /\{\{[^{}]*\}\}/g;

const secretName = /pass|pwd|secret|token|key|auth|cred|bearer|signature/i;

function redactAll(value: unknown): unknown {
  return mapScalars(value, () => REDACTED);
}

/**
 * Returns a URL without its query values, its fragment, and any user info that could be a credential. Placeholders such
 * as `{{text}}` are kept. Completely redacts a value that is not a URL, because the value may be a password that
 * contains a slash.
 */
function redactUrl(text: string): string {
  if (['embedded', 'environment'].includes(text)) return text;
  const placeholders: string[] = [];
  const plain = text.replaceAll(placeholder, (found) => `recalldplaceholder${placeholders.push(found) - 1}x`);
  const restore = (redacted: string): string =>
    redacted.replaceAll(/recalldplaceholder(\d+)x/g, (_, index: string) => placeholders[Number(index)] ?? '');
  if (!URL.canParse(plain) || !/^[a-z][a-z+]*:\/\//i.test(plain)) return REDACTED;
  const url = new URL(plain);
  const before = url.href;
  // Hides the user name in a web address, because it may be a token, but not the user name in a database URL.
  if (url.username !== '' && /^https?:$/.test(url.protocol)) url.username = REDACTED_IN_URL;
  if (url.password !== '') url.password = REDACTED_IN_URL;
  if (url.hash !== '') url.hash = REDACTED_IN_URL;
  for (const name of new Set(url.searchParams.keys())) {
    const hasConstant = url.searchParams.getAll(name).some((value) => isConstant(restore(value)));
    if (hasConstant && !harmlessParameters.has(name)) url.searchParams.set(name, REDACTED_IN_URL);
  }
  return url.href === before ? text : restore(url.href);
}

function redactCommand(value: unknown): unknown {
  if (!Array.isArray(value)) return redactAll(value);
  return value.map((part: unknown, index) => (index === 0 ? part : redactAll(part)));
}

/** In a request body, redacts each field whose name suggests a secret, such as `api_key`. */
export function redactBody(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redactBody);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [
      name,
      secretName.test(name)
        ? mapScalars(child, (scalar) => (isConstant(scalar) ? REDACTED : scalar))
        : redactBody(child),
    ]),
  );
}

/** True if the text contains more than placeholders. */
function isConstant(scalar: string | number): boolean {
  return String(scalar).replaceAll(placeholder, '') !== '';
}

function mapScalars(value: unknown, replace: (scalar: string | number) => string | number): unknown {
  if (typeof value === 'string' || typeof value === 'number') return replace(value);
  if (Array.isArray(value)) return value.map((item) => mapScalars(item, replace));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, mapScalars(child, replace)]));
}

/**
 * Replaces every secret. In a URL, only credentials are replaced; in a request body, only fields whose names suggest a
 * secret are replaced.
 */
export function redactConfig(config: Config): unknown {
  return redact(config, [configJsonSchema()]);
}

/** Returns warnings about settings that are valid but probably unintended. */
export function configWarnings({ pipelines, alerts, notify }: Config): string[] {
  const alertsFire = notify.length > 0 || pipelines.some(({ checks }) => checks.length > 0);
  return [
    ...(pipelines.length === 0
      ? [
          'The config has no pipelines, so nothing is monitored; add a pipeline under `pipelines`, or run `recalld init URL`.',
        ]
      : []),
    ...(alertsFire && alerts.console_base_url === null
      ? [
          'alerts.console_base_url is not set: alerts and notifications do not link to the console; set it to the URL that users open.',
        ]
      : []),
  ];
}

function redact(value: unknown, schemas: readonly JsonSchema[]): unknown {
  const marks = new Set(schemas.map((schema) => schema['secret']));
  if (marks.has('all')) return redactAll(value);
  if (marks.has('body')) return redactBody(value);
  if (marks.has('command')) return redactCommand(value);
  if (marks.has('url')) return typeof value === 'string' ? redactUrl(value) : redactAll(value);
  if (Array.isArray(value)) return value.map((item, index) => redact(item, descend(schemas, index)));
  if (!isMapping(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, redact(child, descend(schemas, key))]));
}

/**
 * Returns the schemas of a child value. Includes unions as well as their branches, because either may be marked as
 * secret.
 */
function descend(schemas: readonly JsonSchema[], part: PropertyKey): JsonSchema[] {
  return childSchemas(schemas.flatMap(branches), part).flatMap((child) => [child, ...branches(child)]);
}

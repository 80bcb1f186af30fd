/**
 * Templates for a retriever's request: text with `{{text}}`, `{{k}}` and `{{tags.NAME}}`. Templates are parsed once, so
 * that inserted values, such as query texts, are never read as templates.
 */
import { RecalldError } from '../../core/errors.ts';
import type { RetrieverRequest } from './retriever.ts';

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** Returns the value of one placeholder for a request; null if the query has no such tag. */
type Placeholder = (request: RetrieverRequest) => string | number | null;

/** A literal text or a placeholder in a template. */
type TemplatePart = string | Placeholder;

/**
 * Splits `template` at its placeholders. `field` is the template's path in the config, for errors.
 *
 * @throws RecalldError `config_invalid` for `{{...}}` that is not a placeholder.
 */
export function parseTemplate(template: string, field: string): readonly TemplatePart[] {
  // Splitting at a pattern with one group returns literals at even positions and placeholder names at odd positions.
  return template
    .split(/\{\{(.*?)\}\}/s)
    .map((piece, index) => (index % 2 === 0 ? piece : placeholderOf(piece, field)))
    .filter((part) => part !== '');
}

function placeholderOf(source: string, field: string): Placeholder {
  const name = source.trim();
  if (name === 'text') return (request) => request.text;
  if (name === 'k') return (request) => request.k;
  const tag = /^tags\.(.+)$/s.exec(name)?.[1];
  if (tag !== undefined) {
    return ({ tags }) => (Object.hasOwn(tags, tag) ? (tags[tag] ?? null) : null);
  }
  throw new RecalldError(
    'config_invalid',
    `${field}: {{${source}}} is not a placeholder; use {{text}}, {{k}} or {{tags.NAME}}.`,
  );
}

/** True if a template, or a string anywhere in a JSON value, contains `{{text}}`. */
function holdsText(value: JsonValue): boolean {
  if (typeof value === 'string') return /\{\{\s*text\s*\}\}/.test(value);
  return (
    typeof value === 'object' && value !== null && Object.values(value).some((inner: JsonValue) => holdsText(inner))
  );
}

/** Replaces each placeholder with its value, to which `encode` is applied. A missing tag becomes an empty string. */
export function renderText(
  parts: readonly TemplatePart[],
  request: RetrieverRequest,
  encode: (value: string) => string,
): string {
  return parts.map((part) => (typeof part === 'string' ? part : encode(String(part(request) ?? '')))).join('');
}

/**
 * Compiles a JSON value with placeholders in its strings, at any depth. A string that consists of one placeholder keeps
 * the type of its value: `"{{k}}"` becomes a number, and a missing tag becomes null. Keys are literal.
 *
 * @throws RecalldError `config_invalid` for an unknown placeholder, or a placeholder in a key.
 */
export function compileValue(value: JsonValue, field: string): (request: RetrieverRequest) => JsonValue {
  if (typeof value === 'string') return compileString(value, field);
  if (value === null || typeof value !== 'object') return () => value;
  if (isList(value)) {
    const items = value.map((item, index) => compileValue(item, `${field}[${index}]`));
    return (request) => items.map((item) => item(request));
  }
  const entries = Object.entries(value).map(([key, item]) => {
    if (key.includes('{{')) {
      throw new RecalldError(
        'config_invalid',
        `${field}: the key "${key}" contains a placeholder; placeholders are allowed only in values.`,
      );
    }
    return [key, compileValue(item, `${field}.${key}`)] as const;
  });
  return (request) => Object.fromEntries(entries.map(([key, item]) => [key, item(request)]));
}

function compileString(value: string, field: string): (request: RetrieverRequest) => JsonValue {
  const parts = parseTemplate(value, field);
  const [only] = parts;
  if (parts.length === 1 && typeof only === 'function') return only;
  return (request) => renderText(parts, request, (text) => text);
}

// If Array.isArray returns false, TypeScript does not exclude readonly arrays from the type of the value.
function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/**
 * Compiles the templates of a filter. An empty value, for example from a missing tag, is omitted, so the query is not
 * filtered by this field.
 *
 * @param field path in the config, for errors
 * @throws RecalldError `config_invalid` for an unknown placeholder
 */
export function compileFilter(filter: Readonly<Record<string, string>>, field: string) {
  const entries = Object.entries(filter).map(
    ([name, template]) => [name, parseTemplate(template, `${field}.${name}`)] as const,
  );
  return (request: RetrieverRequest): Readonly<Record<string, string>> =>
    Object.fromEntries(
      entries
        .map(([name, parts]) => [name, renderText(parts, request, (text) => text)] as const)
        .filter(([, value]) => value !== ''),
    );
}

/** Rejects a request that would be the same for every query. @throws RecalldError config_invalid */
export function refuseWithoutText(templates: readonly JsonValue[], field: string, example: string): void {
  if (templates.some(holdsText)) return;
  throw new RecalldError(
    'config_invalid',
    `${field}: no part of the request contains {{text}}, so every request would be the same; put {{text}} where the query text belongs, such as ${example}.`,
  );
}

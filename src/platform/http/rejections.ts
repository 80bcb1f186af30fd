/** Explains why a value does not match its schema: field path, expected type and actual type, but never the value. */
import { z } from 'zod';
import type { Rejection, RejectionCode } from '../../core/errors.ts';
import { pathText, valueAt } from '../../core/text/json.ts';
import { closest } from '../../core/text/spelling.ts';

type Issue = z.core.$ZodIssue;

/**
 * Returns the code and the message of the first problem. An unknown field is reported before a missing field, because
 * it is probably a misspelling of the missing field.
 *
 * @param whole name of the value, such as "The item"
 */
export function rejectionOf(issues: readonly Issue[], schema: z.ZodType, value: unknown, whole: string): Rejection {
  const [first] = issues;
  if (first === undefined) return { code: 'invalid_field', message: `${whole} is not valid.` };
  const isMissing = first.path.length > 0 && valueAt(value, first.path) === undefined;
  const issue = (isMissing ? issues.find(({ code }) => code === 'unrecognized_keys') : undefined) ?? first;
  const field = issue.path.length === 0 ? whole : fieldText(issue.path);
  if (issue.code === 'unrecognized_keys') return unknownField(issue.path, issue.keys, namesAt(schema, issue.path));
  const actual = actualText(valueAt(value, issue.path));
  if (issue.code === 'custom' && issue.params?.['rejection'] !== undefined)
    return { code: issue.params['rejection'] as RejectionCode, message: `${field} ${issue.message}.` };
  if (actual === null) return { code: 'invalid_field', message: `${field} is missing; it ${expectedText(issue)}.` };
  const isOfType = issue.code === 'too_big' || issue.code === 'too_small' || issue.code === 'custom';
  const got = isOfType ? '' : `, not ${actual}`;
  return { code: 'invalid_field', message: `${field} ${expectedText(issue)}${got}.` };
}

function unknownField(path: Issue['path'], keys: readonly string[], names: readonly string[]): Rejection {
  const known = keys.slice(0, 3).map((key) => {
    const meant = closest(key.slice(0, MAX_NAME), names);
    return `${fieldText([...path, key])}${meant === null ? '' : ` (did you mean ${meant}?)`}`;
  });
  const more = keys.length > known.length ? ` and ${keys.length - known.length} more` : '';
  const problem = keys.length === 1 ? 'is not a known field' : 'are unknown fields';
  return { code: 'unknown_field', message: `${known.join(', ')}${more} ${problem}; see /openapi.json.` };
}

const MAX_NAME = 100;

/** Returns the field names of the object at a path; an empty list if the schema does not define them. */
function namesAt(schema: z.ZodType, path: Issue['path']): readonly string[] {
  let at: unknown = plainSchema(schema);
  for (const part of path) {
    if (at instanceof z.ZodObject) at = plainSchema(at.shape[String(part)]);
    else at = at instanceof z.ZodArray ? plainSchema(at.element) : (at as JsonSchema | undefined)?.items;
  }
  return Object.keys((at instanceof z.ZodObject ? at.shape : (at as JsonSchema | undefined)?.properties) ?? {});
}

/** JSON Schema of a hand-written schema. */
interface JsonSchema {
  readonly items?: JsonSchema;
  readonly properties?: object;
}

/** Unwraps optional and nullable schemas. A hand-written schema has its JSON Schema under `wire`. */
function plainSchema(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return plainSchema(schema.unwrap());
  return schema instanceof z.ZodCustom ? (schema.meta()?.['wire'] ?? {}) : schema;
}

/** Formats a path whose names may come from a request. */
function fieldText(path: Issue['path']): string {
  return pathText(path.map((part) => (typeof part === 'number' ? part : nameText(String(part)))));
}

function nameText(name: string): string {
  return name.slice(0, MAX_NAME).replaceAll(/[\p{Cc}\p{Cs}]/gu, '?');
}

/** Describes the type of a value in words; null for a missing value. */
function actualText(value: unknown): string | null {
  if (value === undefined) return null;
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number') return Number.isInteger(value) ? 'a whole number' : 'a decimal number';
  return typeTexts[typeof value] ?? typeof value;
}

const typeTexts: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

/**
 * Describes what is expected, in words that follow the field name. For a custom check in one of recalld's schemas, the
 * text comes from the schema.
 */
function expectedText(issue: Issue): string {
  if (issue.message.startsWith('must ')) return issue.message;
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${typeTexts[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_union': {
      const kinds = issue.errors.flatMap(([first]) => (first?.code === 'invalid_type' ? [first.expected] : []));
      const texts = [...new Set(kinds)].map((kind) => typeTexts[kind] ?? kind);
      return texts.length === 0 ? 'is not valid' : `must be ${texts.join(' or ')}`;
    }
    case 'too_big':
      return issue.origin === 'array'
        ? `has more than ${issue.maximum} items`
        : `must be ${limitText(issue, 'at most')}`;
    case 'too_small':
      return issue.origin === 'array'
        ? `has fewer than ${issue.minimum} items`
        : `must be ${limitText(issue, 'at least')}`;
    case 'custom':
      return issue.message;
    case 'invalid_format':
    case 'invalid_key':
    case 'invalid_element':
    case 'not_multiple_of':
    case 'unrecognized_keys':
      return 'is not valid; see /openapi.json';
  }
}

function limitText(issue: z.core.$ZodIssueTooBig | z.core.$ZodIssueTooSmall, bound: 'at most' | 'at least'): string {
  const limit = issue.code === 'too_big' ? issue.maximum : issue.minimum;
  if (issue.inclusive !== false) return `${bound} ${limit}`;
  return `${bound === 'at most' ? 'less' : 'more'} than ${limit}`;
}

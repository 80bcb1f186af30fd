/** Converts zod issues in a config into sentences that name the field and the fix. */
import type { z } from 'zod';
import { isMapping, pathText, valueAt } from '../../core/text/json.ts';
import { closest } from '../../core/text/spelling.ts';

export type JsonSchema = z.core.JSONSchema.JSONSchema;

/** Returns the branches of a union and of its nested unions; for any other schema, only the schema itself. */
export function branches(schema: JsonSchema): JsonSchema[] {
  const options = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].filter(isSchema);
  return options.length === 0 ? [schema] : options.flatMap(branches);
}

/** Returns the schemas for a mapping key or a list element; an empty list for an unknown key. */
export function childSchemas(schemas: readonly JsonSchema[], part: PropertyKey): JsonSchema[] {
  return schemas
    .map((schema) => {
      if (typeof part === 'number') return schema.items;
      const properties = schema.properties ?? {};
      return Object.hasOwn(properties, part) ? properties[String(part)] : schema.additionalProperties;
    })
    .filter(isSchema);
}

/** True if `value` has all required fields of this branch, and its discriminating fields have the branch's values. */
function fits(schema: JsonSchema, value: unknown): boolean {
  if (!isMapping(value)) return true;
  if (schema.type === 'null') return false;
  if (!(schema.required ?? []).every((key) => Object.hasOwn(value, key))) return false;
  return Object.entries(schema.properties ?? {}).every(([key, child]) => {
    if (!isSchema(child) || !Object.hasOwn(value, key)) return true;
    if (child.const !== undefined) return value[key] === child.const;
    return child.enum === undefined || child.enum.some((allowed) => allowed === value[key]);
  });
}

/** Returns the branches that match a value, or all branches if none matches. */
function branchesFor(schema: JsonSchema, value: unknown): JsonSchema[] {
  const all = branches(schema);
  const fitting = all.filter((branch) => fits(branch, value));
  return fitting.length === 0 ? all : fitting;
}

function isSchema(value: unknown): value is JsonSchema {
  return isMapping(value);
}

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** The schema, the validated value, and the environment variables applied to the value. */
interface Checked {
  readonly schema: JsonSchema;
  readonly value: unknown;
  /** Variable names, keyed by path, as formatted by `formatPath`. */
  readonly variables: ReadonlyMap<string, string>;
}

interface Problem {
  readonly field: string;
  /** Text that follows the field name. */
  readonly text: string;
  /** The suggested field for an unknown key. */
  readonly meant?: string;
}

/**
 * Returns one sentence per problem, such as ``pipelines[0].retriever.timout_ms is not a known key; did you mean
 * `timeout_ms`?``. No sentence repeats a value that could be a secret.
 */
export function explainIssues(issues: readonly Issue[], checked: Checked): string[] {
  const problems = issues.flatMap((issue) => explainIssue(issue, [], checked));
  const meant = new Set(problems.map((problem) => problem.meant));
  const sentences = problems
    // Reports a misspelled key once, instead of as both an unknown and a missing key.
    .filter(({ field, text }) => !(meant.has(field) && text.startsWith('is missing')))
    .map(({ field, text }) => {
      const variable = checked.variables.get(field);
      const sentence = `${field}${variable === undefined ? '' : ` (set by ${variable})`} ${text}`;
      return /[.?]$/.test(sentence) ? sentence : `${sentence}.`;
    });
  return [...new Set(sentences)];
}

function explainIssue(issue: Issue, parent: Path, checked: Checked): Problem[] {
  const path = [...parent, ...issue.path];
  const field = formatPath(path);
  const say = (text: string): Problem[] => [{ field, text }];
  const value = valueAt(checked.value, path);
  const must = (rule: string): Problem[] => {
    if (value === undefined) return say(`is missing; it must be ${rule}`);
    if (value === null) return say(`is empty; it must be ${rule}`);
    return say(`must be ${rule}`);
  };
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => explainUnknownKey(key, path, checked));
    case 'invalid_type': {
      const rule = typeNames[issue.expected] ?? `a ${issue.expected}`;
      // A message that starts with "must" already states the rule; advice to add quotes would be wrong.
      if (issue.message.startsWith('must ')) return must(issue.message.slice('must be '.length));
      const isPlain = typeof value === 'number' || typeof value === 'boolean';
      return must(issue.expected === 'string' && isPlain ? `${rule}; put it in quotes` : rule);
    }
    case 'invalid_value':
      return must(explainChoice(issue.values, value));
    case 'invalid_union':
      return explainUnion(issue, path, checked);
    case 'too_small':
      if (issue.origin === 'string' || issue.origin === 'array') {
        if (Number(issue.minimum) <= 1) return say('must not be empty');
        const what = issue.origin === 'string' ? 'be at least %s characters long' : 'have at least %s elements';
        return say(`must ${what.replace('%s', String(issue.minimum))}`);
      }
      return say(`must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`);
    case 'too_big':
      if (issue.origin === 'array') return say(`must have at most ${issue.maximum} elements`);
      if (issue.origin === 'string') return say(`must be at most ${issue.maximum} characters long`);
      return say(`must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}`);
    case 'invalid_key':
      return say(issue.issues[0]?.message ?? issue.message);
    case 'custom':
    case 'invalid_format':
    case 'invalid_element':
    case 'not_multiple_of':
    default:
      return say(issue.message);
  }
}

const typeNames: Readonly<Record<string, string>> = {
  int: 'a whole number',
  string: 'text',
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
};

function explainUnknownKey(key: string, path: Path, checked: Checked): Problem {
  const field = formatPath([...path, key]);
  const known = keysAt(checked, path);
  const guess = closest(key, known);
  if (guess === null) return { field, text: `is not a known key; known keys here are ${known.join(', ')}` };
  return {
    field,
    text: `is not a known key; did you mean \`${guess}\`?`,
    meant: formatPath([...path, guess]),
  };
}

function explainChoice(choices: readonly unknown[], value: unknown): string {
  const names = choices.map((choice) => JSON.stringify(choice));
  const last = names.at(-1) ?? '';
  const rule = names.length === 1 ? last : `${names.slice(0, -1).join(', ')} or ${last}`;
  const words = choices.filter((choice) => typeof choice === 'string');
  const guess = typeof value === 'string' && words.length > 1 ? closest(value, words) : null;
  return guess === null ? rule : `${rule}; did you mean "${guess}"?`;
}

function explainUnion(issue: z.core.$ZodIssueInvalidUnion, path: Path, checked: Checked): Problem[] {
  const field = formatPath(path);
  const value = valueAt(checked.value, path);
  const options = 'options' in issue && Array.isArray(issue.options) ? (issue.options as unknown[]) : null;
  if (options !== null) {
    const rule = explainChoice(options, value);
    if (value !== undefined) return [{ field, text: `must be ${rule}` }];
    const owner = valueAt(checked.value, path.slice(0, -1));
    const slip = closest(String(path.at(-1)), isMapping(owner) ? Object.keys(owner) : []);
    if (slip !== null) return [explainUnknownKey(slip, path.slice(0, -1), checked)];
    return [{ field, text: `is missing; it must be ${rule}` }];
  }
  const forms = schemasAt(checked, path.slice(0, -1))
    .flatMap((schema) => childSchemas([schema], path.at(-1) ?? ''))
    .flatMap(branches);
  if (forms.length !== issue.errors.length)
    return [{ field, text: 'must be JSON: a string, a finite number, true, false, null, a list or a mapping' }];
  if (!isMapping(value)) return [{ field, text: 'must be a mapping' }];
  const scored = forms.map((form, index) => ({
    score: likeness(form, value),
    issues: issue.errors[index] ?? [],
    problems: problemCount(issue.errors[index] ?? []),
  }));
  const best = scored.reduce((a, b) => (b.score > a.score || (b.score === a.score && b.problems < a.problems) ? b : a));
  if (best.score === 0) {
    const heads = [...new Set(forms.map((form) => (form.required ?? []).map((key) => `\`${key}\``).join(' and ')))];
    return [
      {
        field,
        text: `lacks the keys that determine its kind; add ${heads.slice(0, -1).join(', ')} or ${heads.at(-1) ?? ''}`,
      },
    ];
  }
  return best.issues.flatMap((inner) => explainIssue(inner, path, checked));
}

function problemCount(issues: readonly Issue[]): number {
  return issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0);
}

/** Counts the keys of `value` that `form` requires, including misspelled keys. */
function likeness(form: JsonSchema, value: Readonly<Record<string, unknown>>): number {
  const required = form.required ?? [];
  return Object.keys(value).filter((key) => closest(key, required) !== null).length;
}

/** Formats a path as `pipelines[0].retriever.url`; an empty path means the whole config. */
export function formatPath(path: Path): string {
  return pathText(path) || 'the config';
}

function schemasAt({ schema, value }: Checked, path: Path): JsonSchema[] {
  let schemas = branchesFor(schema, value);
  for (const [index, part] of path.entries()) {
    const child = valueAt(value, path.slice(0, index + 1));
    schemas = childSchemas(schemas, part).flatMap((next) => branchesFor(next, child));
  }
  return schemas;
}

function keysAt(checked: Checked, path: Path): string[] {
  return [...new Set(schemasAt(checked, path).flatMap((schema) => Object.keys(schema.properties ?? {})))];
}

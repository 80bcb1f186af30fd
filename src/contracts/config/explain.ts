/** Turns what zod found wrong with a config into sentences that name the field and the way out. */
import type { z } from 'zod';
import { closest } from '../../core/spelling.ts';

type Issue = z.core.$ZodIssue;
type JsonSchema = z.core.JSONSchema.JSONSchema;

/** One sentence per problem, such as ``pipelines[0].retriever.timout_ms is not a known key; did you mean `timeout_ms`?`` */
export function explainIssues(issues: readonly Issue[], schema: JsonSchema): string[] {
  return issues.flatMap((issue) => explainIssue(issue, [], schema));
}

function explainIssue(issue: Issue, parent: readonly PropertyKey[], schema: JsonSchema): string[] {
  const path = [...parent, ...issue.path];
  const field = formatPath(path);
  switch (issue.code) {
    case 'unrecognized_keys': {
      const known = keysAt(schema, path);
      return issue.keys.map((key) => {
        const guess = closest(key, known);
        const hint = guess === null ? `known keys here are ${known.join(', ')}` : `did you mean \`${guess}\`?`;
        return `${formatPath([...path, key])} is not a known key; ${hint}`;
      });
    }
    case 'invalid_type':
      return [`${field} ${issue.input === undefined && isMissing(issue) ? 'is missing; it' : ''} must be ${article(issue.expected)}`.replace('  ', ' ')];
    case 'invalid_value':
      return [`${field} must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`];
    case 'invalid_union':
      return explainUnion(issue, path, schema);
    case 'too_small':
      return [`${field} must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${unitOf(issue.origin)}`];
    case 'too_big':
      return [`${field} must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${unitOf(issue.origin)}`];
    case 'custom':
    case 'invalid_format':
    case 'invalid_element':
    case 'invalid_key':
    case 'not_multiple_of':
      return [`${field} ${issue.message}`];
    default:
      return [`${field}: ${(issue as Issue).message}`];
  }
}

function explainUnion(issue: Extract<Issue, { code: 'invalid_union' }>, path: readonly PropertyKey[], schema: JsonSchema): string[] {
  const discriminated = issue as { discriminator?: string; options?: readonly unknown[] };
  if (discriminated.discriminator !== undefined && discriminated.options !== undefined) {
    return [`${formatPath(path)} must be ${discriminated.options.map((option) => JSON.stringify(option)).join(' or ')}`];
  }
  // The branch with the fewest problems is the one that was meant.
  const [best] = [...issue.errors].sort((a, b) => problems(a) - problems(b));
  if (best === undefined || best.length === 0) return [`${formatPath(path)} has none of the forms that are allowed here`];
  return best.flatMap((inner) => explainIssue(inner, path, schema));
}

function problems(issues: readonly Issue[]): number {
  return issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0);
}

function isMissing(issue: Issue): boolean {
  return issue.message.endsWith('received undefined');
}

function article(expected: string): string {
  const names: Record<string, string> = { int: 'a whole number', object: 'a mapping', record: 'a mapping', array: 'a list' };
  return names[expected] ?? `a ${expected}`;
}

function unitOf(origin: string): string {
  if (origin === 'string') return ' characters long';
  return origin === 'array' ? ' items long' : '';
}

/** `pipelines[0].retriever.url`; the whole file when the path is empty. */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) text += typeof part === 'number' ? `[${part}]` : `${text === '' ? '' : '.'}${String(part)}`;
  return text === '' ? 'the config' : text;
}

function keysAt(schema: JsonSchema, path: readonly PropertyKey[]): string[] {
  let nodes: JsonSchema[] = branches(schema);
  for (const part of path) {
    nodes = nodes
      .map((node) => (typeof part === 'number' ? node.items : node.properties?.[String(part)]))
      .filter((node): node is JsonSchema => typeof node === 'object' && !Array.isArray(node))
      .flatMap(branches);
  }
  return [...new Set(nodes.flatMap((node) => Object.keys(node.properties ?? {})))];
}

function branches(schema: JsonSchema): JsonSchema[] {
  const alternatives = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].filter((s): s is JsonSchema => typeof s === 'object');
  return alternatives.length === 0 ? [schema] : alternatives.flatMap(branches);
}

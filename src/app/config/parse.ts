/** Parses recalld.yaml and the environment into a config. Precedence: environment, file, defaults. */

import { type Document, isMap, isScalar, LineCounter, parseDocument, parse as parseYaml, visit, YAMLError } from 'yaml';
import { z } from 'zod';
import { RecalldError } from '../../core/errors.ts';
import { isMapping } from '../../core/text/json.ts';
import { branches, explainIssues, formatPath, type JsonSchema } from './explain.ts';
import { type Config, configSchema } from './schema.ts';

type Tree = Record<string, unknown>;

/** Maximum nesting depth of a config; only a recursive alias exceeds it. */
const MAX_DEPTH = 100;

let jsonSchema: JsonSchema | null = null;

/** Returns the JSON Schema of the config file, with `secret` marks. Generated once. */
export function configJsonSchema(): JsonSchema {
  jsonSchema ??= z.toJSONSchema(configSchema, { io: 'input' });
  return jsonSchema;
}

/**
 * @param text content of the file; null if there is no file
 * @param source name of the file in messages
 * @param readSecret reads the file of a `..._FILE` variable
 * @throws RecalldError config_invalid with all problems, one sentence each
 */
export function parseConfig(
  text: string | null,
  source: string,
  env: Environment,
  readSecret: (path: string) => string,
): Config {
  const tree = text === null ? {} : readYaml(text, source);
  const value = replaceVariables(tree, env, source);
  const variables = applyEnvironment(value, env, readSecret);
  const result = configSchema.safeParse(value);
  if (result.success) return result.data;
  const problems = explainIssues(result.error.issues, { schema: configJsonSchema(), value, variables });
  throw new RecalldError(
    'config_invalid',
    problems.length === 1
      ? `${source}: ${problems.join('')}`
      : `${source} has ${problems.length} problems:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
  );
}

/** Quotes a bare `${VAR}`, whose closing brace would otherwise end a flow mapping. */
function quoteVariables(text: string): string {
  return text.replaceAll(/(:[ \t]+)(\$\{\w+\})(?=[ \t]*(?:[,}\]]|$|[ \t]#))/gm, '$1"$2"');
}

function readYaml(text: string, source: string): Tree {
  const lines = new LineCounter();
  const document = parseDocument(quoteVariables(text), { lineCounter: lines });
  refuseBarePlaceholders(document, lines, source);
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) {
    const line = problem.linePos?.[0].line;
    const what = problem.message.split('\n')[0]?.replace(/ at line.*$/, '') ?? '';
    throw notYaml(line === undefined ? source : `${source}:${line}`, yamlFixes[problem.code]?.(what) ?? what);
  }
  let tree: unknown;
  try {
    tree = document.toJS() ?? {};
  } catch (cause) {
    // The yaml package throws plain errors for aliases that have no anchor or are used too often.
    if (!(cause instanceof ReferenceError)) throw cause;
    const isUnknown = cause.message.startsWith('Unresolved alias');
    throw notYaml(source, isUnknown ? `${cause.message}; ${QUOTE_STARS}` : cause.message);
  }
  if (isMapping(tree)) return tree;
  throw new RecalldError('config_invalid', `${source} must be a YAML mapping such as \`pipelines: [...]\`.`);
}

const QUOTE_STARS = 'quote a value that begins with *, such as "*/5 * * * *"';

/** Fixes for common mistakes, keyed by error code of the YAML parser. */
const yamlFixes: Readonly<Record<string, ((what: string) => string) | undefined>> = {
  MULTIPLE_DOCS: () => 'it contains more than one document; keep only the first, and remove the `---` lines',
  BAD_ALIAS: () => QUOTE_STARS,
  TAB_AS_INDENT: (what) => `${what}; indent with spaces`,
};

/** Refuses `{{text}}` without quotes, which YAML parses as nested mappings. @throws RecalldError config_invalid */
function refuseBarePlaceholders(document: Document, lines: LineCounter, source: string): void {
  visit(document, {
    Pair(_, { key }) {
      if (!isMap(key)) return;
      const [first] = key.items;
      const name = isScalar(first?.key) ? String(first.key.value) : 'text';
      const { line } = lines.linePos(key.range?.[0] ?? 0);
      throw new RecalldError(
        'config_invalid',
        `${source}:${line}: {{${name}}} has no quotes, so YAML parses it as a mapping; write "{{${name}}}".`,
      );
    },
  });
}

function notYaml(place: string, what: string): RecalldError {
  return new RecalldError('config_invalid', `${place} is not valid YAML: ${what}.`);
}

function replaceVariables(tree: Tree, env: Environment, source: string): Tree {
  const replace = (node: unknown, path: readonly PropertyKey[]): unknown => {
    if (path.length > MAX_DEPTH) throw notYaml(source, 'an alias contains itself');
    if (typeof node === 'string') return replaceIn(node, path);
    if (Array.isArray(node)) return node.map((item, index) => replace(item, [...path, index]));
    return isMapping(node) ? replaceEach(node, path) : node;
  };
  const replaceEach = (mapping: Tree, path: readonly PropertyKey[]): Tree =>
    Object.fromEntries(Object.entries(mapping).map(([key, child]) => [key, replace(child, [...path, key])]));
  const replaceIn = (text: string, path: readonly PropertyKey[]): string =>
    text.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)(:?[-+?=][^}]*)?\}/g, (_, name: string, more?: string) => {
      const value = env[name];
      const refused = (why: string) =>
        new RecalldError('config_invalid', `${source}: ${formatPath(path)} uses \${${name}}, ${why}.`);
      if (more !== undefined) throw refused(`but default values are not supported; write \${${name}} alone`);
      if (value === undefined) throw refused('which is not set; set it in the environment');
      return value;
    });
  return replaceEach(tree, []);
}

type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = 'RECALLD_';

export interface EnvironmentVariable {
  readonly name: string;
  readonly path: readonly string[];
  /** True if `NAME_FILE` is supported. */
  readonly secret: boolean;
  /** JSON Schema types of the value. */
  readonly types: readonly string[];
}

/** Returns the variables that override scalars outside of lists, such as RECALLD_SERVER_PORT for `server.port`. */
export function environmentVariables(schema: JsonSchema): EnvironmentVariable[] {
  const found = new Map(leaves(schema, []).map((leaf) => [leaf.name, leaf]));
  return [...found.values()];
}

function leaves(node: JsonSchema, path: readonly string[]): EnvironmentVariable[] {
  const properties = branches(node).flatMap((branch) => Object.entries(branch.properties ?? {}));
  if (properties.length > 0) {
    return properties.flatMap(([key, child]) => (isMapping(child) ? leaves(child, [...path, key]) : []));
  }
  if (node.type === 'array') return [];
  const name = `${PREFIX}${path.join('_').toUpperCase()}`;
  const types = branches(node).flatMap(({ type }) => type ?? []);
  return [{ name, path, secret: node['secret'] !== undefined, types }];
}

/**
 * Applies the environment to `tree`.
 *
 * @param readSecret reads the file of a `..._FILE` variable; leading and trailing white space in the file is dropped
 * @returns the names of the applied variables, keyed by path, as formatted by `formatPath`
 * @throws RecalldError config_invalid if a variable and its `..._FILE` variable are both set
 */
function applyEnvironment(
  tree: Record<string, unknown>,
  env: Environment,
  readSecret: (path: string) => string,
): Map<string, string> {
  const applied = new Map<string, string>();
  // Generates the schema only if a variable is set, because that takes longer than reading a config, and most users set
  // no variables. On Windows, variable names are case-insensitive.
  if (!Object.keys(env).some((name) => name.toUpperCase().startsWith(PREFIX))) return applied;
  for (const { name, path, secret, types } of environmentVariables(configJsonSchema())) {
    const fileName = `${name}_FILE`;
    const file = secret ? env[fileName] : undefined;
    const direct = env[name];
    if (file !== undefined && direct !== undefined) {
      throw new RecalldError('config_invalid', `${name} and ${fileName} are both set; unset one of them.`);
    }
    const value = file === undefined ? direct : readSecret(file).trim();
    if (value === undefined || !setAt(tree, path, readAs(types, value))) continue;
    applied.set(formatPath(path), file === undefined ? name : fileName);
  }
  return applied;
}

/**
 * Converts a variable to the type of its field. The value of a string field is not parsed; values of other types are
 * parsed as YAML. Text that is not valid YAML stays a string, and validation then rejects it.
 */
function readAs(types: readonly string[], text: string): unknown {
  if (types.includes('string')) return text === 'null' && types.includes('null') ? null : text;
  try {
    return parseYaml(text) as unknown;
  } catch (error) {
    if (error instanceof YAMLError) return text;
    throw error;
  }
}

/**
 * Sets a value. Returns false if the path leads through a value that is not a mapping; validation reports that problem.
 */
function setAt(tree: Record<string, unknown>, path: readonly string[], value: unknown): boolean {
  const [key, ...rest] = path;
  if (key === undefined) return false;
  if (rest.length === 0) {
    tree[key] = value;
    return true;
  }
  const child = (tree[key] ??= {});
  return isMapping(child) && setAt(child, rest, value);
}

/** Text of recalld.yaml and the environment in, config out. Defaults < file < environment. */

import { type Document, isMap, isScalar, LineCounter, parseDocument, parse as parseYaml, visit, YAMLError } from 'yaml';
import { z } from 'zod';
import { RecalldError } from '../../core/errors.ts';
import { branches, explainIssues, formatPath, isMapping, type JsonSchema } from './explain.ts';
import { type Config, configSchema } from './schema.ts';

type Tree = Record<string, unknown>;

/** Far more than the config has; only an alias that holds itself gets there. */
const DEEPEST = 100;

let jsonSchema: JsonSchema | null = null;

/** JSON Schema of what a user may write, with our `secret` marks. Made once. */
export function configJsonSchema(): JsonSchema {
  jsonSchema ??= z.toJSONSchema(configSchema, { io: 'input' });
  return jsonSchema;
}

/**
 * Parses and checks a config.
 *
 * @param text content of the file, or null when there is none
 * @param source how messages name the file
 * @param env environment; `${VAR}` in any string of the file is replaced from it
 * @param readSecret reads the file that a `..._FILE` variable names
 * @throws RecalldError config_invalid with every problem, one sentence each
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

/** A lone `${VAR}` inside of braces would end the mapping there; nobody who writes one means that. */
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
  const tree = toTree(() => document.toJS() as unknown, source) ?? {};
  if (isMapping(tree)) return tree;
  throw new RecalldError('config_invalid', `${source} must be a YAML mapping such as \`pipelines: [...]\`.`);
}

const QUOTE_STARS = 'put a value that begins with * in quotes, such as "*/5 * * * *"';

/** What to do about the slips that are common, by the code of the parser. */
const yamlFixes: Readonly<Record<string, ((what: string) => string) | undefined>> = {
  MULTIPLE_DOCS: () => 'it holds more than one document; keep the first and remove the lines `---`',
  BAD_ALIAS: () => QUOTE_STARS,
  TAB_AS_INDENT: (what) => `${what}; indent with spaces`,
};

/** YAML reads `{{text}}` without quotes as a mapping within a mapping. @throws RecalldError config_invalid */
function refuseBarePlaceholders(document: Document, lines: LineCounter, source: string): void {
  visit(document, {
    Pair(_, { key }) {
      if (!isMap(key)) return;
      const [first] = key.items;
      const name = isScalar(first?.key) ? String(first.key.value) : 'text';
      const { line } = lines.linePos(key.range?.[0] ?? 0);
      throw new RecalldError(
        'config_invalid',
        `${source}:${line}: {{${name}}} stands without quotes, which YAML reads as a mapping; write "{{${name}}}".`,
      );
    },
  });
}

/** Aliases are resolved last, and yaml throws plain errors for those that have no anchor or too many uses. */
function toTree(resolve: () => unknown, source: string): unknown {
  try {
    return resolve();
  } catch (cause) {
    if (!(cause instanceof ReferenceError)) throw cause;
    const isUnknown = cause.message.startsWith('Unresolved alias');
    throw notYaml(source, isUnknown ? `${cause.message}; ${QUOTE_STARS}` : cause.message);
  }
}

function notYaml(place: string, what: string): RecalldError {
  return new RecalldError('config_invalid', `${place} is not valid YAML: ${what}.`);
}

function replaceVariables(tree: Tree, env: Environment, source: string): Tree {
  const replace = (node: unknown, path: readonly PropertyKey[]): unknown => {
    if (path.length > DEEPEST) throw notYaml(source, 'an alias holds itself');
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
      if (more !== undefined) throw refused('with a default as shells have it; write the name alone');
      if (value === undefined) throw refused('which is not set; set it in the environment');
      return value;
    });
  return replaceEach(tree, []);
}

/** The variables of the environment that override the config. */
type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = 'RECALLD_';

export interface EnvironmentVariable {
  readonly name: string;
  readonly path: readonly string[];
  /** Whether `NAME_FILE` is read too. */
  readonly secret: boolean;
  /** JSON Schema types that its value may have. */
  readonly types: readonly string[];
}

/** The variables that override the scalars of the config that stand outside of lists, `server.port` as RECALLD_SERVER_PORT. */
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
 * Writes what the environment sets into `tree`.
 *
 * @param readSecret reads the file that a `..._FILE` variable names; white space around its content is dropped
 * @returns the name of the variable by the path that it set, in the form of `formatPath`
 * @throws RecalldError config_invalid when a variable and its `..._FILE` are both set
 */
function applyEnvironment(
  tree: Record<string, unknown>,
  env: Environment,
  readSecret: (path: string) => string,
): Map<string, string> {
  const applied = new Map<string, string>();
  // To make the schema takes longer than to read a config, which is mostly a file alone.
  // On Windows names are found in whatever case they have.
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

/** Text stays as it is; numbers, booleans and null are read as YAML. What is no YAML stays text and fails by its type. */
function readAs(types: readonly string[], text: string): unknown {
  if (types.includes('string')) return text === 'null' && types.includes('null') ? null : text;
  try {
    return parseYaml(text) as unknown;
  } catch (error) {
    if (error instanceof YAMLError) return text;
    throw error;
  }
}

/** False, and nothing is written, where the file has something else than a mapping on the way: that is to be reported. */
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

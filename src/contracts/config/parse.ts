/** Text of recalld.yaml and environment in, config out. Defaults < file < environment. Reads no file itself. */
import { parseDocument, parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { RecalldError } from '../../core/errors.ts';
import { explainIssues, formatPath } from './explain.ts';
import { type Config, configSchema } from './schema.ts';

type JsonSchema = z.core.JSONSchema.JSONSchema;
type Environment = Readonly<Record<string, string | undefined>>;
type Tree = Record<string, unknown>;

/** JSON Schema of what a user may write, with our `secret` and `inactive` marks. */
export function configJsonSchema(): JsonSchema {
  return z.toJSONSchema(configSchema, { io: 'input' });
}

export interface EnvironmentVariable {
  readonly name: string;
  readonly path: readonly string[];
  readonly secret: boolean;
  readonly type: string | undefined;
}

/** The variables that override the scalars of the config that stand outside of lists, `server.port` as RECALLD_SERVER_PORT. */
export function environmentVariables(schema: JsonSchema = configJsonSchema()): EnvironmentVariable[] {
  const leaves = (node: JsonSchema, path: readonly string[]): EnvironmentVariable[] => {
    const objects = [node, ...(node.oneOf ?? [])].filter((n): n is JsonSchema => typeof n === 'object');
    const properties = objects.flatMap((n) => Object.entries(n.properties ?? {}));
    if (properties.length === 0) {
      if (path.length < 2) return [];
      return [{ name: `RECALLD_${path.join('_').toUpperCase()}`, path, secret: node['secret'] === true, type: typeof node.type === 'string' ? node.type : undefined }];
    }
    return properties.flatMap(([key, child]) => (typeof child === 'object' ? leaves(child, [...path, key]) : []));
  };
  const found = new Map(leaves(schema, []).map((leaf) => [leaf.name, leaf]));
  return [...found.values()];
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
export function parseConfig(text: string | null, source: string, env: Environment, readSecret: (path: string) => string): Config {
  const schema = configJsonSchema();
  const tree = text === null ? {} : readYaml(text, source);
  const filled = replaceVariables(tree, [], env, source) as Tree;
  applyEnvironment(filled, schema, env, readSecret);
  const result = configSchema.safeParse(filled);
  if (result.success) return result.data;
  const problems = explainIssues(result.error.issues, schema);
  throw new RecalldError('config_invalid', `${source}: ${problems.join('; ')}.`);
}

function readYaml(text: string, source: string): Tree {
  const document = parseDocument(text);
  const [problem] = document.errors;
  if (problem !== undefined) {
    const line = problem.linePos?.[0].line;
    const what = problem.message.split('\n')[0]?.replace(/ at line.*$/, '');
    throw new RecalldError('config_invalid', `${source}${line === undefined ? '' : `:${line}`} is not valid YAML: ${what}.`);
  }
  const tree: unknown = document.toJS() ?? {};
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) {
    throw new RecalldError('config_invalid', `${source} must be a YAML mapping such as \`pipelines: [...]\`.`);
  }
  return tree as Tree;
}

function replaceVariables(node: unknown, path: readonly PropertyKey[], env: Environment, source: string): unknown {
  if (typeof node === 'string') {
    return node.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
      const value = env[name];
      if (value === undefined) {
        throw new RecalldError('config_invalid', `${source}: ${formatPath(path)} uses \${${name}}, which is not set; set it in the environment.`);
      }
      return value;
    });
  }
  if (Array.isArray(node)) return node.map((item, index) => replaceVariables(item, [...path, index], env, source));
  if (typeof node === 'object' && node !== null) {
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, replaceVariables(value, [...path, key], env, source)]));
  }
  return node;
}

function applyEnvironment(tree: Tree, schema: JsonSchema, env: Environment, readSecret: (path: string) => string): void {
  for (const variable of environmentVariables(schema)) {
    const file = variable.secret ? env[`${variable.name}_FILE`] : undefined;
    const value = file === undefined ? env[variable.name] : readSecret(file).trim();
    if (value === undefined) continue;
    setAt(tree, variable.path, variable.type === 'string' ? value : (parseYaml(value) as unknown));
  }
}

function setAt(tree: Tree, path: readonly string[], value: unknown): void {
  const [key, ...rest] = path;
  if (key === undefined) return;
  if (rest.length === 0) {
    tree[key] = value;
    return;
  }
  const child = tree[key];
  const next: Tree = typeof child === 'object' && child !== null && !Array.isArray(child) ? (child as Tree) : {};
  tree[key] = next;
  setAt(next, rest, value);
}

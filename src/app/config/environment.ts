/** The variables of the environment that override the config. */
import { parse as parseYaml, YAMLError } from 'yaml';
import { RecalldError } from '../../errors.ts';
import { formatPath } from './explain.ts';
import { branches, isMapping, type JsonSchema } from './json-schema.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

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
  const name = `RECALLD_${path.join('_').toUpperCase()}`;
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
export function applyEnvironment(
  tree: Record<string, unknown>,
  schema: JsonSchema,
  env: Environment,
  readSecret: (path: string) => string,
): Map<string, string> {
  const applied = new Map<string, string>();
  for (const { name, path, secret, types } of environmentVariables(schema)) {
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

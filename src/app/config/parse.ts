/** Text of recalld.yaml and environment in, config out. Defaults < file < environment. Reads no file itself. */
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { RecalldError } from '../../errors.ts';
import { applyEnvironment, type Environment } from './environment.ts';
import { explainIssues, formatPath } from './explain.ts';
import { isMapping, type JsonSchema } from './json-schema.ts';
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
  const schema = configJsonSchema();
  const tree = text === null ? {} : readYaml(text, source);
  const value = replaceVariables(tree, env, source);
  const variables = applyEnvironment(value, schema, env, readSecret);
  const result = configSchema.safeParse(value);
  if (result.success) return result.data;
  const problems = explainIssues(result.error.issues, { schema, value, variables });
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
  const document = parseDocument(quoteVariables(text));
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) {
    const line = problem.linePos?.[0].line;
    const what =
      problem.code === 'MULTIPLE_DOCS'
        ? 'it holds more than one document; keep the first and remove the lines `---`'
        : problem.message.split('\n')[0]?.replace(/ at line.*$/, '');
    throw notYaml(line === undefined ? source : `${source}:${line}`, what ?? '');
  }
  const tree = toTree(() => document.toJS() as unknown, source) ?? {};
  if (isMapping(tree)) return tree;
  throw new RecalldError('config_invalid', `${source} must be a YAML mapping such as \`pipelines: [...]\`.`);
}

/** Aliases are resolved last, and yaml throws plain errors for those that have no anchor or too many uses. */
function toTree(resolve: () => unknown, source: string): unknown {
  try {
    return resolve();
  } catch (cause) {
    if (!(cause instanceof ReferenceError)) throw cause;
    throw notYaml(source, cause.message);
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
    text.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
      const value = env[name];
      if (value !== undefined) return value;
      const message = `${formatPath(path)} uses \${${name}}, which is not set; set it in the environment.`;
      throw new RecalldError('config_invalid', `${source}: ${message}`);
    });
  return replaceEach(tree, []);
}

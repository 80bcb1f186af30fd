/** Tests that every config key that the repository mentions exists in the config schema. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { branches, childSchemas, type JsonSchema } from '../../src/app/config/explain.ts';
import { configJsonSchema, environmentVariables } from '../../src/app/config/parse.ts';
import { isMapping } from '../../src/core/text/json.ts';
import { sourceFiles } from './source-files.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** All pages except docs/reference/http.md, which is generated from the API fields. */
const pages = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...['docs', 'deploy', 'examples', 'bench'].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md') && !name.endsWith('reference/http.md'))
      .map((name) => `${folder}/${name}`),
  ),
].map((file) => ({ file, text: readFileSync(path.join(root, file), 'utf8') }));

const below = (schemas: readonly JsonSchema[], part: PropertyKey) =>
  childSchemas(schemas.flatMap(branches), part).flatMap(branches);

const config = branches(configJsonSchema());
const pipeline = below(below(config, 'pipelines'), 0);
const namesOf = (schemas: readonly JsonSchema[]) => schemas.flatMap(({ properties }) => Object.keys(properties ?? {}));
/** Names that a key may start with, and their schemas. Prose may omit the pipeline or part of the path. */
const starts = new Map<string, readonly JsonSchema[]>([
  ...namesOf(pipeline).map((name) => [name, pipeline] as const),
  ...namesOf(config).map((name) => [name, config] as const),
]);

/** True if a path such as `pipelines[].golden[].cron` exists. */
function isKey(key: string): boolean {
  const parts = key
    .split('.')
    .flatMap((part): PropertyKey[] => (part.endsWith('[]') ? [part.slice(0, -2), 0] : [part]));
  let schemas = starts.get(String(parts[0])) ?? [];
  for (const part of parts) {
    // A list may be written without its brackets.
    const lists = schemas.flatMap(({ items }) => (isMapping(items) ? branches(items) : []));
    schemas = below([...schemas, ...lists], part);
  }
  return schemas.length > 0;
}

/** Returns the keys in `value` that no schema defines. */
function unknownIn(value: unknown, schemas: readonly JsonSchema[]): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => unknownIn(item, below(schemas, 0)));
  if (!isMapping(value)) return [];
  return Object.entries(value).flatMap(([key, child]) => {
    const found = below(schemas, key);
    return found.length === 0 ? [key] : unknownIn(child, found);
  });
}

const spansOf = (text: string) =>
  [...text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);

/** Matches file names, which have the same form as config keys. */
const file = /\.(?:ts|sql|md|ya?ml|csv|jsonl?|run|txt|js)$/;

/** HTTP API fields that look like config keys. */
const fields = new Set(['sampling.probability']);

const isDotted = (span: string) =>
  /^[a-z_]+(?:\[\])?(?:\.[a-z_]+(?:\[\])?)+$/.test(span) &&
  !file.test(span) &&
  !fields.has(span) &&
  starts.has(/^[a-z_]+/.exec(span)?.[0] ?? '');

function mistakesIn(span: string): string[] {
  if (isDotted(span)) return isKey(span) ? [] : [span];
  const [, name = ''] = /^([a-z_]+): \S/.exec(span) ?? [];
  const schemas = starts.get(name);
  if (schemas === undefined) return [];
  return unknownIn(parse(span.replaceAll(/\b[A-Z][A-Z_]+\b|…|\.\.\./g, '0')), schemas).map((key) => `${span}: ${key}`);
}

describe('a documented config key', () => {
  it.each(pages)('exists: $file', ({ text }) => {
    expect(spansOf(text).flatMap(mistakesIn)).toEqual([]);
  });

  it('exists if a message names it', () => {
    const mistakes = sourceFiles('src').flatMap(({ path: source, text }) =>
      [...text.matchAll(/\b(?:mend|check|set|shorter|raise|lower|see) ([a-z_]+(?:\.[a-z_]+)+)/g)]
        .map(([, key = '']) => key)
        .filter((key) => isDotted(key) && !isKey(key))
        .map((key) => `${source}: ${key}`),
    );
    expect(mistakes).toEqual([]);
  });

  it('exists as an environment variable', () => {
    const known = new Set(environmentVariables(configJsonSchema()).map(({ name }) => name));
    // Tests, examples and benches parse their own configs.
    const code = ['src', 'test', 'bench'].flatMap((folder) => sourceFiles(folder).map(({ text }) => text)).join('\n');
    const examples = readdirSync(path.join(root, 'examples'), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:mjs|py|sh)$/.test(name))
      .map((name) => readFileSync(path.join(root, 'examples', name), 'utf8'))
      .join('\n');
    const unknown = pages.flatMap(({ file: page, text }) =>
      [...text.matchAll(/\bRECALLD_[A-Z_]+\b/g)]
        .map(([name]) => name)
        .filter(
          (name) => !name.startsWith('RECALLD_TEST_') && !known.has(name) && !known.has(name.replace(/_FILE$/, '')),
        )
        .filter((name) => !`${code}${examples}`.includes(name))
        .map((name) => `${page}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });
});

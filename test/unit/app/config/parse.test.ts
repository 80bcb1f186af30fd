import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { configExample, exampleEnvironment } from '../../../../docs/build/config-example.ts';
import { branches, type JsonSchema } from '../../../../src/app/config/explain.ts';
import { loadConfigOfDatabase } from '../../../../src/app/config/load.ts';
import { configJsonSchema, parseConfig } from '../../../../src/app/config/parse.ts';
import type { Config } from '../../../../src/app/config/schema.ts';
import { RecalldError } from '../../../../src/core/errors.ts';
import { isMapping } from '../../../../src/core/text/json.ts';

type Environment = Readonly<Record<string, string>>;

function parse(text: string | null, env: Environment = {}, files: Environment = {}): Config {
  return parseConfig(text, 'recalld.yaml', env, (path) => files[path] ?? '');
}

function problemOf(text: string | null, env: Environment = {}): string {
  try {
    parse(text, env);
  } catch (error) {
    if (error instanceof RecalldError && error.code === 'config_invalid') return error.message;
    throw error;
  }
  throw new Error('the config was accepted');
}

describe('a missing config file', () => {
  it('means loopback, an embedded database, jobs in PostgreSQL and no pipelines', () => {
    expect(parse(null)).toMatchObject({
      server: { host: '127.0.0.1', port: 8321, metrics_port: null },
      storage: { url: 'embedded', data_dir: '.recalld', pool_size: 10 },
      queue: { backend: 'postgres' },
      log: { level: 'info' },
      pipelines: [],
    });
  });

  it.each(['', '# nothing but a comment\n', '---\n'])('means the same as the empty file %j', (text) => {
    expect(parse(text)).toEqual(parse(null));
  });
});

describe('a command that opens a database', () => {
  let home = '';
  let folder = '';
  beforeEach(async () => {
    home = process.cwd();
    folder = await mkdtemp(path.join(tmpdir(), 'recalld-config-'));
    process.chdir(folder);
  });
  afterEach(async () => {
    process.chdir(home);
    await rm(folder, { recursive: true });
  });
  const load = (env: Environment) => loadConfigOfDatabase(undefined, env);

  it('rejects a folder without a config, explains the fix, and creates nothing', async () => {
    const sentence =
      /^There is no recalld\.yaml in .+, so recalld created no database there; .*--config, or write a config\.$/;
    for (const env of [{}, { RECALLD_LOG_LEVEL: 'debug' }]) {
      expect(() => load(env)).toThrow(
        expect.objectContaining({ code: 'config_not_found', message: expect.stringMatching(sentence) as string }),
      );
    }
    expect(await readdir(folder)).toEqual([]);
  });

  it('accepts a file, or an environment that names the database', async () => {
    const url = 'postgres://db/recalld';
    expect(load({ RECALLD_STORAGE_URL: url })).toMatchObject({ file: null, config: { storage: { url } } });
    expect(load({ RECALLD_STORAGE_DATA_DIR: 'here' }).config.storage.data_dir).toBe('here');
    await writeFile(path.join(folder, 'recalld.yaml'), 'pipelines: []');
    expect(load({}).file).toBe('recalld.yaml');
  });
});

describe('the services of pipelines', () => {
  const retriever = '{kind: http, url: "http://rag/"}';
  const pipelines = (...services: readonly string[]) =>
    `pipelines:\n${services.map((names, index) => `  - {name: p${index}, retriever: ${retriever}, service_names: ${names}}`).join('\n')}`;

  it('belong to one pipeline each', () => {
    expect(problemOf(pipelines('[a, rag]', '[rag]'))).toBe(
      'recalld.yaml: pipelines[1].service_names[0] is "rag", which the pipeline "p0" also lists. The spans of a service can belong to only one pipeline: remove the name from one of the two. If the service queries both pipelines, set the attribute recalld.pipeline on its spans.',
    );
    expect(parse(pipelines('[a, rag]', '[b]')).pipelines).toHaveLength(2);
  });
});

describe('the config parser', () => {
  const file = 'server: {port: 1000}\nstorage: {url: "postgres://file/db"}';

  it('prefers the file to the defaults, key by key', () => {
    expect(parse(file).server).toMatchObject({ host: '127.0.0.1', port: 1000, metrics_port: null });
  });

  it('prefers the environment to the file, key by key', () => {
    const { server, storage } = parse(file, { RECALLD_SERVER_PORT: '2000', RECALLD_STORAGE_POOL_SIZE: '3' });
    expect(server.port).toBe(2000);
    expect(storage).toMatchObject({ url: 'postgres://file/db', data_dir: '.recalld', pool_size: 3 });
  });

  it('reads a variable as the type of its key: text stays text, and null becomes null', () => {
    const env = { RECALLD_STORAGE_DATA_DIR: '5', RECALLD_SERVER_METRICS_PORT: 'null' };
    expect(parse('server: {metrics_port: 9}', env)).toMatchObject({
      storage: { data_dir: '5' },
      server: { metrics_port: null },
    });
  });

  it('keeps text that looks like a number as text, even for a key that may be null', () => {
    const hash = { RECALLD_STORAGE_HASH_KEY: '12345678901234567890123456789012' };
    expect(parse(null, hash).storage.hash_key).toBe('12345678901234567890123456789012');
    expect(
      parse('storage: {hash_key: "a key of the file, long enough to be one"}', {
        RECALLD_STORAGE_HASH_KEY: 'null',
      }).storage.hash_key,
    ).toBeNull();
  });

  it('accepts a queue that is configured only in the environment', () => {
    const env = { RECALLD_QUEUE_BACKEND: 'redis', RECALLD_QUEUE_URL: 'redis://r' };
    expect(parse(null, env).queue).toEqual({ backend: 'redis', url: 'redis://r', prefix: 'recalld' });
  });

  it('uses the defaults for an empty section of the file', () => {
    expect(parse('server:\n', { RECALLD_SERVER_PORT: '1' }).server.port).toBe(1);
  });

  it('ignores variables of other programs, such as those that Kubernetes sets for a service named recalld', () => {
    const env = { RECALLD_PORT: 'tcp://10.0.0.1:8321', RECALLD_SERVICE_HOST: '10.0.0.1', SERVER_PORT: 'x' };
    expect(parse(null, env)).toEqual(parse(null));
  });

  it.each(['abc', '', '[1', '8321.5', '{a: 1}'])('names the variable if it contains %j instead of a port', (value) => {
    expect(problemOf(null, { RECALLD_SERVER_PORT: value })).toMatch(
      /^recalld\.yaml: server\.port \(set by RECALLD_SERVER_PORT\) (is empty; it )?must be a (whole )?number\.$/,
    );
  });

  it('reports a section of the file that is not a mapping, even if a variable sets one of its keys', () => {
    expect(problemOf('server: 5', { RECALLD_SERVER_PORT: '1' })).toBe('recalld.yaml: server must be a mapping.');
  });
});

describe('the config parser, on secrets and variables,', () => {
  it('reads a secret from the file that the variable names, without the line ending', () => {
    const config = parse(
      null,
      { RECALLD_STORAGE_URL_FILE: '/run/secrets/db' },
      { '/run/secrets/db': 'postgres://db/x\n' },
    );
    expect(config.storage.url).toBe('postgres://db/x');
  });

  it('rejects a variable that is set both directly and as a file', () => {
    const env = { RECALLD_STORAGE_URL: 'embedded', RECALLD_STORAGE_URL_FILE: '/f' };
    expect(problemOf(null, env)).toBe(
      'RECALLD_STORAGE_URL and RECALLD_STORAGE_URL_FILE are both set; unset one of them.',
    );
  });

  it('does not repeat an invalid secret in the error message', () => {
    const message = problemOf(null, { RECALLD_STORAGE_URL: 'mysql://me:s3cret@db' });
    expect(message).toBe(
      'recalld.yaml: storage.url (set by RECALLD_STORAGE_URL) must be `embedded` or a postgres:// URL.',
    );
  });

  it('replaces ${VAR} anywhere in a text of the file, even more than once', () => {
    const retriever = 'kind: http, url: "http://${HOST}/", headers: {authorization: "Bearer ${A}-${A}"}';
    const config = parse(`pipelines: [{name: p, retriever: {${retriever}}}]`, { HOST: 'rag', A: 't' });
    expect(config.pipelines[0]?.retriever).toMatchObject({
      url: 'http://rag/',
      headers: { authorization: 'Bearer t-t' },
    });
  });

  it('does not replace ${VAR} in the value of a variable', () => {
    expect(parse('storage: {data_dir: "${A}"}', { A: '${B}' }).storage.data_dir).toBe('${B}');
  });

  it('names the field and the variable if a variable is not set', () => {
    expect(problemOf('server: {host: "${NOPE}"}')).toBe(
      'recalld.yaml: server.host uses ${NOPE}, which is not set; set it in the environment.',
    );
  });

  it('rejects default values in shell syntax, and does not repeat them', () => {
    const message = problemOf('server: {host: "${NOPE:-secret}"}', { NOPE: 'x' });
    expect(message).toContain('server.host uses ${NOPE}, but default values are not supported; write ${NOPE} alone.');
    expect(message).not.toContain('secret');
  });

  it('explains how to write a duration if the config contains only a number', () => {
    const golden = 'golden: [{set: s, cron: "0 * * * *", keep_answers: 180}]';
    expect(problemOf(`pipelines: [{name: a, retriever: {kind: http, url: "http://h"}, ${golden}}]`)).toContain(
      'keep_answers must be a number of minutes, hours or days, such as 30m, 24h or 7d.',
    );
  });

  it('accepts an empty variable', () => {
    expect(problemOf('server: {host: "${EMPTY}"}', { EMPTY: '' })).toBe('recalld.yaml: server.host must not be empty.');
  });
});

describe('invalid YAML', () => {
  it.each([
    ['a tab', 'server:\n\tport: 1', 'recalld.yaml:2 is not valid YAML: '],
    ['an unclosed bracket', 'server: {port: 1\n', 'recalld.yaml:2 is not valid YAML: '],
    ['a duplicate key', 'log: {}\nlog: {}', 'recalld.yaml:2 is not valid YAML: Map keys must be unique.'],
    ['an unknown tag', '\na: !vault x', 'recalld.yaml:2 is not valid YAML: Unresolved tag: !vault.'],
    [
      'two documents',
      'log: {}\n---\nlog: {}',
      'recalld.yaml:2 is not valid YAML: it contains more than one document; ',
    ],
    [
      'a cron expression without quotes',
      'a: {cron: * * * * *}',
      'recalld.yaml:1 is not valid YAML: quote a value that begins with *',
    ],
    ['an alias without an anchor', 'log: *nope', 'recalld.yaml is not valid YAML: Unresolved alias'],
    [
      'an alias that contains itself',
      'pipelines: &p [*p]',
      'recalld.yaml is not valid YAML: an alias contains itself.',
    ],
    ['aliases that grow without bound', bomb(), 'recalld.yaml is not valid YAML: Excessive alias count'],
  ])('is reported for %s, with the line if known', (_, text, start) => {
    const message = problemOf(text);
    expect(message.slice(0, start.length)).toBe(start);
    expect(message).toMatch(/\.$/);
    expect(message).not.toContain('\n');
  });

  it.each([
    ['server:\n\tport: 1', 'indent with spaces'],
    ['a: {cron: */5}', 'quote a value that begins with *'],
  ])('is reported with a fix: %j', (text, fix) => {
    expect(problemOf(text)).toContain(fix);
  });

  it.each(['- server', '5', 'server'])('is reported for %j, which is not a mapping', (text) => {
    expect(problemOf(text)).toBe('recalld.yaml must be a YAML mapping such as `pipelines: [...]`.');
  });

  it('is not reported for a moderate number of aliases', () => {
    const text = 'x: &r {kind: http, url: u}\npipelines: [{name: a, retriever: *r}, {name: b, retriever: *r}]';
    expect(problemOf(text)).toContain('x is not a known key');
  });
});

describe('the example of the documentation', () => {
  const config = parse(configExample, exampleEnvironment);

  it('is valid and has the documented meaning', () => {
    expect(config.pipelines[0]).toMatchObject({
      name: 'support-docs',
      retriever: {
        headers: { authorization: 'Bearer token-of-the-rag-service' },
        body: { query: '{{text}}', top_k: '{{k}}' },
      },
      golden: [{ set: 'support-faq', cron: '0 * * * *', cutoffs: [1, 3, 5, 10] }],
    });
  });

  it('names every key, except those of other kinds of retriever, store and model', () => {
    const missing: string[] = [];
    const visit = (schema: JsonSchema, values: readonly unknown[], path: string): void => {
      const shown = new Set(values.flatMap((value) => (isMapping(value) ? [value['kind']] : [])));
      const isShown = ({ properties = {} }: JsonSchema): boolean => {
        const kind = isMapping(properties['kind']) ? properties['kind'].const : undefined;
        return kind === undefined || shown.has(kind);
      };
      const forms = branches(schema).filter((form) => form.properties !== undefined && isShown(form));
      for (const form of forms) {
        for (const [key, child] of Object.entries(form.properties ?? {})) {
          // A shadow has the same keys as the pipeline from which it inherits them.
          if (path === 'pipelines.shadow.' && ['retriever', 'vector_store', 'embedder'].includes(key)) continue;
          const found = values.filter((value) => isMapping(value) && Object.hasOwn(value, key));
          if (found.length === 0) missing.push(`${path}${key}`);
          else if (isMapping(child))
            visit(
              child,
              found.map((value) => (isMapping(value) ? value[key] : null)),
              `${path}${key}.`,
            );
        }
      }
      if (isMapping(schema.items))
        visit(
          schema.items,
          values.flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : [])),
          path,
        );
    };
    visit(configJsonSchema(), [parseYaml(configExample)], '');
    expect(missing).toEqual([]);
  });
});

/** Nine levels of ten YAML aliases each, which expand a few lines to a gigabyte. */
function bomb(): string {
  const levels = Array.from({ length: 9 }, (_, i) => `l${i + 1}: &l${i + 1} [${Array(10).fill(`*l${i}`).join(', ')}]`);
  return ['l0: &l0 [x]', ...levels].join('\n');
}

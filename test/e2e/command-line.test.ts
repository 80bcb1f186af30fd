/**
 * For an invalid config, input or command line, recalld prints one sentence with the problem and the fix, and sets the
 * exit code.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readDashboards } from '../support/dashboards.ts';
import { anInstallation, type Installation } from '../support/installation.ts';
import { aConfig, aGoldenCsv } from './golden-files.ts';

const good = aConfig({ url: 'http://127.0.0.1:9' });
const unreachable = 'storage: {url: "postgres://u:s3cret@127.0.0.1:9/x"}';

const cleanups: (() => Promise<void>)[] = [];
const atEnd = (clean: () => Promise<void>) => void cleanups.unshift(clean);

/** Installation shared by the test cases that do not change it. */
let installed: Installation;

beforeAll(async () => {
  installed = await anInstallation({ 'recalld.yaml': good }, { atEnd });
});
afterAll(async () => {
  for (const clean of cleanups) await clean();
});

/** Creates an installation without a database, for commands that end before they need one. */
const without = (files: Readonly<Record<string, string>>) => anInstallation(files, { database: 'none' });

describe('the command line', () => {
  const mistakes: readonly {
    name: string;
    line: string;
    files?: Record<string, string>;
    code: number;
    says: RegExp;
  }[] = [
    { name: 'an unknown command', line: 'serv', code: 2, says: /unknown command 'serv'[\s\S]*serve/ },
    { name: 'an unknown option', line: 'serve --confg x', code: 2, says: /unknown option '--confg'/ },
    {
      name: 'an unknown role',
      line: 'serve --roles boss',
      code: 2,
      says: /"boss" is not a role; use api, worker, scheduler/,
    },
    {
      name: 'a missing config file',
      line: 'serve --config nope.yaml',
      code: 2,
      says: /^recalld: The config file nope\.yaml does not exist; check the path\.$/m,
    },
    {
      name: 'an unknown key deep in the config',
      line: 'config check',
      files: { 'recalld.yaml': good.replace('kind: http,', 'kind: http, timout_ms: 5,') },
      code: 2,
      says: /^recalld: recalld\.yaml: pipelines\[0\]\.retriever\.timout_ms is not a known key; did you mean `timeout_ms`\?\.?$/m,
    },
    {
      name: 'a wrong type',
      line: 'config check',
      files: { 'recalld.yaml': good.replace('port: 0', 'port: "eight"') },
      code: 2,
      says: /^recalld: recalld\.yaml: server\.port must be a (whole )?number/m,
    },
    {
      name: 'a secret that is not in the environment',
      line: 'config check',
      files: {
        'recalld.yaml': good.replace('kind: http,', 'kind: http, headers: {authorization: "Bearer ${NO_SUCH_TOKEN}"},'),
      },
      code: 2,
      says: /pipelines\[0\]\.retriever\.headers\.authorization uses \$\{NO_SUCH_TOKEN\}, which is not set/,
    },
    {
      name: 'an unknown placeholder',
      line: 'config check',
      files: { 'recalld.yaml': good.replace('/search"', '/search", body: {q: "{{txt}}"}') },
      code: 2,
      says: /pipelines\[0\].*retriever\.body\.q.*\{\{txt\}\}/,
    },
    {
      name: 'a database that does not respond',
      line: 'runs list',
      files: { 'recalld.yaml': unreachable },
      code: 3,
      says: /^recalld: PostgreSQL at 127\.0\.0\.1:9 does not respond \(.*\); .*start it.* storage\.url\.$/m,
    },
    {
      name: 'an unknown golden set',
      line: 'golden run --pipeline docs --set faq',
      code: 2,
      says: /^recalld: There is no golden set "faq"; import one with `recalld golden import PATH --set faq`\.$/m,
    },
    {
      name: 'a folder without a config',
      line: 'status',
      files: {},
      code: 2,
      says: /^recalld: There is no recalld\.yaml in .+, so recalld created no database there; .+ or write a config\.$/m,
    },
    {
      name: 'an unknown pipeline',
      line: 'golden run --pipeline dogs --set faq',
      code: 2,
      says: /^recalld: The config has no pipeline "dogs"\. Known pipelines: docs\.$/m,
    },
    {
      name: 'a missing golden file',
      line: 'golden import nope.csv --set faq',
      code: 2,
      says: /^recalld: .*nope\.csv/m,
    },
    {
      name: 'an unknown run',
      line: 'runs show nope',
      code: 2,
      says: /^recalld: There is no golden run nope\. `recalld runs list` and GET \/v1\/golden-runs list the existing runs\.$/m,
    },
  ];
  it.each(mistakes)('explains $name', async ({ line, files, code, says }) => {
    const result = await (files === undefined ? installed : await without(files)).recalld(line);
    expect(result.stderr).toMatch(says);
    expect(result.code).toBe(code);
    expect(result.stdout).toBe('');
    expect(result.stderr).not.toMatch(/^ {4}at /m);
    expect(result.stderr).not.toContain('s3cret');
  });

  it.each([
    ['a redaction pattern that is not a regular expression', 'privacy: {patterns: [{name: staff, regex: "[A-"}]}'],
    ['a redaction pattern with catastrophic backtracking', 'privacy: {patterns: [{name: staff, regex: "(a+)+"}]}'],
    ['credentials in the URL of Presidio', 'privacy: {presidio: {url: "http://u:s3cret@presidio/"}}'],
    ['a missing certificate file', 'embedder: {kind: http, url: "http://e/", tls: {ca_file: no.pem}}'],
  ])('refuses %s in `config check`, `serve` and every other command alike', async (_, rest) => {
    const config = `pipelines: [{name: docs, retriever: {kind: http, url: "http://rag/"}, ${rest}}]`;
    const refusal = await refusalOf(config);
    expect(refusal).toMatchObject({ code: 2, others: [] });
    expect(refusal.says).toMatch(/^recalld: recalld\.yaml: pipelines\[0\]/m);
    expect(refusal.says).not.toMatch(/s3cret|^ {4}at /m);
  });

  it.each([
    ['credentials in the OTLP URL', 'metrics: {otlp: {url: "http://u:s3cret@collector:4318"}}', 'metrics.otlp.url'],
    ['an OTLP URL with an unsupported scheme', 'metrics: {otlp: {url: "grpc://collector:4317"}}', 'metrics.otlp.url'],
    [
      'an OTLP header name that HTTP does not allow',
      'metrics: {otlp: {url: "http://c", headers: {"x y": z}}}',
      'metrics.otlp.headers',
    ],
    ['a port that is used twice', 'server: {port: 8400, metrics_port: 8400}', 'server.metrics_port'],
    ['a webhook URL without a valid host', 'notify: [{kind: webhook, url: "http://[x"}]', 'notify[0].url'],
    ['a database URL that cannot be parsed', 'storage: {url: "postgres://u:s3cret/z@db/x"}', 'storage.url'],
    [
      'a missing certificate file of the database',
      'storage: {url: "postgres://u@db/x?sslrootcert=no.pem"}',
      'storage.url',
    ],
    ['a queue URL that cannot be parsed', 'queue: {backend: redis, url: "redis://u:s3cret%zz@r"}', 'queue.url'],
    [
      'a missing certificate file of the queue',
      'queue: {backend: redis, url: "rediss://r", tls: {ca_file: no.pem}}',
      'queue.tls',
    ],
    ['a chat model with credentials in its URL', 'llm: {base_url: "http://u:s3cret@m/v1", model: m}', 'llm.base_url'],
  ])('refuses %s in `config check`, `serve` and every other command alike', async (_, config, field) => {
    const refusal = await refusalOf(config);
    expect(refusal).toMatchObject({ code: 2, others: [] });
    expect(refusal.says).toContain(`recalld: recalld.yaml: ${field}`);
    expect(refusal.says).not.toMatch(/s3cret|^ {4}at /m);
  });

  /**
   * Returns the error that `config check` reports for a config; `others` lists the commands that do not report exactly
   * this error.
   */
  async function refusalOf(config: string): Promise<{ says: string; code: number | null; others: string[] }> {
    const { recalld } = await without({ 'recalld.yaml': config });
    const { stderr, code } = await recalld('config check');
    const others: string[] = [];
    for (const line of ['serve', 'doctor', 'runs list', 'rules']) {
      const other = await recalld(line);
      if (other.code !== 2 || other.stdout !== '' || other.stderr !== stderr) others.push(`${line}: ${other.stderr}`);
    }
    return { says: stderr, code, others };
  }

  it('shows how many false pages a config is expected to cause, and warns if they exceed the budget', async () => {
    const config = aConfig({
      url: 'http://127.0.0.1:9',
      golden: 'cron: "0 * * * *"',
      checks: '[{regression: ndcg@10, drop: 0.02, runs: 1}]',
    });
    const { code, stdout } = await (await without({ 'recalld.yaml': config })).recalld('config check');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^docs +ndcg@10 regression by 0\.02 on faq +2160 +9\.73$/m);
    expect(stdout).toContain('more than alerts.false_pages.per_pipeline (1 per 90d)');
  });

  it('prints the config with defaults and environment variables applied, and without secrets', async () => {
    const config = good.replace('kind: http,', 'kind: http, headers: {authorization: "Bearer ${TOKEN}"},');
    const env = {
      TOKEN: 's3cret-token',
      RECALLD_STORAGE_URL: 'postgres://me:s3cret-password@db/recalld',
      RECALLD_SERVER_PORT: '9000',
    };
    const { recalld } = await anInstallation({ 'recalld.yaml': config }, { env });
    const { code, stdout } = await recalld('config print --json');
    expect(code).toBe(0);
    expect(stdout).not.toContain('s3cret');
    expect(JSON.parse(stdout)).toMatchObject({
      server: { host: '127.0.0.1', port: 9000 },
      storage: { url: 'postgres://me:redacted@db/recalld' },
      pipelines: [{ retriever: { timeout_ms: 2000, headers: { authorization: '[redacted]' } } }],
    });
  });

  it('creates a new version of a golden set if a byte changed, and none for the same content', async () => {
    const { json } = await anInstallation({
      'faq.csv': aGoldenCsv(3),
      'changed.csv': `${aGoldenCsv(3)}\n`,
    });
    const importFile = (file: string) => json(`golden import ${file} --set faq`);
    expect(await importFile('faq.csv')).toMatchObject({ version: 1, created: true, query_count: 3 });
    expect(await importFile('faq.csv')).toMatchObject({ version: 1, created: false });
    expect(await importFile('changed.csv')).toMatchObject({ version: 2, created: true });
  });

  const ids = Array.from({ length: 20 }, (_, i) => `q${i}`);
  const judged = {
    'qrels.txt': ids.map((id) => `${id} 0 right 1\n`).join(''),
    'good.run': ids.map((id) => `${id} Q0 right 1 1 tag\n`).join(''),
    'bad.run': ids.map((id, i) => `${id} Q0 ${i === 0 ? 'right' : 'wrong'} 1 1 tag\n`).join(''),
  };
  const compare = 'compare --qrels qrels.txt --baseline good.run --candidate';

  it.each([
    ['good', 'bad', 1, 'regression'],
    ['bad', 'good', 0, 'improvement'],
    ['good', 'good', 0, 'no_change'],
  ])('compares %s with %s, exits with %i, and reports %s', async (baseline, candidate, code, verdict) => {
    const { recalld } = await without(judged);
    const files = `--baseline ${baseline}.run --candidate ${candidate}.run`;
    const compared = await recalld(`compare --qrels qrels.txt ${files} --json`);
    expect({ code: compared.code, report: JSON.parse(compared.stdout) as unknown }).toMatchObject({
      code,
      report: { verdict },
    });
  });

  it.each([
    [0, `${compare} good.run`],
    [1, `${compare} bad.run`],
    [2, `${compare} no.run`],
    [3, 'runs list'],
  ])('exits with %i after: %s', async (code, line) => {
    const { spawn } = await without({ ...judged, 'recalld.yaml': unreachable });
    expect(await spawn(line).finished).toMatchObject({ code, signal: null });
  });

  it('writes the dashboards into a folder, with the links from the config', async () => {
    const links = 'alerts: {runbook_base_url: "https://wiki.internal/r", console_base_url: "https://recalld.internal"}';
    const { folder, recalld } = await without({ 'recalld.yaml': links });
    const { code, stdout, stderr } = await recalld('dashboards --out boards');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const names = readdirSync(path.join(folder, 'boards')).toSorted();
    expect(names).toEqual(
      readDashboards()
        .map(({ name }) => name)
        .toSorted(),
    );
    expect(stdout.trim().split('\n').toSorted()).toEqual(names.map((name) => path.join('boards', name)));
    const health = readFileSync(path.join(folder, 'boards/retrieval-health.json'), 'utf8');
    expect(health).toContain('"https://wiki.internal/r/README.md"');
    expect(health).toContain('"https://recalld.internal"');

    expect(await recalld('dashboards --out recalld.yaml')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('could not be written to recalld.yaml') as string,
    });
  });

  it.each([
    'demo',
    'serve',
    'migrate',
    'config',
    'golden',
    'golden import',
    'golden run',
    'runs list',
    'runs show',
    'eval',
    'compare',
    'density show',
    'density rebaseline',
    'drift',
  ])('shows help with an example for %s', async (command) => {
    const { code, stdout } = await installed.recalld(`${command} --help`);
    expect(code).toBe(0);
    expect(stdout).toContain('Usage: recalld');
    if (command !== 'golden' && command !== 'config') expect(stdout).toContain(`Example:\n  recalld ${command}`);
  });
});

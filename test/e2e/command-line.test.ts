/** Bad config, bad input and bad usage: one sentence that names the thing and the way out, and the right exit code. */
import { describe, expect, it } from 'vitest';
import { aFolder, runRecalld } from '../support/recalld.ts';
import { aConfig, aGoldenCsv } from './golden-files.ts';

const good = aConfig({ url: 'http://127.0.0.1:9' });

describe('the command line', () => {
  const mistakes: readonly {
    name: string;
    args: string[];
    files?: Record<string, string>;
    code: number;
    says: RegExp;
  }[] = [
    { name: 'an unknown command', args: ['serv'], code: 2, says: /unknown command 'serv'[\s\S]*serve/ },
    { name: 'an unknown option', args: ['serve', '--confg', 'x'], code: 2, says: /unknown option '--confg'/ },
    {
      name: 'an unknown role',
      args: ['serve', '--roles', 'boss'],
      code: 2,
      says: /"boss" is no role; the roles are api, worker, scheduler/,
    },
    {
      name: 'a config file that is not there',
      args: ['serve', '--config', 'nope.yaml'],
      code: 2,
      says: /^recalld: The config file nope\.yaml does not exist; check the path\.$/m,
    },
    {
      name: 'an unknown key deep in the config',
      args: ['config', 'check'],
      files: { 'recalld.yaml': good.replace('kind: http,', 'kind: http, timout_ms: 5,') },
      code: 2,
      says: /^recalld: recalld\.yaml: pipelines\[0\]\.retriever\.timout_ms is not a known key; did you mean `timeout_ms`\?\.?$/m,
    },
    {
      name: 'a wrong type',
      args: ['config', 'check'],
      files: { 'recalld.yaml': good.replace('port: 0', 'port: "eight"') },
      code: 2,
      says: /^recalld: recalld\.yaml: server\.port must be a (whole )?number/m,
    },
    {
      name: 'a secret that is not in the environment',
      args: ['config', 'check'],
      files: {
        'recalld.yaml': good.replace(
          'kind: http,',
          'kind: http, headers: {authorization: "Bearer ${NO_SUCH_TOKEN}"},',
        ),
      },
      code: 2,
      says: /pipelines\[0\]\.retriever\.headers\.authorization uses \$\{NO_SUCH_TOKEN\}, which is not set/,
    },
    {
      name: 'a placeholder that does not exist',
      args: ['config', 'check'],
      files: { 'recalld.yaml': good.replace('/search"', '/search", body: {q: "{{txt}}"}') },
      code: 2,
      says: /pipelines\[0\].*retriever\.body\.q.*\{\{txt\}\}/,
    },
    {
      name: 'a database that does not answer',
      args: ['runs', 'list'],
      files: { 'recalld.yaml': 'storage: {url: "postgres://u:s3cret@127.0.0.1:9/x"}' },
      code: 3,
      says: /^recalld: PostgreSQL at 127\.0\.0\.1:9 does not answer \(.*\); start it or mend storage\.url\.$/m,
    },
    {
      name: 'a golden set that is not there',
      args: ['golden', 'run', '--pipeline', 'docs', '--set', 'faq'],
      files: { 'recalld.yaml': good },
      code: 2,
      says: /^recalld: There is no golden set "faq"; import one with `recalld golden import PATH --set faq`\.$/m,
    },
    {
      name: 'a pipeline that is not there',
      args: ['golden', 'run', '--pipeline', 'dogs', '--set', 'faq'],
      files: { 'recalld.yaml': good },
      code: 2,
      says: /^recalld: The config has no pipeline "dogs"; it has docs\.$/m,
    },
    {
      name: 'a golden file that is not there',
      args: ['golden', 'import', 'nope.csv', '--set', 'faq'],
      code: 2,
      says: /^recalld: .*nope\.csv/m,
    },
    {
      name: 'a run that is not there',
      args: ['runs', 'show', 'nope'],
      code: 2,
      says: /^recalld: There is no golden run nope; `recalld runs list` shows those that exist\.$/m,
    },
  ];
  it.each(mistakes)('explains $name', async ({ args, files = {}, code, says }) => {
    const result = await runRecalld(args, await aFolder(files));
    expect(result.stderr).toMatch(says);
    expect(result.code).toBe(code);
    expect(result.stdout).toBe('');
    expect(result.stderr).not.toMatch(/^ {4}at /m);
    expect(result.stderr).not.toContain('s3cret');
  });

  it('tells how many false pages to expect of a config, and warns above the budget', async () => {
    const config = aConfig({
      url: 'http://127.0.0.1:9',
      golden: 'cron: "0 * * * *"',
      checks: '[{regression: ndcg@10, drop: 0.02, runs: 1}]',
    });
    const { code, stdout } = await runRecalld(['config', 'check'], await aFolder({ 'recalld.yaml': config }));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^docs +ndcg@10 regression by 0\.02 on faq +2160 +9\.73$/m);
    expect(stdout).toContain('above alerts.false_pages.per_pipeline (1 per 90d)');
  });

  it('prints the config with defaults and environment merged in and no secret', async () => {
    const config = good.replace('kind: http,', 'kind: http, headers: {authorization: "Bearer ${TOKEN}"},');
    const env = {
      TOKEN: 's3cret-token',
      RECALLD_STORAGE_URL: 'postgres://me:s3cret-password@db/recalld',
      RECALLD_SERVER_PORT: '9000',
    };
    const { code, stdout } = await runRecalld(
      ['config', 'print', '--json'],
      await aFolder({ 'recalld.yaml': config }),
      env,
    );
    expect(code).toBe(0);
    expect(stdout).not.toContain('s3cret');
    expect(JSON.parse(stdout)).toMatchObject({
      server: { host: '127.0.0.1', port: 9000 },
      storage: { url: 'postgres://me:redacted@db/recalld' },
      pipelines: [{ retriever: { timeout_ms: 2000, headers: { authorization: '[redacted]' } } }],
    });
  });

  it('makes a new version of a golden set for a changed byte and none for the same content', async () => {
    const folder = await aFolder({ 'faq.csv': aGoldenCsv(3), 'changed.csv': `${aGoldenCsv(3)}\n` });
    const importFile = async (file: string) =>
      JSON.parse(
        (await runRecalld(['golden', 'import', file, '--set', 'faq', '--json'], folder)).stdout,
      ) as unknown;
    expect(await importFile('faq.csv')).toMatchObject({ version: 1, created: true, query_count: 3 });
    expect(await importFile('faq.csv')).toMatchObject({ version: 1, created: false });
    expect(await importFile('changed.csv')).toMatchObject({ version: 2, created: true });
  });

  it('ends a comparison with 1 when the candidate is a regression, and with 0 when it is not', async () => {
    const ids = Array.from({ length: 20 }, (_, i) => `q${i}`);
    const folder = await aFolder({
      'qrels.txt': ids.map((id) => `${id} 0 right 1\n`).join(''),
      'good.run': ids.map((id) => `${id} Q0 right 1 1 tag\n`).join(''),
      'bad.run': ids.map((id) => `${id} Q0 wrong 1 1 tag\n`).join(''),
    });
    const compare = async (baseline: string, candidate: string) => {
      const files = ['--qrels', 'qrels.txt', '--baseline', baseline, '--candidate', candidate];
      const { code, stdout } = await runRecalld(['compare', ...files, '--json'], folder);
      return { code, report: JSON.parse(stdout) as unknown };
    };
    expect(await compare('good.run', 'bad.run')).toMatchObject({
      code: 1,
      report: { verdict: 'regression' },
    });
    expect(await compare('bad.run', 'good.run')).toMatchObject({
      code: 0,
      report: { verdict: 'improvement' },
    });
    expect(await compare('good.run', 'good.run')).toMatchObject({
      code: 0,
      report: { verdict: 'no_change' },
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
    const { code, stdout } = await runRecalld([...command.split(' '), '--help'], await aFolder());
    expect(code).toBe(0);
    expect(stdout).toContain('Usage: recalld');
    if (command !== 'golden' && command !== 'config')
      expect(stdout).toContain(`Example:\n  recalld ${command}`);
  });
});

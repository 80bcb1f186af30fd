/**
 * One PostgreSQL for all integration tests, with a migrated database that each test file clones (see database.ts).
 * It is the embedded one, so that nothing has to be installed; it works in a temporary folder that is removed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/postgres/embedded/open.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { silentLogger } from './log.ts';
import { withPool } from './with-pool.ts';

/** Where the PostgreSQL of the tests is; its role may create and drop databases. */
export interface TestServer {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly ssl: false;
  /** Holds nothing; a connection to it is for statements about other databases. */
  readonly database: string;
  /** The migrated database that is cloned. Nobody may be connected to it. */
  readonly template: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgres: TestServer;
  }
}

const template = 'recalld_template';

let folder: string | undefined;
let server: EmbeddedPostgres | undefined;

export async function setup(project: TestProject): Promise<void> {
  folder = await mkdtemp(path.join(tmpdir(), 'recalld-postgres-'));
  try {
    server = await openEmbeddedPostgres({ dataDir: folder, purpose: 'command', logger: silentLogger });
    const { connection } = server;
    await withPool(connection, async (pool) => {
      // What these databases hold is thrown away, so a crash of the machine may have it.
      for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
        await pool.query(`alter system set ${setting} = off`);
      }
      await pool.query('select pg_reload_conf()');
      await pool.query(`create database ${template}`);
    });
    await withPool({ ...connection, database: template }, migrate);
    project.provide('postgres', { ...connection, template });
  } catch (error) {
    await teardown();
    throw error;
  }
}

export async function teardown(): Promise<void> {
  await server?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true, maxRetries: 10 });
}

/**
 * One PostgreSQL for all tests, with a migrated database that tests clone (see database.ts). The server is the embedded
 * PostgreSQL, so nothing has to be installed. The server runs in a temporary folder, which is removed at the end.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { apiScopes, createApiKeys } from '../../src/platform/access/credentials.ts';
import { migrate } from '../../src/platform/postgres/migrate.ts';
import { copyFolder } from './copy-folder.ts';
import { aCluster, aPostgresServer, type PostgresServer } from './postgres-server.ts';
import { withPool } from './with-pool.ts';

/** Connection options for the tests' PostgreSQL; its role may create and drop databases. */
export interface TestServer {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly ssl: false;
  /** An empty database to which tests connect to run statements about other databases. */
  readonly database: string;
  /** The migrated database that is cloned. No client may be connected to this database. */
  readonly template: string;
  /** An API key with every scope; each clone of the template contains this key. */
  readonly apiKey: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgres: TestServer;
    /** A data folder with a cluster from initdb, which takes longer to create than to copy. */
    readonly newCluster: string;
  }
}

/**
 * The test projects that use the server share it within one process: the first project starts the server, and the last
 * project stops it.
 */
interface Shared {
  server?: Promise<StartedServer>;
  users: number;
}

interface StartedServer {
  readonly testServer: TestServer;
  readonly newCluster: string;
  stop(): Promise<void>;
}

const name = Symbol.for('PostgreSQL of the tests of recalld');
const shared = ((globalThis as Record<symbol, unknown>)[name] ??= { users: 0 }) as Shared;

export async function setup(project: TestProject): Promise<void> {
  shared.users += 1;
  shared.server ??= startServer();
  const { testServer, newCluster } = await shared.server;
  project.provide('postgres', testServer);
  project.provide('newCluster', newCluster);
}

export async function teardown(): Promise<void> {
  shared.users -= 1;
  if (shared.users === 0) await (await shared.server)?.stop();
}

/** Settings for disposable databases, whose loss in a crash does not matter. */
const settings = [
  'synchronous_commit=off',
  'full_page_writes=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'shared_buffers=128MB',
  // A daemon opens about 25 connections.
  'max_connections=400',
  'huge_pages=off',
  'jit=off',
  // Without statistics on new rows, joins are planned badly. Autovacuum collects the statistics, but its default interval
  // of one minute is too long, because a test database is removed earlier.
  'autovacuum_naptime=3s',
  'TimeZone=UTC',
  'log_min_messages=log',
  'log_min_error_statement=panic',
];

async function startServer(): Promise<StartedServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-postgres-'));
  let server: PostgresServer | undefined;
  const stop = async (): Promise<void> => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  };
  try {
    const newCluster = path.join(folder, 'new');
    await aCluster(newCluster);
    const used = path.join(folder, 'used');
    await copyFolder(newCluster, used);
    server = await aPostgresServer(await aCluster(used), settings);
    await server.start();
    const { connection } = server;
    const template = 'recalld_template';
    await server.query(`create database ${template}`);
    let apiKey = '';
    await withPool({ ...connection, database: template }, async (pool) => {
      await migrate(pool);
      apiKey = (await createApiKeys(pool).create('tests', apiScopes, 'tests', new Date(0))).text;
    });
    return { testServer: { ...connection, template, apiKey }, newCluster, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

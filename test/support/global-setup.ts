/**
 * One PostgreSQL for all tests, with a migrated database that they clone (see database.ts). It is the embedded one, so
 * that nothing has to be installed; it works in a temporary folder that is removed.
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
  /** An API key for every scope, which each clone knows. */
  readonly apiKey: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgres: TestServer;
    /** A data folder with a cluster as initdb made it, which takes longer than to copy it. */
    readonly newCluster: string;
  }
}

/** Each project of tests that needs the server sets it up, in one process: the first starts it, the last stops it. */
interface Shared {
  server?: Promise<StartedServer>;
  users: number;
}

interface StartedServer {
  readonly told: TestServer;
  readonly newCluster: string;
  stop(): Promise<void>;
}

const name = Symbol.for('PostgreSQL of the tests of recalld');
const shared = ((globalThis as Record<symbol, unknown>)[name] ??= { users: 0 }) as Shared;

export async function setup(project: TestProject): Promise<void> {
  shared.users += 1;
  shared.server ??= startServer();
  const { told, newCluster } = await shared.server;
  project.provide('postgres', told);
  project.provide('newCluster', newCluster);
}

export async function teardown(): Promise<void> {
  shared.users -= 1;
  if (shared.users === 0) await (await shared.server)?.stop();
}

/** What these databases hold is thrown away, so a crash of the machine may have it. */
const settings = [
  'synchronous_commit=off',
  'full_page_writes=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'shared_buffers=128MB',
  // A daemon holds about 25.
  'max_connections=400',
  'huge_pages=off',
  'jit=off',
  // Without statistics of rows that just came joins are planned badly; a database lives for less than the usual minute.
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
    return { told: { ...connection, template, apiKey }, newCluster, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

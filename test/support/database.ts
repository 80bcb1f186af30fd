/**
 * Databases for tests, on the PostgreSQL that global-setup.ts started.
 *
 *   const database = useDatabase();                       // at the top of a file or describe block
 *   it('...', async () => { await database.pool.query('select 1'); });
 *
 * Each file has its own database, so files can run in parallel. A test that leaves a connection open fails.
 */
import { Client, type Pool, type PoolConfig, type QueryResultRow } from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';
import { createPool } from '../../src/platform/postgres/pool.ts';
import { silentLogger } from './log.ts';
import { waitFor } from './wait-for.ts';

/** Connection options for `pg`. */
export interface DatabaseConnection extends PoolConfig {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly ssl: false;
}

export interface OwnDatabase {
  readonly connection: DatabaseConnection;
  /** Drops the database, even if a client is still connected; in that case, the promise rejects afterwards. */
  drop(): Promise<void>;
}

/** `migrated`: a database with recalld's tables; `empty`: a database without tables. */
export type DatabaseContent = 'migrated' | 'empty';

let created = 0;

/** Creates a database that the caller drops. */
export async function createDatabase(content: DatabaseContent = 'migrated'): Promise<OwnDatabase> {
  const { template, apiKey: _, ...server } = inject('postgres');
  const database = `test_${process.pid}_${(created += 1)}`;
  await administer(
    `create database ${database} template ${content === 'migrated' ? template : 'template0'} strategy file_copy`,
  );
  return {
    connection: { ...server, database },
    async drop() {
      const leak = await findLeak(database);
      await administer(`drop database ${database} with (force)`);
      if (leak !== null) throw new Error(`connections to the database were left open: ${leak}`);
    },
  };
}

export interface UsedDatabase {
  readonly connection: DatabaseConnection;
  /** A pool like the program's; it is closed before the database is dropped. */
  readonly pool: Pool;
}

/** Provides a database for the tests in the calling test file or describe block. */
export function useDatabase(content: DatabaseContent = 'migrated'): UsedDatabase {
  let own: OwnDatabase | undefined;
  let pool: Pool | undefined;
  beforeAll(async () => {
    own = await createDatabase(content);
    pool = createPool({ connection: own.connection, size: 10, logger: silentLogger });
  });
  afterAll(async () => {
    await pool?.end();
    await own?.drop();
  });
  return {
    get connection() {
      return existing(own).connection;
    },
    get pool() {
      return existing(pool);
    },
  };
}

function existing<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the database is there only while tests run');
  return value;
}

/** Runs a statement about databases, such as `create database`, outside the tests' databases. */
export async function administer(sql: string, values: readonly unknown[] = []): Promise<QueryResultRow[]> {
  const { template: _template, apiKey: _key, ...server } = inject('postgres');
  return queryDatabase(server, sql, values);
}

/** Runs one statement on a separate connection. */
export async function queryDatabase<Row extends QueryResultRow>(
  connection: PoolConfig,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = new Client(connection);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(sql, [...values])).rows;
  } finally {
    await client.end();
  }
}

/** Connection URL of a database. */
export function urlOf({ host, port, user, password, database }: Omit<DatabaseConnection, 'ssl'>): string {
  return `postgres://${user}:${encodeURIComponent(password)}@${host}:${port}/${database}`;
}

/**
 * Returns the connected clients as a sentence; null if there are none. The server needs a moment to end a connection.
 */
async function findLeak(database: string): Promise<string | null> {
  const connected = async (): Promise<string[]> => {
    const rows = await administer(
      `select application_name || ': ' || query as who from pg_stat_activity where datname = $1::text`,
      [database],
    );
    return rows.map(({ who }) => String(who));
  };
  try {
    await waitFor(async () => (await connected()).length === 0, { timeoutMs: 5000 });
    return null;
  } catch {
    return (await connected()).join('; ');
  }
}

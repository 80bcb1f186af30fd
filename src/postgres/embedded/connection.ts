import { Client } from 'pg';
import { errorCode } from './system-error.ts';

/** How to reach the database, in the words of `pg`. The password must not reach a log. */
export interface Connection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** The server speaks on loopback only and has no certificate, whatever PGSSLMODE says. */
  readonly ssl: false;
}

/** Name of the database in every cluster. */
export const database = 'recalld';

const invalidCatalogName = '3D000';

/** Whether the database answers, now. */
export async function probe(connection: Connection): Promise<boolean> {
  try {
    await query(connection, 'select 1');
    return true;
  } catch {
    return false;
  }
}

/** Creates the database unless it is there. */
export async function ensureDatabase(connection: Connection, signal?: AbortSignal): Promise<void> {
  try {
    await query(connection, 'select 1');
  } catch (error) {
    if (errorCode(error) !== invalidCatalogName) throw error;
    signal?.throwIfAborted();
    await query({ ...connection, database: 'postgres' }, `create database ${database} template template0`);
  }
}

async function query(connection: Connection, sql: string): Promise<void> {
  const client = new Client({
    ...connection,
    connectionTimeoutMillis: 5_000,
    application_name: 'recalld start',
  });
  // Without a listener the end of the server would end this process, too. The pending call rejects anyway.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(sql);
  } finally {
    await client.end().catch(() => undefined);
  }
}

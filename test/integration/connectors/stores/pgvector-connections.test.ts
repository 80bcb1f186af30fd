/** Connections to a separate PostgreSQL process that checks passwords and locks tables; it has no pgvector. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { VectorStore } from '../../../../src/connectors/stores/vector-store.ts';
import { never, valueOf } from '../../../contract/vector-store-bench.ts';
import { useDatabase } from '../../../support/database.ts';
import { openPgvector } from '../../../support/pgvector.ts';
import { waitFor } from '../../../support/wait-for.ts';

const database = useDatabase('empty');
const opened: VectorStore[] = [];

beforeAll(async () => {
  // Id lookups use no pgvector operators, so a column of another type named `vector` is sufficient.
  await database.pool.query(`
    create domain vector as real[];
    create table chunks (key text primary key, embedding vector, body text);
    insert into chunks values ('a', '{1,0}', 'x')`);
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

interface Access {
  readonly user?: string;
  readonly password?: string;
  readonly database?: string;
  readonly query?: string;
  readonly timeoutMs?: number;
  readonly table?: string;
}

function open({ query = '', timeoutMs = 5000, table = 'chunks', ...changes }: Access = {}): VectorStore {
  const { host, port, user, password, database: name } = { ...database.connection, ...changes };
  const url = `postgres://${encodeURIComponent(user)}:${encodeURIComponent(password)}@${host}:${port}/${name}${query}`;
  const store = openPgvector({ url, timeout_ms: timeoutMs, table });
  opened.push(store);
  return store;
}

describe('a connection to PostgreSQL', () => {
  it('with a wrong password reports the user, and never the password', async () => {
    const outcome = await open({ password: 'hunter2' }).existing(['a'], never);
    expect(outcome).toMatchObject({ kind: 'failed', code: 'authentication_failed' });
    expect(JSON.stringify(outcome)).toContain(database.connection.user);
    expect(JSON.stringify(outcome)).not.toContain('hunter2');
  });

  it('reports that the database does not exist, or that the server does not support TLS', async () => {
    expect(await open({ database: 'nowhere' }).existing(['a'], never)).toMatchObject({
      code: 'database_missing',
    });
    expect(await open({ query: '?sslmode=verify-full' }).existing(['a'], never)).toMatchObject({
      code: 'tls_error',
    });
  });

  it('waits for a locked table no longer than the timeout, and serves the next call', async () => {
    const store = open({ timeoutMs: 300 });
    valueOf(await store.existing(['a'], never));
    const client = await database.pool.connect();
    try {
      await client.query('begin; lock table chunks in access exclusive mode');
      expect(await store.existing(['a'], never)).toMatchObject({ kind: 'failed', code: 'timeout' });
      await client.query('rollback');
    } finally {
      client.release();
    }
    expect(valueOf(await store.existing(['a', 'b'], never))).toEqual(new Set(['a']));
  });

  it('is reopened after it breaks while idle', async () => {
    const store = open();
    valueOf(await store.existing(['a'], never));
    await database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and application_name = 'recalld vector store'`,
    );
    expect(await waitFor(async () => (await store.existing(['a'], never)).kind === 'ok')).toBe(true);
  });

  it('is abandoned immediately when the call is aborted, and the next call gets another', async () => {
    const store = open();
    valueOf(await store.existing(['a'], never));
    const client = await database.pool.connect();
    const waiting = async (): Promise<number> => {
      const { rows } = await client.query<{ count: number }>(
        `select count(*)::int as count from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows[0]?.count ?? 0;
    };
    try {
      await client.query('begin; lock table chunks in access exclusive mode');
      const controller = new AbortController();
      const pending = store.existing(['a'], controller.signal);
      pending.catch(() => undefined);
      await waitFor(async () => (await waiting()) === 1);
      const reason = new Error('the run was cancelled');
      controller.abort(reason);
      await expect(pending).rejects.toBe(reason);
      await client.query('rollback');
    } finally {
      client.release();
    }
    expect(valueOf(await store.existing(['a'], never))).toEqual(new Set(['a']));
  });

  it('to a database without pgvector reports an unsupported column type', async () => {
    await database.pool.query('create table arrays (key text, embedding real[], body text)');
    expect(await open({ table: 'arrays' }).describe(never)).toMatchObject({ code: 'unsupported_type' });
  });
});

import type pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { assertReachable } from '../../../../src/platform/postgres/outage.ts';
import { createPool } from '../../../../src/platform/postgres/pool.ts';
import { inTransaction } from '../../../../src/platform/postgres/transaction.ts';
import { administer, type DatabaseConnection, useDatabase } from '../../../support/database.ts';
import { freePort } from '../../../support/free-port.ts';
import { recordLog, silentLogger } from '../../../support/log.ts';
import { startTcpGate } from '../../../support/tcp-gate.ts';
import { waitFor } from '../../../support/wait-for.ts';

const database = useDatabase('empty');

function aPool(connection: pg.PoolConfig, logger = silentLogger): pg.Pool {
  const pool = createPool({ connection, size: 2, logger });
  onTestFinished(() => pool.end());
  return pool;
}

async function processId(db: pg.Pool | pg.PoolClient): Promise<number> {
  const { rows } = await db.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? 0;
}

/** Makes the server close a connection, as it does when it restarts or when an administrator ends the session. */
async function terminate(pid: number): Promise<void> {
  await administer('select pg_terminate_backend($1::integer, 5000)', [pid]);
}

/** Handles a rejection from the start, so that Node.js never reports it as unhandled. */
async function outcomeOf(query: Promise<unknown>): Promise<string> {
  return query.then(() => 'an answer', String);
}

describe('a pool', () => {
  it('survives the loss of an idle connection, reports it and opens another', async () => {
    const log = recordLog();
    const pool = aPool(database.connection, log.logger);
    await terminate(await processId(pool));
    await waitFor(() => log.entries.length > 0);
    expect(log.entries[0]).toMatchObject({ level: 'warn', message: 'an idle database connection was lost' });
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it('survives the loss of a connection in the middle of a query, which fails', async () => {
    const pool = aPool(database.connection);
    const outcome = outcomeOf(pool.query(`select pg_sleep(60), 'victim'`));
    const { pid } = await waitFor(async () => {
      const rows = await administer(
        `select pid from pg_stat_activity where datname = $1::text and query like '%victim%'`,
        [database.connection.database],
      );
      return rows[0] as { pid: number } | undefined;
    });
    await terminate(pid);
    expect(await outcome).toContain('terminating connection');
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it('ends a query that takes too long, and reports why', async () => {
    const pool = createPool({
      connection: database.connection,
      size: 1,
      logger: silentLogger,
      queryLimitMs: 1000,
    });
    onTestFinished(() => pool.end());
    await expect(pool.query('select pg_sleep(60)')).rejects.toThrow('statement timeout');
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it('releases the locks of a transaction that is idle for too long', async () => {
    const pool = createPool({ connection: database.connection, size: 2, logger: silentLogger, idleLimitMs: 2000 });
    onTestFinished(() => pool.end());
    const lock = `select pg_advisory_xact_lock(1)`;
    let isLocked = (_goOn: () => void): void => undefined;
    const locked = new Promise<() => void>((resolve) => {
      isLocked = resolve;
    });
    const still = outcomeOf(
      inTransaction(pool, async (client) => {
        await client.query(lock);
        await new Promise<void>((goOn) => isLocked(goOn));
        await client.query('select 1');
      }),
    );
    const goOn = await locked;
    await inTransaction(pool, (client) => client.query(lock));
    goOn();
    expect(await still).toMatch(/idle-in-transaction timeout|not queryable|Connection terminated/);
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it('abandons a query when the database stops responding without closing the connection', async () => {
    const gate = await startTcpGate(database.connection);
    const connection = { ...database.connection, host: gate.host, port: gate.port };
    const pool = createPool({ connection, size: 1, logger: silentLogger, queryLimitMs: 100 });
    onTestFinished(async () => {
      await gate.close();
      await pool.end();
    });
    await pool.query('select 1');
    gate.hold();
    await expect(pool.query('select 1')).rejects.toThrow('timeout');
    await gate.open();
    expect((await waitFor(() => pool.query('select 1 as one'))).rows).toEqual([{ one: 1 }]);
  });
});

describe('a transaction', () => {
  it('is rolled back when its work throws, and its connection serves the next one', async () => {
    const pool = createPool({ connection: database.connection, size: 1, logger: silentLogger });
    onTestFinished(() => pool.end());
    const work = inTransaction(pool, async (client) => {
      await client.query('create table undone ()');
      throw new Error('changed my mind');
    });
    await expect(work).rejects.toThrow('changed my mind');
    const { rows } = await pool.query(`select to_regclass('undone') as "table"`);
    expect(rows).toEqual([{ table: null }]);
    expect(await inTransaction(pool, processId)).toBe(await processId(pool));
  });

  it.each([
    ['between two of its statements', async () => undefined],
    ['in the middle of a statement', async (client: pg.PoolClient) => client.query('select pg_sleep(60)')],
  ])('fails, and the program continues, when its connection is lost %s', async (_, meanwhile) => {
    const pool = aPool(database.connection);
    const work = inTransaction(pool, async (client) => {
      await client.query('create table lost ()');
      const killed = terminate(await processId(client));
      await Promise.allSettled([killed, meanwhile(client)]);
      await client.query('select 1');
    });
    await expect(work).rejects.toThrow(/terminat|not queryable/);
    const { rows } = await pool.query(`select to_regclass('lost') as "table"`);
    expect(rows).toEqual([{ table: null }]);
  });
});

describe('a database that is unreachable', () => {
  const wrong: [string, (right: DatabaseConnection) => Promise<pg.PoolConfig> | pg.PoolConfig, RegExp][] = [
    ['nothing listens', async (right) => ({ ...right, port: await freePort() }), /127\.0\.0\.1:\d+ .*ECONNREFUSED/],
    [
      'the password is wrong',
      (right) => ({ ...right, password: 'not-the-password' }),
      /password authentication failed/,
    ],
    ['it does not exist', (right) => ({ ...right, database: 'no_such_database' }), /"no_such_database" does not exist/],
    [
      'it is given as a URL',
      async (right) => ({
        connectionString: `postgres://me:not-the-password@${right.host}:${await freePort()}/x`,
      }),
      /127\.0\.0\.1:\d+ .*ECONNREFUSED/,
    ],
    [
      'its socket does not exist',
      () => ({ connectionString: 'postgres:///x?user=me&password=not-the-password&host=/no/such/folder' }),
      /PostgreSQL at \/no\/such\/folder:5432 .*ENOENT/,
    ],
  ];

  it.each(wrong)('is named, with the reason and without the password, when %s', async (_, connection, message) => {
    const pool = aPool(await connection(database.connection));
    const error = await assertReachable(pool).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ name: 'RecalldError', code: 'database_unreachable', retryable: true });
    expect(error).toHaveProperty('message', expect.stringMatching(message));
    expect(String(error)).not.toContain('not-the-password');
    expect(String(error)).not.toContain(database.connection.password);
  });
});

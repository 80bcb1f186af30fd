import { readdirSync } from 'node:fs';
import path from 'node:path';
import type pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { compareSchema, migrate } from '../../../../src/platform/postgres/migrate.ts';
import { createPool } from '../../../../src/platform/postgres/pool.ts';
import { openJobQueue } from '../../../../src/platform/queue/bullmq.ts';
import { createDatabase, type DatabaseConnection, useDatabase } from '../../../support/database.ts';
import { silentLogger } from '../../../support/log.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { readSchema } from './schema.ts';

const files = readdirSync(path.resolve(import.meta.dirname, '../../../../migrations')).toSorted();

interface Fresh {
  readonly connection: DatabaseConnection;
  readonly pool: pg.Pool;
}

/** A database without tables, for one test. */
async function anEmptyDatabase(): Promise<Fresh> {
  const own = await createDatabase('empty');
  const { connection } = own;
  const pool = createPool({ connection, size: 3, logger: silentLogger });
  onTestFinished(async () => {
    await pool.end();
    await own.drop();
  });
  return { connection, pool };
}

async function tables(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select table_schema || '.' || table_name as name from information_schema.tables
      where table_schema not in ('pg_catalog', 'information_schema') order by 1`,
  );
  return rows.map(({ name }) => name);
}

describe('migrating', () => {
  it('an empty database brings it to the schema of this program', async () => {
    const { pool } = await anEmptyDatabase();
    expect((await compareSchema(pool)).pending).toBeGreaterThan(0);
    const { applied, version } = await migrate(pool);
    expect(applied).toHaveLength(files.length);
    expect(Number(files.at(-1)?.slice(0, 4))).toBe(version);
    expect(applied[0]).toBe('0001.do.access.sql');
    expect(await compareSchema(pool)).toEqual({ pending: 0, newer: [] });
  });

  it('twice changes nothing the second time', async () => {
    const { pool } = await anEmptyDatabase();
    const { version } = await migrate(pool);
    expect(await migrate(pool)).toEqual({ applied: [], version });
  });

  it('from ten processes at once works for all, and applies each file once', async () => {
    const { connection } = await anEmptyDatabase();
    const pools = Array.from({ length: 10 }, () => createPool({ connection, size: 1, logger: silentLogger }));
    onTestFinished(async () => {
      await Promise.all(pools.map((pool) => pool.end()));
    });
    const reports = await Promise.all(pools.map((pool) => migrate(pool)));
    const applied = reports.flatMap((report) => report.applied);
    expect(new Set(reports.map(({ version }) => version)).size).toBe(1);
    expect(applied).toHaveLength(files.length);
    expect(new Set(applied).size).toBe(applied.length);
  });

  it('leaves the database as it was when a file fails in the middle, and works once the cause is fixed', async () => {
    const { pool } = await anEmptyDatabase();
    await pool.query('create table golden_runs (mine text)');
    await expect(migrate(pool)).rejects.toThrow('"golden_runs" already exists');
    expect(await tables(pool)).toEqual(['public.golden_runs']);
    await pool.query('drop table golden_runs');
    expect((await migrate(pool)).applied).not.toEqual([]);
  });

  it('leaves the database as it was when it is killed in the middle', async () => {
    const { pool, connection } = await anEmptyDatabase();
    const victims = createPool({ connection: { ...connection }, size: 1, logger: silentLogger });
    const blocker = await pool.connect();
    onTestFinished(async () => {
      await victims.end();
    });
    // An uncommitted table makes the second file wait after the first file has been applied.
    await blocker.query('begin');
    await blocker.query('create table golden_runs ()');
    const outcome = migrate(victims).then(() => 'migrated', String);
    const pid = await waitFor(async () => {
      const { rows } = await pool.query<{ pid: number }>(
        `select pid from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like '%create table golden_runs%'`,
      );
      return rows[0]?.pid;
    });
    await pool.query('select pg_terminate_backend($1::integer, 5000)', [pid]);
    expect(await outcome).toContain('terminat');
    await blocker.query('rollback');
    blocker.release();
    expect(await tables(pool)).toEqual([]);
    expect((await migrate(pool)).applied).not.toEqual([]);
  });

  it('does not block sessions behind a table that is in use, and fails with a fix', async () => {
    const { pool } = await anEmptyDatabase();
    const holder = await pool.connect();
    await holder.query('begin');
    await holder.query('create table golden_runs ()');
    const quick = { lockMs: 50, attempts: 3, pauseMs: 10 };
    await expect(migrate(pool, quick)).rejects.toMatchObject({
      code: 'database_busy',
      message: expect.stringContaining('3 attempts'),
    });
    expect(await tables(pool)).toEqual([]);
    const patient = migrate(pool, { lockMs: 50, attempts: 1000, pauseMs: 10 });
    await holder.query('rollback');
    holder.release();
    expect((await patient).applied).toHaveLength(files.length);
  });

  it('does nothing to a database that a newer recalld has migrated', async () => {
    const { pool } = await anEmptyDatabase();
    await migrate(pool);
    await pool.query(`insert into recalld_schema_version (version, name) values (9999, 'from-the-future')`);
    expect(await migrate(pool)).toEqual({ applied: [], version: 9999 });
    expect(await compareSchema(pool)).toEqual({ pending: 0, newer: ['9999.from-the-future'] });
  });

  it('is refused when a newer recalld has made a breaking migration', async () => {
    const { pool } = await anEmptyDatabase();
    await migrate(pool);
    await pool.query(
      `insert into recalld_schema_version (version, name) values (9998, 'breaking-drop-it'), (9999, 'from-the-future')`,
    );
    const refusal = {
      name: 'RecalldError',
      code: 'schema_too_new',
      message: expect.stringMatching(/9999.*9998[.]breaking-drop-it/),
    };
    await expect(migrate(pool)).rejects.toMatchObject(refusal);
    await expect(compareSchema(pool)).rejects.toMatchObject(refusal);
  });

  it('is refused when a file that was applied has changed since', async () => {
    const { pool } = await anEmptyDatabase();
    await migrate(pool);
    await pool.query(`update recalld_schema_version set md5 = md5('another text') where version = 1`);
    await expect(migrate(pool)).rejects.toMatchObject({
      name: 'RecalldError',
      code: 'migration_changed',
      message: expect.stringContaining('[1]'),
    });
  });

  it('shares a database with the job queue, whichever comes first', async () => {
    const expected = ['bullmq.job', 'public.golden_runs', 'public.recalld_schema_version'];
    for (const queueFirst of [true, false]) {
      const { connection, pool } = await anEmptyDatabase();
      const openQueue = async (): Promise<void> => {
        const queue = await openJobQueue({
          backend: { kind: 'postgres', connection },
          jobs: [],
          logger: silentLogger,
        });
        await queue.close();
      };
      for (const step of queueFirst ? [openQueue, () => migrate(pool)] : [() => migrate(pool), openQueue]) await step();
      expect(await tables(pool)).toEqual(expect.arrayContaining(expected));
      expect(await compareSchema(pool)).toEqual({ pending: 0, newer: [] });
    }
  });
});

describe('the schema', () => {
  const database = useDatabase();

  it('equals the committed snapshot; a change requires a new migration and a new snapshot', async () => {
    await expect(await readSchema(database.pool)).toMatchFileSnapshot('schema.snapshot.txt');
  });
});

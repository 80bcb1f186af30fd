/** deploy/postgres: who migrates, who runs and who looks are roles of their own, and none may do more than its own. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPartitions, dayAfter, dropPartitionsBefore } from '../../src/adapters/postgres/partitions.ts';
import { createPool } from '../../src/adapters/postgres/pool.ts';
import { documents, type FaultServer, startFaultServer } from '../support/fault-server.ts';
import { silentLogger } from '../support/log.ts';
import { type OwnPostgres, startOwnPostgres } from '../support/own-postgres.ts';
import { aFolder, type Daemon, runRecalld, startRecalld } from '../support/recalld.ts';
import { aConfig, aGoldenCsv } from './golden-files.ts';

type Role = 'recalld_owner' | 'recalld_app' | 'recalld_grafana';

const sql = (name: string) =>
  readFileSync(path.resolve(import.meta.dirname, '../../deploy/postgres', name), 'utf8');

const cleanups: (() => Promise<void>)[] = [];
const atEnd = (clean: () => Promise<void>) => void cleanups.unshift(clean);

let server: OwnPostgres;
let retriever: FaultServer;
let folder = '';

const database = 'monitoring';
const urlOf = (role: Role) =>
  `postgres://${role}:secret@127.0.0.1:${server.connection.port}/${database}?sslmode=disable`;

function poolOf(connection: object): Pool {
  const pool = createPool({ connection, size: 2, logger: silentLogger });
  atEnd(() => pool.end());
  return pool;
}

const pools = new Map<Role, Pool>();
function as(role: Role): Pool {
  const pool = pools.get(role) ?? poolOf({ connectionString: urlOf(role) });
  pools.set(role, pool);
  return pool;
}

const recalld = (role: Role, ...args: readonly string[]) =>
  runRecalld(args, folder, { RECALLD_STORAGE_URL: urlOf(role) }, atEnd);

beforeAll(async () => {
  server = await startOwnPostgres();
  atEnd(() => server.close());
  retriever = await startFaultServer(documents(() => [{ id: 'd0', score: 1 }]));
  atEnd(() => retriever.close());
  folder = await aFolder(
    { 'recalld.yaml': aConfig({ url: retriever.url }), 'faq.csv': aGoldenCsv(3) },
    atEnd,
  );
  await poolOf(server.connection).query(`create database ${database}`);
  const admin = poolOf({ ...server.connection, database });
  await admin.query(sql('roles.sql'));
  for (const role of ['recalld_owner', 'recalld_app'])
    await admin.query(`alter role ${role} password 'secret'`);
  const migrated = await recalld('recalld_owner', 'migrate');
  if (migrated.code !== 0) throw new Error(migrated.stderr);
  await as('recalld_owner').query(sql('grants.sql'));
  await admin.query(sql('grafana-reader.sql'));
  await admin.query(`alter role recalld_grafana login password 'secret'`);
});

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

describe('the role that the daemon runs as', () => {
  let daemon: Daemon;
  const post = async (route: string, key: string, body: unknown): Promise<unknown> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
    return (await fetch(daemon.url + route, { method: 'POST', headers, body: JSON.stringify(body) })).json();
  };

  it('takes in live queries, imports and runs golden sets, and keeps its queue', async () => {
    daemon = await startRecalld(['serve'], folder, { RECALLD_STORAGE_URL: urlOf('recalld_app') }, atEnd);
    const made = await recalld(
      'recalld_app',
      'keys',
      'create',
      '--name',
      'rag',
      '--scope',
      'ingest',
      '--json',
    );
    const { key } = JSON.parse(made.stdout) as { key: string };
    const query = { id: 'q1', pipeline: 'docs', text: 'how?', results: [{ id: 'd0' }] };
    expect(await post('/v1/queries', key, query)).toMatchObject({ accepted: 1, rejected: [] });
    const thumb = { query_id: 'q1', pipeline: 'docs', kind: 'thumb', value: 'up' };
    expect(await post('/v1/feedback', key, thumb)).toMatchObject({ accepted: 1, rejected: [] });

    expect(await recalld('recalld_app', 'golden', 'import', 'faq.csv', '--set', 'faq')).toMatchObject({
      code: 0,
    });
    const ran = await recalld('recalld_app', 'golden', 'run', '--pipeline', 'docs', '--set', 'faq', '--json');
    expect({ code: ran.code, run: JSON.parse(ran.stdout) as unknown }).toMatchObject({
      code: 0,
      run: { status: 'completed', queries: { total: 3, ok: 3 } },
    });
    expect(await daemon.stop()).toMatchObject({ code: 0 });
    expect(daemon.stderr()).not.toContain('permission denied');
  });

  it('makes the partitions of each day, and retention drops them', async () => {
    const app = as('recalld_app');
    await createPartitions(app, new Date('2026-01-10T00:00:00Z'));
    const dropped = await dropPartitionsBefore(app, '2026-01-12');
    expect(dropped).toEqual(expect.arrayContaining(['live_queries_20260109', 'query_coverage_20260111']));
    await app.query('truncate trace_fragments_0');
  });

  it.each([
    'drop table golden_runs',
    'alter table golden_queries drop column text',
    'truncate golden_runs',
    'drop schema public cascade',
    'drop database monitoring',
    'create role helper',
    'create schema elsewhere',
    'create extension file_fdw',
    'update recalld_schema_version set version = 0',
    'drop table bullmq.job cascade',
    'set role recalld_owner',
  ])('may not: %s', async (statement) => {
    await expect(as('recalld_app').query(statement)).rejects.toThrow(/permission denied|must be owner/);
  });
});

describe('the role that dashboards read with', () => {
  it('sees scores, and no text of a user', async () => {
    const reader = as('recalld_grafana');
    const { rows } = await reader.query('select status from golden_runs');
    expect(rows).toEqual([{ status: 'completed' }]);
    await expect(reader.query('select text from live_queries')).rejects.toThrow('permission denied');
  });

  it.each([
    'delete from golden_runs',
    'insert into golden_runs select * from golden_runs',
    'create table notes (text text)',
    'create temporary table notes (text text)',
    'drop table golden_runs',
  ])('may not: %s', async (statement) => {
    const reader = as('recalld_grafana');
    // Who may not write is not helped by a session that may.
    const write = `set transaction read write; ${statement}`;
    await expect(reader.query(write)).rejects.toThrow(/permission denied|must be owner/);
  });
});

describe('the role that migrates', () => {
  it('may change a table whose partitions the daemon made', async () => {
    const owner = await as('recalld_owner').connect();
    try {
      await owner.query('begin');
      const changes =
        'alter table live_queries add column weather text; create index weather on live_queries (weather)';
      await expect(owner.query(changes)).resolves.toHaveLength(2);
    } finally {
      await owner.query('rollback');
      owner.release();
    }
  });

  it('finds nothing left to do, and its grants may be given again', async () => {
    const again = await recalld('recalld_owner', 'migrate', '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ applied: [] });
    await as('recalld_owner').query(sql('grants.sql'));
  });
});

describe('a daemon whose role lacks its rights', () => {
  it('says where they are', async () => {
    const owner = as('recalld_owner');
    const tomorrow = dayAfter(new Date(), 1).replaceAll('-', '');
    await owner.query(`drop table feedback_${tomorrow}`);
    await owner.query('alter table feedback owner to recalld_owner');
    expect(await recalld('recalld_app', 'serve')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /recalld: The role of storage\.url lacks a right in the database \(must be owner of table feedback\); .*grants\.sql/,
      ),
    });
  });
});

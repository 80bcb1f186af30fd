/**
 * The database roles that docker-compose.yml creates from deploy/postgres: one migrates the schema, one runs the
 * daemon, one reads, and none has more privileges than it needs.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createPartitions, dayAfter, dropPartitionsBefore } from '../../src/platform/postgres/partitions.ts';
import { createPool } from '../../src/platform/postgres/pool.ts';
import { readCompose } from '../support/compose-file.ts';
import { documents, type FaultServer, startFaultServer } from '../support/fault-server.ts';
import { silentLogger } from '../support/log.ts';
import { type OwnPostgres, startOwnPostgres } from '../support/own-postgres.ts';
import { aFolder, type Daemon, runRecalld, startRecalld } from '../support/recalld.ts';
import { aConfig, aGoldenCsv } from './golden-files.ts';

type Role = 'recalld_owner' | 'recalld_app' | 'recalld_grafana';

const { compose, filled } = readCompose();
const cleanups: (() => Promise<void>)[] = [];
const atEnd = (clean: () => Promise<void>) => void cleanups.unshift(clean);

let server: OwnPostgres;
let retriever: FaultServer;
let folder = '';

const hosts = new Map<string, string>();
/** Replaces the host in a database URL from the compose file with the address of the database on this machine. */
const here = (url: string): string => {
  const { protocol, username, password, hostname, pathname } = new URL(url);
  return `${protocol}//${username}:${password}@127.0.0.1:${hosts.get(hostname)}${pathname}?sslmode=disable`;
};
const valueOf = (service: string, variable: string): string =>
  filled(compose.services[service]?.environment?.[variable] ?? '');
const urlOf = (role: Role): string =>
  role === 'recalld_grafana'
    ? here(`postgres://${role}:${valueOf('grafana', 'GRAFANA_POSTGRES_PASSWORD')}@postgres/${database()}`)
    : here(valueOf(role === 'recalld_owner' ? 'migrate' : 'api', 'RECALLD_STORAGE_URL'));
const database = (): string => valueOf('postgres', 'POSTGRES_DB');

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
  server = await startOwnPostgres(inject('newCluster'));
  atEnd(() => server.close());
  retriever = await startFaultServer(documents(() => [{ id: 'd0', score: 1 }]));
  atEnd(() => retriever.close());
  folder = await aFolder({ 'recalld.yaml': aConfig({ url: retriever.url }), 'faq.csv': aGoldenCsv(3) }, atEnd);
  hosts.set('postgres', String(server.connection.port));
  const superuser = valueOf('postgres', 'POSTGRES_USER');
  await poolOf(server.connection).query(
    `create role ${superuser} superuser login password '${valueOf('postgres', 'POSTGRES_PASSWORD')}'`,
  );
  for (const name of beforeThem(['api', 'worker', 'scheduler', 'grafana'])) await runOnce(name);
});

/** Returns the services that must run to completion before the named services start, in a valid order. */
function beforeThem(names: readonly string[], seen: readonly string[] = []): string[] {
  const order: string[] = [];
  for (const name of names) {
    for (const [needed, { condition }] of Object.entries(compose.services[name]?.depends_on ?? {})) {
      if (condition !== 'service_completed_successfully' || [...seen, ...order].includes(needed)) continue;
      order.push(...beforeThem([needed], [...seen, ...order]), needed);
    }
  }
  return order;
}

/** Runs a service's command from the compose file: psql with its SQL files, or recalld with its arguments. */
async function runOnce(name: string): Promise<void> {
  const { command = [], environment = {}, volumes = [], entrypoint } = compose.services[name] ?? {};
  if (entrypoint === undefined) {
    const args = command.map((part) => (part === '/etc/recalld/recalld.yaml' ? 'recalld.yaml' : part));
    const ran = await runRecalld(
      args,
      folder,
      { RECALLD_STORAGE_URL: here(valueOf(name, 'RECALLD_STORAGE_URL')) },
      atEnd,
    );
    if (ran.code !== 0) throw new Error(`${name}: ${ran.stderr}`);
    return;
  }
  const line = filled(command[0] ?? '').replaceAll(/"\$(\w+)"/g, (_, variable: string) => valueOf(name, variable));
  const values = new Map([...line.matchAll(/-v (\w+)=(\S+)/g)].map(([, key = '', value = '']) => [key, value]));
  const [from = '', to = ''] = filled(volumes[0] ?? '').split(':');
  const { PGUSER: user = '', PGPASSWORD: password = '', PGHOST: host = '' } = environment;
  const pool = poolOf({
    connectionString: here(`postgres://${user}:${filled(password)}@${host}/${valueOf(name, 'PGDATABASE')}`),
  });
  const files = [...line.matchAll(/-f (\S+)/g)].map(([, file = '']) => file.replace(to, from));
  expect({ name, psql: line.startsWith('psql -v ON_ERROR_STOP=1 '), files: files.length }).toEqual({
    name,
    psql: true,
    files: 2,
  });
  for (const file of files) {
    const text = readFileSync(path.resolve(import.meta.dirname, '../..', file), 'utf8');
    await pool.query(text.replaceAll(/:'(\w+)'/g, (_, key: string) => `'${values.get(key)}'`));
  }
}

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

it('the services in docker-compose.yml create the roles, then the tables, and then the read privileges for Grafana', () => {
  expect(beforeThem(['api', 'worker', 'scheduler', 'grafana'])).toEqual(['roles', 'migrate', 'grafana-reader']);
});

describe('the role of the daemon', () => {
  let daemon: Daemon;
  const post = async (route: string, key: string, body: unknown): Promise<unknown> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
    return (await fetch(daemon.url + route, { method: 'POST', headers, body: JSON.stringify(body) })).json();
  };

  it('can ingest live queries, import and run golden sets, and use its queue', async () => {
    daemon = await startRecalld(['serve'], folder, { RECALLD_STORAGE_URL: urlOf('recalld_app') }, atEnd);
    const made = await recalld('recalld_app', 'keys', 'create', '--name', 'rag', '--scope', 'ingest', '--json');
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

  it('is not a superuser, cannot create roles or databases, and owns only the five time-partitioned tables', async () => {
    const app = as('recalld_app');
    const { rows } = await app.query(
      `select current_user as name, rolsuper or rolcreaterole or rolcreatedb or rolbypassrls or rolreplication as is_mighty
         from pg_roles where rolname = current_user`,
    );
    expect(rows).toEqual([{ name: 'recalld_app', is_mighty: false }]);
    const owned = await app.query<{ name: string }>(
      `select relname as name from pg_class
        where relowner = current_user::regrole and relkind in ('r', 'p') and not relispartition order by 1`,
    );
    expect(owned.rows.map(({ name }) => name)).toEqual([
      'feedback',
      'live_queries',
      'measurement_hours',
      'measurements',
      'query_coverage',
    ]);
  });

  it('can create the partitions of a day, and drop those past the retention period', async () => {
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
    'drop database recalld',
    'create role helper',
    'create schema elsewhere',
    'create extension file_fdw',
    'update recalld_schema_version set version = 0',
    'drop table bullmq.job cascade',
    'set role recalld_owner',
    'set role postgres',
    `copy live_queries to program 'cat'`,
  ])('may not: %s', async (statement) => {
    await expect(as('recalld_app').query(statement)).rejects.toThrow(/permission denied|must be owner/);
  });
});

describe('the role of the dashboards', () => {
  it('can read golden runs, but not the text of live queries', async () => {
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
    // A read-write transaction does not give this role write privileges.
    const write = `set transaction read write; ${statement}`;
    await expect(reader.query(write)).rejects.toThrow(/permission denied|must be owner/);
  });
});

describe('the role for migrations', () => {
  it('can change a table whose partitions the daemon created', async () => {
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

  it('applies no migration the second time, and can repeat its grants', async () => {
    const again = await recalld('recalld_owner', 'migrate', '--grant', '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ applied: [] });
  });

  it('can repeat its grants while another transaction reads the tables', async () => {
    const reading = await as('recalld_app').connect();
    try {
      await reading.query('begin; select from live_queries limit 1; select from feedback limit 1');
      expect(await recalld('recalld_owner', 'migrate', '--grant')).toMatchObject({ code: 0 });
    } finally {
      await reading.query('rollback');
      reading.release();
    }
  });

  it('gets an error if the role that receives the grants does not exist', async () => {
    const other = await startOwnPostgres(inject('newCluster'));
    atEnd(() => other.close());
    const { user, password, port, database: name } = other.connection;
    const url = `postgres://${user}:${password}@127.0.0.1:${port}/${name}?sslmode=disable`;
    const ran = await runRecalld(['migrate', '--grant'], folder, { RECALLD_STORAGE_URL: url }, atEnd);
    expect(ran).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('role recalld_app does not exist on the server; run deploy/postgres/roles.sql'),
    });
  });
});

describe('a daemon whose role lacks a privilege', () => {
  it('names the missing privilege and the command that grants it', async () => {
    const owner = as('recalld_owner');
    const tomorrow = dayAfter(new Date(), 1).replaceAll('-', '');
    await owner.query(`drop table feedback_${tomorrow}`);
    await owner.query('alter table feedback owner to recalld_owner');
    expect(await recalld('recalld_app', 'serve')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /recalld: The role in storage\.url lacks a privilege in the database \(must be owner of table feedback\); .*recalld migrate --grant/,
      ),
    });
  });
});

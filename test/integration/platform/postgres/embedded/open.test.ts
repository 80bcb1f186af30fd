import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  openEmbeddedPostgres,
} from '../../../../../src/platform/postgres/embedded/open.ts';
import { recordLog, silentLogger } from '../../../../support/log.ts';
import { waitFor } from '../../../../support/wait-for.ts';
import { cleanUp, endOpeners, processesIn, query, startOpener, temporaryFolder } from './harness.ts';

let dataDir: string;
const opened: EmbeddedPostgres[] = [];

async function open(options: Partial<EmbeddedPostgresOptions> = {}): Promise<EmbeddedPostgres> {
  const database = await openEmbeddedPostgres({
    dataDir,
    purpose: 'daemon',
    logger: silentLogger,
    ...options,
  });
  opened.push(database);
  return database;
}

beforeAll(async () => {
  dataDir = join(await temporaryFolder(), 'made at the first use');
});

afterEach(async () => {
  await endOpeners();
  for (const database of opened.splice(0)) await database.stop();
});

afterAll(cleanUp);

describe('one process', () => {
  it('gets a database whose data survive a restart', async () => {
    const first = await open();
    expect(first.startedHere).toBe(true);
    await query(first.connection, 'create table kept (value text)');
    await query(first.connection, `insert into kept values ('naïve ☃')`);
    await first.stop();

    const second = await open();
    expect(await query(second.connection, 'select value from kept')).toEqual([{ value: 'naïve ☃' }]);
  });

  it('gets a database that keeps committed data on disk and behaves the same on every machine', async () => {
    const { connection } = await open();
    const names = ['fsync', 'synchronous_commit', 'full_page_writes', 'TimeZone', 'server_encoding'];
    const rows = await query(
      connection,
      `select name, setting from pg_settings where name in ('${names.join(`', '`)}') order by name`,
    );
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      TimeZone: 'UTC',
      server_encoding: 'UTF8',
    });
    const collation = `select datcollate from pg_database where datname = 'recalld'`;
    expect(await query(connection, collation)).toEqual([{ datcollate: 'C' }]);
  });

  it('listens on loopback only and requires the password', async () => {
    const { connection } = await open();
    expect(connection.host).toBe('127.0.0.1');
    expect(await query(connection, `show listen_addresses`)).toEqual([{ listen_addresses: '127.0.0.1' }]);
    expect(await query(connection, `show unix_socket_directories`)).toEqual([{ unix_socket_directories: '' }]);
    await expect(query({ ...connection, password: 'guessed' }, 'select 1')).rejects.toMatchObject({
      code: '28P01',
    });
  });

  it('stores the password in one file and nowhere else', async () => {
    const { logger, entries } = recordLog();
    const { connection } = await open({ logger });
    const cluster = join(dataDir, 'postgres');
    const file = join(cluster, 'recalld.password');
    expect((await stat(file)).mode & 0o077).toBe(0);
    expect((await readFile(file, 'utf8')).trim()).toBe(connection.password);
    expect(await readFile(join(dataDir, 'postgres.log'), 'utf8')).not.toContain(connection.password);
    expect(await readFile(join(dataDir, 'owner.json'), 'utf8')).not.toContain(connection.password);
    expect(JSON.stringify(entries)).not.toContain(connection.password);
    for (const pid of processesIn(cluster)) {
      expect(await readFile(`/proc/${pid}/cmdline`, 'utf8')).not.toContain(connection.password);
      expect(await readFile(`/proc/${pid}/environ`, 'utf8')).not.toContain(connection.password);
    }
  });

  it('writes no statement text to the database log', async () => {
    const { connection } = await open();
    await expect(query(connection, `select 'my secret question'::integer`)).rejects.toMatchObject({
      code: '22P02',
    });
    await expect(query(connection, `select nonsense('my secret question')`)).rejects.toMatchObject({
      code: '42883',
    });
    expect(await readFile(join(dataDir, 'postgres.log'), 'utf8')).not.toContain('secret');
  });

  it('may stop twice, and leaves no process and no owner file', async () => {
    const database = await open();
    await Promise.all([database.stop(), database.stop()]);
    await database.stop();
    expect(existsSync(join(dataDir, 'owner.json'))).toBe(false);
    expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);
    expect(processesIn(dataDir)).toEqual([]);
  });

  it('reports when the database dies, and recovers its data at the next start', async () => {
    const database = await open();
    await query(database.connection, 'create table committed as select 1 as value');
    const [pid = ''] = (await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
    process.kill(Number(pid), 'SIGKILL');
    const error = await database.died;
    expect(error.code).toBe('database_unreachable');
    expect(error.message).toContain(dataDir);
    await waitFor(() => processesIn(dataDir).length === 0);
    await database.stop();

    const next = await open();
    expect(await query(next.connection, 'select value from committed')).toEqual([{ value: 1 }]);
  });

  it('may reopen a crashed database immediately even if a statement is still running in it', async () => {
    const database = await open();
    const statement = query(database.connection, 'select count(*) from generate_series(1, 10000000)').catch(() => []);
    await waitFor(async () => {
      const [row] = await query(
        database.connection,
        `select count(*)::integer as running from pg_stat_activity where state = 'active' and query like '%series%'
           and pid <> pg_backend_pid()`,
      );
      return row?.['running'] === 1;
    });
    const [pid = ''] = (await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
    process.kill(Number(pid), 'SIGKILL');
    await database.died;
    await database.stop();
    const next = await open();
    expect(await query(next.connection, 'select 1 as answer')).toEqual([{ answer: 1 }]);
    await statement;
  });

  it('restarts its database on the same port, or reports that another process has the port', async () => {
    const database = await open();
    const { port } = database.connection;
    const [pid = ''] = (await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
    process.kill(Number(pid), 'SIGKILL');
    await database.died;
    await waitFor(() => processesIn(dataDir).length === 0);
    const other = createServer();
    await once(other.listen(port, '127.0.0.1'), 'listening');
    await expect(database.restart()).rejects.toMatchObject({
      code: 'embedded_database_failed',
      message: expect.stringContaining('could not create any TCP/IP sockets'),
    });
    await new Promise((closed) => other.close(closed));
    await database.restart();
    expect(await query(database.connection, 'select 1 as answer')).toEqual([{ answer: 1 }]);
  });

  it('does not report a death after stopping the database itself', async () => {
    const database = await open();
    let died = false;
    void database.died.then(() => {
      died = true;
      return died;
    });
    await database.stop();
    expect(died).toBe(false);
  });

  it('is not misled by settings for PostgreSQL clients in its environment', async () => {
    const before = { ...process.env };
    Object.assign(process.env, { PGSSLMODE: 'require', PGPORT: '1', PGDATA: '/nowhere', PGUSER: 'somebody' });
    try {
      const { connection } = await open();
      expect(await query(connection, 'select current_user')).toEqual([{ current_user: 'recalld' }]);
    } finally {
      process.env = before;
    }
  });

  it.each([0, 30, 120, 400])('that aborts %i ms into the first start leaves nothing behind', async (ms) => {
    const folder = join(await temporaryFolder(), 'data');
    const abort = new AbortController();
    const reason = new Error('changed my mind');
    setTimeout(() => abort.abort(reason), ms);
    const start = openEmbeddedPostgres({
      dataDir: folder,
      purpose: 'daemon',
      logger: silentLogger,
      signal: abort.signal,
    });
    // On a fast machine, the database may be ready before the abort.
    const outcome: unknown = await start.then(
      (database) => database.stop(),
      (error: unknown) => error,
    );
    expect([reason, undefined]).toContain(outcome);
    expect(processesIn(folder)).toEqual([]);
    const left = await readdir(folder);
    expect(left.filter((name) => !['postgres', 'postgres.log'].includes(name))).toEqual([]);
    const database = await open({ dataDir: folder });
    expect(await query(database.connection, 'select 1 as answer')).toEqual([{ answer: 1 }]);
  });
});

describe('two processes', () => {
  it('cannot both be daemons on one folder: the second reports the first, which continues', async () => {
    const daemon = startOpener(dataDir);
    await daemon.report('ready');
    const refusal = await open().catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'data_dir_in_use' });
    expect(String(refusal)).toContain(dataDir);
    expect(String(refusal)).toContain(String(daemon.pid));
    expect(String(refusal)).toContain('storage.data_dir');

    const command = await open({ purpose: 'command' });
    expect(await query(command.connection, 'select 1 as answer')).toEqual([{ answer: 1 }]);
  });

  it('share the database if one is the daemon and the other a command', async () => {
    const daemon = startOpener(dataDir);
    const { port } = await daemon.report('ready');
    const command = await open({ purpose: 'command' });
    expect(command.startedHere).toBe(false);
    expect(command.connection.port).toBe(port);
    await command.stop();
    expect(await query(command.connection, 'select 1 as answer')).toEqual([{ answer: 1 }]);
    daemon.kill('SIGTERM');
    expect(await daemon.exited).toEqual({ code: 0, signal: null });
  });

  it('take turns if both are commands, and the second reports which process it waits for', async () => {
    const first = startOpener(dataDir, { purpose: 'command' });
    expect((await first.report('ready')).startedHere).toBe(true);
    const { logger, entries } = recordLog();
    const second = open({ purpose: 'command', logger });
    await waitFor(() => entries.length > 0);
    expect(entries).toMatchObject([{ message: expect.stringContaining(`process ${first.pid}`) }]);
    first.kill('SIGTERM');
    expect((await second).startedHere).toBe(true);
    expect(entries.filter(({ message }) => message.includes('Waiting'))).toHaveLength(1);
  });

  it('take turns if a daemon starts while a command is running', async () => {
    const command = startOpener(dataDir, { purpose: 'command' });
    await command.report('ready');
    const daemon = startOpener(dataDir, { purpose: 'daemon' });
    expect((await daemon.report('log')).message).toContain(`process ${command.pid}`);
    command.kill('SIGTERM');
    expect((await daemon.report('ready')).startedHere).toBe(true);
  });

  it('do not wait forever for each other', async () => {
    const first = startOpener(dataDir, { purpose: 'command' });
    await first.report('ready');
    const refusal = await open({ purpose: 'command', waitLimitMs: 200 }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'data_dir_in_use' });
    expect(String(refusal)).toContain(String(first.pid));
  });

  it('report that the daemon is running but its database does not respond', async () => {
    const daemon = startOpener(dataDir);
    await daemon.report('ready');
    const [pid = ''] = (await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
    process.kill(Number(pid), 'SIGKILL');
    await daemon.report('died');
    const refusal = await open({ purpose: 'command', waitLimitMs: 200 }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'database_unreachable' });
    expect(String(refusal)).toContain(String(daemon.pid));
    daemon.kill('SIGTERM');
    expect(await daemon.exited).toEqual({ code: 0, signal: null });
    expect((await open({ purpose: 'command' })).startedHere).toBe(true);
  });

  it('and more that open a new folder at the same moment all get their database', async () => {
    const folder = join(await temporaryFolder(), 'data');
    const purposes = ['command', 'command', 'daemon', 'command'] as const;
    const openers = purposes.map((purpose) => startOpener(folder, { purpose, manner: 'leave' }));
    for (const opener of openers) {
      expect(await opener.exited).toEqual({ code: 0, signal: null });
      await opener.report('ready');
      expect(opener.stderr()).toBe('');
    }
    expect((await readdir(folder)).toSorted()).toEqual(['postgres', 'postgres.log']);
  });
});

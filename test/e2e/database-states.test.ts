import { Redis } from 'ioredis';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { administer, queryDatabase, urlOf } from '../support/database.ts';
import { anInstallation, type InstalledDaemon } from '../support/installation.ts';
import { logLines } from '../support/recalld.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const config = `
server: {port: 0}
storage: {statement_seconds: 1}
pipelines:
  - name: docs
    retriever: {kind: http, url: 'http://127.0.0.1:9/search', body: {q: '{{text}}'}, results: {list: results, id: id}}
    sampling: {rate: 1}
`;

let ids = 0;
const aQuery = () => ({ id: `q-${(ids += 1)}`, pipeline: 'docs', text: 'how?', results: [{ id: 'a' }] });

async function readiness(daemon: InstalledDaemon) {
  const response = await daemon.fetch('/readyz');
  const body = (await response.json()) as Record<'not_ready' | 'degraded', { name: string; reason: string }[]>;
  return { status: response.status, ...body };
}

describe('a database that responds but cannot serve requests', () => {
  it('causes 503, and not 500, on ingest and read routes while its tables are locked', async () => {
    const { connection, serve } = await anInstallation({ 'recalld.yaml': config });
    const daemon = await serve();
    const holder = new Client(connection);
    await holder.connect();
    onTestFinished(() => holder.end());
    await holder.query(
      'begin; lock table live_queries, feedback, golden_runs, measurements, deployments in access exclusive mode',
    );
    const sent = await Promise.all([
      daemon.post('/v1/queries', aQuery()),
      daemon.post('/v1/feedback', { query_id: 'q', pipeline: 'docs', kind: 'thumb', value: 1 }),
      daemon.post('/v1/deployments', { pipeline: 'docs', kind: 'index', version: '2' }),
    ]);
    for (const { status, body } of sent)
      expect({ status, body }).toMatchObject({ status: 503, body: { code: 'database_busy' } });
    const read = ['/v1/golden-runs', '/v1/deployments', '/v1/pipelines/docs/status'];
    expect(await Promise.all(read.map(async (route) => (await daemon.fetch(route)).status))).toEqual([503, 503, 503]);
    await holder.query('rollback');
    expect((await daemon.post('/v1/queries', aQuery())).status).toBe(202);
  });

  it('makes the daemon not ready while the database is read-only, as after a failover, and ready once it accepts writes', async () => {
    const { connection, serve, recalld } = await anInstallation({ 'recalld.yaml': config });
    const daemon = await serve();
    const { database } = connection;
    const turn = async (readOnly: 'on' | 'off'): Promise<void> => {
      await administer(`alter database ${database} set default_transaction_read_only = ${readOnly}`);
      await administer(
        'select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
        [database],
      );
    };
    await turn('on');
    const away = await waitFor(async () => {
      const found = await readiness(daemon);
      return found.not_ready.some(({ reason }) => reason.includes('read-only')) ? found : undefined;
    });
    expect(away.status).toBe(503);
    expect(away.not_ready.map(({ name }) => name)).toContain('database');
    expect(await daemon.post('/v1/queries', aQuery())).toMatchObject({
      status: 503,
      body: { code: 'database_read_only', detail: expect.stringContaining('read-only') },
    });
    const doctor = await recalld('doctor');
    expect(doctor.stdout).toMatch(/WRONG +database: .*read-only/);
    await turn('off');
    await waitFor(async () => (await readiness(daemon)).status === 200);
    expect((await daemon.post('/v1/queries', aQuery())).status).toBe(202);
  });

  it('is refused with an error that names the schema missing from the search path', async () => {
    const { connection, recalld } = await anInstallation({ 'recalld.yaml': config });
    await administer(`alter database ${connection.database} set search_path = elsewhere`);
    const { code, stderr } = await recalld('keys list');
    expect(code).toBe(2);
    expect(stderr).toMatch(/schema public, .*search_path .*elsewhere/);
  });
});

describeWithRedis('a daemon on a Redis server that evicts keys', () => {
  it('is ready but degraded, and warns once, only in its log', async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const admin = new Redis(redis.url);
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    admin.disconnect();
    const queue = `queue: {backend: redis, url: '${redis.url}'}\n`;
    const { serve, recalld } = await anInstallation({ 'recalld.yaml': `${config}${queue}` });
    const daemon = await serve();
    const degraded = [{ name: 'queue', reason: expect.stringContaining('allkeys-lru') }];
    expect(await readiness(daemon)).toMatchObject({ status: 200, degraded });
    expect((await recalld('doctor')).stdout).toMatch(/WRONG +queue: .*allkeys-lru/);
    const { stderr } = await daemon.stop();
    const lines = stderr.split('\n').filter((line) => line !== '');
    expect(lines.filter((line) => !line.startsWith('{'))).toEqual([]);
    expect(lines.filter((line) => /evict|allkeys-lru/i.test(line))).toHaveLength(1);
  });
});

describeWithRedis('two deployments with the same key prefix on one Redis server', () => {
  it('are kept apart: the second is refused, but not another replica or the first with a new database address', async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const files = { 'recalld.yaml': `${config}queue: {backend: redis, url: '${redis.url}'}\n` };
    const first = await anInstallation(files);
    const second = await anInstallation(files);
    await queryDatabase(second.connection, 'update installation set id = gen_random_uuid()');
    const daemon = await first.serve();
    await (await first.serve()).stop();

    const refused = await second.spawn('serve').finished;
    expect(refused.code).toBe(2);
    for (const name of [first.connection.database, second.connection.database, 'queue.prefix', '{recalld}:owner'])
      expect(refused.stderr).toContain(name);
    const { code, stdout } = await second.recalld('doctor');
    expect(code).not.toBe(0);
    expect(stdout).toMatch(new RegExp(`WRONG +queue: .*${first.connection.database}`));

    await daemon.stop();
    const moved = await anInstallation(files, {
      database: 'none',
      env: { RECALLD_STORAGE_URL: urlOf({ ...first.connection, host: 'localhost' }) },
    });
    const running = moved.spawn('serve');
    await waitFor(() => logLines(running.stderr()).some(({ msg }) => msg === 'recalld is ready'));
    running.child.kill('SIGTERM');
    expect((await running.finished).code).toBe(0);
  });
});

/**
 * recalld reads the data that users request from a replica of the database. If the replica lags, hangs or dies, recalld
 * reports the problem and continues.
 */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { documents, startFaultServer } from '../support/fault-server.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { aFolder, logLines, runRecalld } from '../support/recalld.ts';
import { type ReplicatedPostgres, startReplicatedPostgres } from '../support/replicated-postgres.ts';
import { startTcpGate, type TcpGate } from '../support/tcp-gate.ts';
import { waitFor } from '../support/wait-for.ts';
import { aGoldenCsv, rightAnswer } from './golden-files.ts';

describe('a fleet with a replica for reads', () => {
  let databases: ReplicatedPostgres;
  /** The TCP relay in front of the read replica. */
  let gate: TcpGate;
  let fleet: Fleet;
  let folder: string;
  let sent = 0;
  const cleanups: (() => Promise<void>)[] = [];
  const atEnd = (clean: () => Promise<void>): void => void cleanups.unshift(clean);

  beforeAll(async () => {
    databases = await startReplicatedPostgres(inject('newCluster'));
    atEnd(() => databases.close());
    gate = await startTcpGate(databases.replica.connection);
    atEnd(() => gate.close());
    const retriever = await startFaultServer(documents(rightAnswer));
    atEnd(() => retriever.close());
    folder = await aFolder({ 'faq.csv': aGoldenCsv(5) }, atEnd);
    fleet = await startFleet({
      folder,
      postgres: databases.primary,
      redis: null,
      roles: ['api', 'worker'],
      storage: `read_url: "${databases.replica.url.replace(/:\d+\//, `:${gate.port}/`)}"`,
      pipelines: `pipelines:
  - name: docs
    retriever: {kind: http, url: "${retriever.url}/search", timeout_ms: 60000}
    golden: [{set: faq}]
`,
      atEnd,
    });
    const imported = ['golden', 'import', 'faq.csv', '--set', 'faq', '--config', 'member-0.yaml'];
    const { code, stderr } = await runRecalld(imported, folder, {}, atEnd);
    if (code !== 0) throw new Error(stderr);
  }, 180_000);

  afterAll(async () => {
    for (const clean of cleanups) await clean();
  });

  const api = () => {
    const [url = ''] = fleet.apis();
    return url;
  };
  const get = (path: string): Promise<Response> =>
    fetch(`${api()}${path}`, { headers: { authorization: `Bearer ${fleet.key}` } });
  const post = (path: string, body: unknown): Promise<Response> =>
    fetch(`${api()}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${fleet.key}` },
      body: JSON.stringify(body),
    });
  const sendThumb = async (): Promise<void> => {
    sent += 1;
    const thumb = { id: `t${sent}`, query_id: `q${sent}`, pipeline: 'docs', kind: 'thumb', value: 'up' };
    expect((await post('/v1/feedback', thumb)).status).toBe(202);
  };
  const thumbsSeen = async (): Promise<number> => {
    const response = await get('/v1/feedback/summary?pipeline=docs');
    expect(response.status).toBe(200);
    const { pipelines } = (await response.json()) as {
      pipelines: { opinions: { all: { all?: { n: number } } } }[];
    };
    return pipelines[0]?.opinions.all.all?.n ?? 0;
  };
  const readiness = async () => {
    const response = await fetch(`${api()}/readyz`);
    const { degraded } = (await response.json()) as { degraded: { name: string; reason: string }[] };
    return { status: response.status, degraded };
  };
  const isDegraded = () =>
    waitFor(async () => {
      const { status, degraded } = await readiness();
      expect(status).toBe(200);
      return degraded.some(({ name, reason }) => name === 'replica' && reason.includes('storage.read_url'));
    });
  const isWhole = () => waitFor(async () => (await readiness()).degraded.length === 0);
  const doctor = async () => {
    const { code, stdout } = await runRecalld(['doctor', '--json', '--config', 'member-0.yaml'], folder);
    const { findings } = JSON.parse(stdout) as { findings: { service: string; message: string }[] };
    return { code, findings };
  };
  const doctorOnReplica = async () => {
    const { code, findings } = await doctor();
    return { code, finding: findings.find(({ service }) => service === 'replica') };
  };
  const signIn = async (): Promise<string> => {
    const response = await fetch(`${api()}/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: api() },
      body: new URLSearchParams({ key: fleet.key }),
    });
    expect(response.status).toBe(303);
    return response.headers.get('set-cookie')?.split(';')[0] ?? '';
  };
  const visitAll = async (cookie: string): Promise<void> => {
    const names = ['/', '/checks', '/deployments', '/pipelines/docs'];
    const parts = ['golden', 'density', 'traffic'].map((part) => `/pipelines/docs/${part}`);
    for (const page of [...names, ...parts]) {
      const response = await fetch(`${api()}${page}`, { headers: { cookie } });
      expect({ page, status: response.status }).toEqual({ page, status: 200 });
    }
  };
  const apiLog = () => logLines(fleet.of('api')[0]?.daemon.stderr() ?? '');

  it('reads the data that users request from the replica, and writes to the primary', async () => {
    await sendThumb();
    await waitFor(async () => (await thumbsSeen()) === sent);
    expect(await doctorOnReplica()).toMatchObject({ code: 0, finding: { status: 'ok' } });

    await databases.replica.query('select pg_wal_replay_pause()');
    await waitFor(async () => {
      const [row] = await databases.replica.query(`select pg_get_wal_replay_pause_state() as state`);
      return row?.['state'] === 'paused';
    });
    await sendThumb();
    const [stored] = await databases.primary.query('select count(*)::integer as count from feedback');
    expect(stored).toEqual({ count: sent });
    // The row exists, but the replica does not have it yet.
    expect(await thumbsSeen()).toBe(sent - 1);
    expect(await doctorOnReplica()).toMatchObject({
      code: 0,
      finding: { status: 'warning', message: expect.stringContaining('lags by') },
    });
    await databases.replica.query('select pg_wal_replay_resume()');
    await waitFor(async () => (await thumbsSeen()) === sent);

    await visitAll(await signIn());
    // If the replica had refused a write, or a read of a missing table, the log would have an entry above level `info`.
    expect(apiLog().filter(({ level }) => level !== 'info')).toEqual([]);
  });

  it('names its database connections by process and purpose', async () => {
    const names = async (server: ReplicatedPostgres['primary']): Promise<unknown[]> =>
      (
        await server.query(
          `select distinct application_name as name from pg_stat_activity where application_name like 'recalld%' order by 1`,
        )
      ).map(({ name }) => name);
    await thumbsSeen();
    expect(await names(databases.replica)).toEqual(['recalld api replica']);
    expect(await names(databases.primary)).toEqual([
      'recalld api',
      'recalld api queue',
      'recalld worker',
      'recalld worker queue',
    ]);
  });

  it('learns from `recalld doctor` whether autovacuum is off, and which tables have many dead rows', async () => {
    const onDatabase = async () => {
      const { code, findings } = await doctor();
      const said = findings.filter(({ service }) => service === 'database').map(({ message }) => message);
      return { code, said };
    };
    const { query } = databases.primary;
    expect(await onDatabase()).toMatchObject({
      code: 0,
      said: [expect.stringContaining('responds'), 'Autovacuum is on, and no table has many dead rows.'],
    });
    await query('alter system set autovacuum = off');
    await query('select pg_reload_conf()');
    await query('alter table golden_sets set (autovacuum_enabled = false)');
    await query('create table churned as select from generate_series(1, 60000)');
    await query('delete from churned');
    const autovacuum =
      'Autovacuum is off, so dead rows accumulate; set autovacuum = on in the config of the PostgreSQL server.';
    await waitFor(async () => {
      expect(await onDatabase()).toEqual({
        code: 1,
        said: [
          expect.stringContaining('responds'),
          autovacuum,
          'Autovacuum is off for the table golden_sets; turn it on with `alter table golden_sets reset (autovacuum_enabled)`.',
          expect.stringMatching(
            /^100 % of the rows of churned are dead, and the table has never been vacuumed; run `vacuum churned`/,
          ),
        ],
      });
      return true;
    });
    await query('drop table churned');
    await query('alter table golden_sets reset (autovacuum_enabled)');
    await query('alter system reset autovacuum');
    await query('select pg_reload_conf()');
  });

  it('reads from the primary while the replica hangs, and reports the replica as degraded', async () => {
    gate.hold();
    await isDegraded();
    await sendThumb();
    expect(await thumbsSeen()).toBe(sent);
    await visitAll(await signIn());
    await gate.open();
    await isWhole();
  });

  it('reads from the primary while the replica is down, and switches back once the replica is up', async () => {
    await databases.replica.stop();
    await sendThumb();
    expect(await thumbsSeen()).toBe(sent);
    await isDegraded();
    await visitAll(await signIn());
    const { code, finding } = await doctorOnReplica();
    expect(code).toBe(3);
    expect(finding).toMatchObject({
      status: 'unreachable',
      message: expect.stringMatching(
        /^PostgreSQL at 127\.0\.0\.1:\d+ does not respond \(.+\); .* storage\.read_url( are correct)?\. Meanwhile, reads go to storage\.url\.$/,
      ),
    });
    await databases.replica.start();
    await isWhole();
    await waitFor(async () => (await thumbsSeen()) === sent);
    const said = apiLog().map(({ msg }) => msg);
    expect(said).toContain('the replica is unreachable; the primary answers reads instead');
    expect(said.at(-1)).toBe('the replica answers reads again');
  });
});

/** Redis in fleet topologies: a cluster, a master with sentinels, and mutual TLS. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { BackendSettings } from '../../../../src/platform/queue/backends.ts';
import { openJobQueue } from '../../../../src/platform/queue/bullmq.ts';
import type { JobQueue, JobSpec } from '../../../../src/platform/queue/job-queue.ts';
import { inspectRedis, type RedisSettings } from '../../../../src/platform/queue/redis-connection.ts';
import { describeJobQueue } from '../../../contract/job-queue.contract.ts';
import { describeJobQueueOutages } from '../../../contract/job-queue-outage.contract.ts';
import { aHandler, aJob, limits } from '../../../support/job-queue.ts';
import { silentLogger } from '../../../support/log.ts';
import { describeWithRedis } from '../../../support/redis.ts';
import {
  type RedisProcess,
  selfSigned,
  startCluster,
  type TlsFiles,
  useRedisProcesses,
  waitForCluster,
} from '../../../support/redis-fleet.ts';
import { waitFor } from '../../../support/wait-for.ts';

async function open(redis: RedisSettings, jobs: readonly JobSpec[] = []): Promise<JobQueue> {
  const backend: BackendSettings = { kind: 'redis', ...redis };
  const queue = await openJobQueue({ backend, jobs, logger: silentLogger, ...limits });
  onTestFinished(() => queue.close());
  return queue;
}

const pem = (file: string): string => readFileSync(file, 'utf8');

/** Returns a TLS config that trusts the server's certificate and names the client certificate's files. */
function filesOf(own: TlsFiles, client: TlsFiles) {
  return {
    ca_file: own.ca,
    client: { cert_file: client.cert, key_file: client.key },
    servername: 'redis.example',
  };
}

/** Returns TLS options for a direct connection, with the contents of the files that `filesOf` names. */
function materialOf(own: TlsFiles, client: TlsFiles) {
  return { ca: pem(own.ca), cert: pem(client.cert), key: pem(client.key), servername: 'redis.example' };
}

describeWithRedis('the job queue in a Redis cluster', () => {
  const processes = useRedisProcesses();
  let nodes: readonly RedisProcess[] = [];

  beforeAll(async () => {
    nodes = await startCluster(processes);
  });

  const cluster = (): RedisSettings => {
    const [first, ...others] = nodes.map(({ port }) => `127.0.0.1:${port}`);
    return { url: `redis://${first}`, topology: { kind: 'cluster', others } };
  };
  const backend = () => ({
    settings: { kind: 'redis', ...cluster() } as const,
    async goDown() {
      await Promise.all(nodes.map((node) => node.kill()));
    },
    fallSilent() {
      for (const node of nodes) node.freeze();
    },
    async comeBack() {
      await Promise.all(nodes.map((node) => node.start()));
      await waitForCluster(nodes);
    },
  });

  describeJobQueue(backend);
  describeJobQueueOutages(backend);

  it('keeps the keys of each queue on one node and spreads the queues over all', async () => {
    const jobs = Array.from({ length: 12 }, () => aJob());
    const queue = await open({ ...cluster(), prefix: 'spread' }, jobs);
    await Promise.all(jobs.map(({ name }) => queue.enqueue(name, {}, 'only')));
    const held = await Promise.all(nodes.map(async (node) => (await node.call('KEYS', '*')) as string[]));
    const where = held.map((keys) => new Set(keys.filter((key) => key.startsWith('{spread:'))));
    expect(where.every((keys) => keys.size > 0)).toBe(true);
    for (const { name } of jobs) {
      const holders = where.filter((keys) => [...keys].some((key) => key.startsWith(`{spread:${name}}:`)));
      expect(holders).toHaveLength(1);
    }
  });

  it('is inspected on every node that accepts writes', async () => {
    await nodes[1]?.call('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    onTestFinished(async () => {
      await nodes[1]?.call('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    });
    const states = await inspectRedis(cluster(), 5000);
    const policies = new Map(states.map(({ host, maxmemoryPolicy }) => [host, maxmemoryPolicy]));
    expect(policies).toEqual(
      new Map(nodes.map(({ port }, i) => [`127.0.0.1:${port}`, i === 1 ? 'allkeys-lru' : 'noeviction'])),
    );
  });
});

describeWithRedis('the job queue in a Redis behind sentinels', () => {
  const processes = useRedisProcesses();
  let sentinel: RedisProcess;
  let master: RedisProcess;
  let replica: RedisProcess;

  beforeAll(async () => {
    master = await processes.start(['--requirepass', 'of-redis', '--masterauth', 'of-redis'], {
      password: 'of-redis',
    });
    replica = await processes.start(
      ['--requirepass', 'of-redis', '--masterauth', 'of-redis', '--replicaof', `127.0.0.1 ${master.port}`],
      { password: 'of-redis' },
    );
    sentinel = await processes.start(['--sentinel', '--requirepass', 'of-sentinel'], {
      password: 'of-sentinel',
    });
    await sentinel.call('SENTINEL', 'MONITOR', 'jobs', '127.0.0.1', master.port, 1);
    for (const [setting, value] of [
      ['auth-pass', 'of-redis'],
      ['down-after-milliseconds', '1000'],
      ['failover-timeout', '5000'],
    ] as const) {
      await sentinel.call('SENTINEL', 'SET', 'jobs', setting, value);
    }
    await waitFor(async () => ((await sentinel.call('SENTINEL', 'REPLICAS', 'jobs')) as unknown[]).length === 1);
  });

  const behind = (parts: Partial<Extract<RedisSettings['topology'], { kind: 'sentinel' }>> = {}) => ({
    url: `redis://:of-redis@127.0.0.1:${sentinel.port}`,
    topology: { kind: 'sentinel' as const, name: 'jobs', others: [], password: 'of-sentinel', ...parts },
  });

  it('cannot be opened with an unknown master name, and the error contains that name', async () => {
    await expect(open(behind({ name: 'elsewhere' }))).rejects.toMatchObject({
      code: 'queue_unreachable',
      message: expect.stringContaining('Redis "elsewhere" of the sentinel at'),
    });
  });

  it('continues with the replica when the master dies, and loses no job that was acknowledged and replicated', async () => {
    const job = aJob({ attempts: 20 });
    const queue = await open(behind(), [job]);
    await queue.enqueue(job.name, {}, 'before');
    await waitFor(async () => Number(await replica.call('EXISTS', `{recalld:${job.name}}:${job.name}:before`)) === 1);
    await master.kill();
    await waitFor(
      async () => {
        await queue.enqueue(job.name, {}, 'after');
        return true;
      },
      { timeoutMs: 40_000 },
    );
    const handler = aHandler();
    await queue.work(handler.run);
    await waitFor(() => new Set(handler.calls.map(({ id }) => id)).size === 2, { timeoutMs: 40_000 });
    expect(new Set(handler.calls.map(({ id }) => id))).toEqual(new Set(['before', 'after']));
  });
});

describeWithRedis('the job queue in a Redis with TLS', () => {
  const processes = useRedisProcesses();
  let server: RedisProcess;
  let own: TlsFiles;
  let client: TlsFiles;

  beforeAll(async () => {
    own = selfSigned(processes.folder, 'redis.example');
    client = selfSigned(processes.folder, 'recalld.example');
    const args = ['--tls-cert-file', own.cert, '--tls-key-file', own.key, '--tls-ca-cert-file', client.cert];
    server = await processes.start(args, { tls: materialOf(own, client) });
  });

  const secured = (tls: RedisSettings['tls']): RedisSettings => ({
    url: `rediss://127.0.0.1:${server.port}`,
    ...(tls === undefined ? {} : { tls }),
  });

  it('works with the authority, the client certificate and the server name', async () => {
    const job = aJob();
    const tls = filesOf(own, client);
    const queue = await open(secured(tls), [job]);
    const handler = aHandler();
    await queue.work(handler.run);
    await queue.enqueue(job.name, {}, 'secret');
    await waitFor(() => handler.calls.length === 1);
    expect(await inspectRedis(secured(tls), 5000)).toHaveLength(1);
  });

  describe('is refused', () => {
    it.each<[string, () => RedisSettings['tls'], RegExp]>([
      ['without the authority', () => undefined, /self-signed/],
      ['under another server name', () => ({ ca_file: own.ca }), /altnames|IP: 127\.0\.0\.1/],
      ['without a client certificate', () => ({ ca_file: own.ca, servername: 'redis.example' }), /does not respond/],
    ])('%s, and the error explains it', async (_, tls, reason) => {
      await expect(open(secured(tls()))).rejects.toMatchObject({
        code: 'queue_unreachable',
        message: expect.stringMatching(reason),
      });
    });
  });
});

describeWithRedis('the job queue in a Redis behind sentinels, all of them with TLS and passwords', () => {
  const processes = useRedisProcesses();
  let sentinel: RedisProcess;
  let master: RedisProcess;
  let own: TlsFiles;
  let client: TlsFiles;
  beforeAll(async () => {
    own = selfSigned(processes.folder, 'redis.example');
    client = selfSigned(processes.folder, 'recalld.example');
    // Servers connect to each other as clients, with their own certificate.
    const trusted = path.join(processes.folder, 'trusted.pem');
    writeFileSync(trusted, pem(own.cert) + pem(client.cert));
    const secured = ['--tls-cert-file', own.cert, '--tls-key-file', own.key, '--tls-ca-cert-file', trusted];
    const server = [...secured, '--tls-replication', 'yes'];
    const login = ['--requirepass', 'of-redis', '--masterauth', 'of-redis'];
    master = await processes.start([...server, ...login], { password: 'of-redis', tls: materialOf(own, client) });
    await processes.start([...server, ...login, '--replicaof', `127.0.0.1 ${master.port}`], {
      password: 'of-redis',
      tls: materialOf(own, client),
    });
    sentinel = await processes.start(['--sentinel', '--requirepass', 'of-sentinel', ...server], {
      password: 'of-sentinel',
      tls: materialOf(own, client),
    });
    await sentinel.call('SENTINEL', 'MONITOR', 'jobs', '127.0.0.1', master.port, 1);
    for (const [setting, value] of [
      ['auth-pass', 'of-redis'],
      ['down-after-milliseconds', '1000'],
      ['failover-timeout', '5000'],
    ] as const) {
      await sentinel.call('SENTINEL', 'SET', 'jobs', setting, value);
    }
    await waitFor(async () => ((await sentinel.call('SENTINEL', 'REPLICAS', 'jobs')) as unknown[]).length === 1);
  });

  const behind = (password = 'of-sentinel', files = filesOf(own, client)): RedisSettings => ({
    url: `rediss://:of-redis@127.0.0.1:${sentinel.port}`,
    tls: files,
    topology: { kind: 'sentinel', name: 'jobs', others: [], password },
  });

  it('works, is inspected, and continues with the replica when the master dies', async () => {
    const job = aJob({ attempts: 20 });
    const queue = await open(behind(), [job]);
    const handler = aHandler();
    await queue.work(handler.run);
    await queue.enqueue(job.name, {}, 'before');
    await waitFor(() => handler.calls.length === 1);
    expect(await inspectRedis(behind(), 5000)).toHaveLength(1);
    await master.kill();
    await waitFor(
      async () => {
        await queue.enqueue(job.name, {}, 'after');
        return true;
      },
      { timeoutMs: 40_000 },
    );
    await waitFor(() => handler.calls.some(({ id }) => id === 'after'), { timeoutMs: 40_000 });
  });

  it.each([
    ['a wrong password for the sentinels', 'wrong', () => own.ca, 'WRONGPASS'],
    [
      'an authority that did not sign their certificates',
      'of-sentinel',
      () => client.ca,
      'DEPTH_ZERO_SELF_SIGNED_CERT',
    ],
  ] as const)('is refused with %s, and the inspection reports the reason', async (_, password, ca, reason) => {
    const settings = behind(password, { ...filesOf(own, client), ca_file: ca() });
    await expect(open(settings)).rejects.toMatchObject({ code: 'queue_unreachable' });
    await expect(inspectRedis(settings, 5000)).rejects.toMatchObject({
      code: 'queue_unreachable',
      message: expect.stringMatching(new RegExp(`^Redis "jobs" of the sentinel at .* does not respond \\(.*${reason}`)),
    });
  });
});

/** A group of Redis servers for one test: a cluster, or a master with a replica and a sentinel. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import type { TlsMaterial } from '../../src/platform/outbound/exchange.ts';
import { freePort } from './free-port.ts';
import { waitFor } from './wait-for.ts';

export interface RedisProcess {
  readonly port: number;
  /** Sends a command to this server only, and returns its response. */
  call(...command: [string, ...(string | number)[]]): Promise<unknown>;
  start(): Promise<void>;
  kill(): Promise<void>;
  freeze(): void;
}

/** Credentials with which a test connects directly to a server. */
export interface RedisAccess {
  readonly password?: string;
  readonly tls?: TlsMaterial & { readonly servername: string };
}

export interface RedisProcesses {
  readonly folder: string;
  /** Starts a server on loopback that stores nothing on disk unless its arguments say so. */
  start(args: readonly string[], options?: RedisAccess): Promise<RedisProcess>;
}

/** Servers for the tests in the calling test file or describe block; all servers stop when these tests end. */
export function useRedisProcesses(): RedisProcesses {
  let folder = '';
  const started: RedisProcess[] = [];
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'recalld-redis-fleet-'));
  });
  afterAll(async () => {
    await Promise.all(started.map((server) => server.kill()));
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    get folder() {
      return folder;
    },
    async start(args, options = {}) {
      const server = await startServer(folder, args, options);
      started.push(server);
      return server;
    },
  };
}

async function startServer(folder: string, args: readonly string[], options: RedisAccess): Promise<RedisProcess> {
  const port = await freePort();
  const dir = path.join(folder, String(port));
  mkdirSync(dir);
  // A sentinel requires a file that it may write to, but still accepts its other arguments on the command line.
  const file = path.join(dir, 'redis.conf');
  writeFileSync(file, '');
  const where = options.tls === undefined ? ['--port', `${port}`] : ['--port', '0', '--tls-port', `${port}`];
  let child: ChildProcess | undefined;
  const call: RedisProcess['call'] = async (name, ...rest) => {
    const redis = new Redis({ host: '127.0.0.1', port, ...options, retryStrategy: () => null });
    redis.on('error', () => undefined);
    try {
      return await redis.call(name, ...rest);
    } finally {
      redis.disconnect();
    }
  };
  const server: RedisProcess = {
    port,
    call,
    async start() {
      child?.kill('SIGCONT');
      if (child !== undefined) return;
      const common = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', dir];
      const running = spawn('redis-server', [file, ...where, ...common, ...args], { stdio: 'ignore' });
      child = running;
      await waitFor(async () => {
        if (running.exitCode !== null) throw new Error(`redis-server ended with code ${running.exitCode}`);
        return (await call('PING')) === 'PONG';
      });
    },
    async kill() {
      const running = child;
      child = undefined;
      if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
      const ended = once(running, 'exit');
      running.kill('SIGKILL');
      await ended;
    },
    freeze: () => void child?.kill('SIGSTOP'),
  };
  await server.start();
  return server;
}

/** Starts three masters that share the slots. */
export async function startCluster(processes: RedisProcesses): Promise<readonly RedisProcess[]> {
  const args = async (): Promise<string[]> => [
    '--cluster-enabled',
    'yes',
    '--cluster-port',
    `${await freePort()}`,
    '--cluster-node-timeout',
    '2000',
  ];
  const nodes = [
    await processes.start(await args()),
    await processes.start(await args()),
    await processes.start(await args()),
  ];
  const [first] = nodes;
  const busPorts = await Promise.all(nodes.map(async (node) => busPort(await node.call('CLUSTER', 'NODES'))));
  for (const [index, node] of nodes.entries()) {
    const from = Math.floor((index * 16_384) / nodes.length);
    const until = Math.floor(((index + 1) * 16_384) / nodes.length) - 1;
    await node.call('CLUSTER', 'ADDSLOTSRANGE', from, until);
    if (node !== first) await first?.call('CLUSTER', 'MEET', '127.0.0.1', node.port, busPorts[index] ?? 0);
  }
  await waitForCluster(nodes);
  return nodes;
}

export async function waitForCluster(nodes: readonly RedisProcess[]): Promise<void> {
  for (const node of nodes) {
    await waitFor(async () => {
      const info = String(await node.call('CLUSTER', 'INFO'));
      return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes.length}`);
    });
  }
}

function busPort(nodes: unknown): number {
  return Number(/@(\d+)/.exec(String(nodes))?.[1]);
}

export interface TlsFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** A self-signed certificate for `name`. */
export function selfSigned(folder: string, name: string): TlsFiles {
  const [cert, key] = [path.join(folder, `${name}.pem`), path.join(folder, `${name}.key`)];
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-days', '1', '-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  const { status, stderr } = spawnSync('openssl', [...args, ...subject, '-keyout', key, '-out', cert]);
  if (status !== 0) throw new Error(stderr.toString());
  return { ca: cert, cert, key };
}

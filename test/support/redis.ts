/** A Redis server for one test, on a free port, that stores nothing on disk. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { freePort } from './free-port.ts';
import { missing } from './missing.ts';
import { waitFor } from './wait-for.ts';

const isMissing = missing('redis-server');

/** Describes a suite that needs Redis. Without Redis, the suite is skipped, and the runner counts it as skipped. */
export const describeWithRedis = isMissing ? describe.skip : describe;

export interface RedisServer {
  readonly url: string;
  /** Resumes a frozen server; restarts a stopped server on its port, without data. */
  start(): Promise<void>;
  /** Stops the process and waits for it to exit. May be called again. */
  stop(): Promise<void>;
  /** Stops answering without closing a connection, like a machine that has lost its network. */
  freeze(): void;
}

export interface OwnRedis extends RedisServer {
  /** Stops the server and removes its folder. */
  close(): Promise<void>;
}

/** Starts Redis on a free port; the caller closes it. */
export async function startRedis(): Promise<OwnRedis> {
  const folder = mkdtempSync(path.join(tmpdir(), 'recalld-redis-'));
  const port = await freePort();
  let server: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    server?.kill('SIGCONT');
    if (server !== undefined) return;
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder];
    const child = spawn('redis-server', args, { stdio: 'ignore' });
    server = child;
    await waitFor(async () => {
      if (child.exitCode !== null) throw new Error(`redis-server ended with code ${child.exitCode}`);
      return answers(port);
    });
  };
  const stop = async (): Promise<void> => {
    const child = server;
    server = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill('SIGKILL');
    await ended;
  };

  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    stop,
    freeze: () => void server?.kill('SIGSTOP'),
    async close() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Provides Redis for the tests in the calling test file or describe block. */
export function useRedis(): RedisServer {
  let own: OwnRedis | undefined;
  const started = (): OwnRedis => {
    if (own === undefined) throw new Error('Redis is there only while tests run');
    return own;
  };
  beforeAll(async () => {
    if (!isMissing) own = await startRedis();
  });
  afterAll(() => own?.close());
  return {
    get url() {
      return started().url;
    },
    start: () => started().start(),
    stop: () => started().stop(),
    freeze: () => started().freeze(),
  };
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    socket.write('PING\r\n');
    const [reply] = (await once(socket, 'data')) as [Buffer];
    return reply.toString().startsWith('+PONG');
  } finally {
    socket.destroy();
  }
}

/** A Redis server of the test's own, on a free port, that keeps nothing on disk. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { freePort } from './free-port.ts';
import { waitFor } from './wait-for.ts';

const isInstalled = spawnSync('redis-server', ['--version']).status === 0;

/** Suites that need Redis; without it they are skipped, which the runner counts and this says. */
export const describeWithRedis = isInstalled ? describe : describe.skip;

if (!isInstalled) {
  process.stderr.write('\nSKIPPED: tests that need Redis, since there is no redis-server on the PATH.\n\n');
}

export interface RedisServer {
  readonly url: string;
  /** Ends a freeze; a server that was stopped starts on its port again, empty. */
  start(): Promise<void>;
  /** Ends the process and waits for its end; may be called again. */
  stop(): Promise<void>;
  /** Stops answering without closing a connection, as a machine does that has lost its network. */
  freeze(): void;
}

/** Redis for the tests of this file or describe block. */
export function useRedis(): RedisServer {
  let port = 0;
  let folder = '';
  let server: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    server?.kill('SIGCONT');
    if (server !== undefined) return;
    const args = [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--appendonly',
      'no',
      '--dir',
      folder,
    ];
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

  beforeAll(async () => {
    if (!isInstalled) return;
    folder = mkdtempSync(path.join(tmpdir(), 'recalld-redis-'));
    port = await freePort();
    await start();
  });
  afterAll(async () => {
    await stop();
    if (folder !== '') rmSync(folder, { recursive: true, force: true });
  });

  return {
    get url() {
      return `redis://127.0.0.1:${port}`;
    },
    start,
    stop,
    freeze: () => void server?.kill('SIGSTOP'),
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

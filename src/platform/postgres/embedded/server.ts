import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RecalldError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Account } from './account.ts';
import type { PostgresBinaries } from './binaries.ts';
import { clusterOf, openServerLog, type ServerLog, unusable } from './data-dir.ts';
import {
  commandLine,
  type GuardedProcess,
  pathFromInside,
  processState,
  sendSignal,
  startGuarded,
} from './guardian.ts';

/** The only address on which the embedded PostgreSQL listens. */
export const host = '127.0.0.1';

/**
 * A TCP port of the loopback address that was free a moment ago.
 * @throws RecalldError `embedded_database_failed` if the system gives none.
 */
export async function freePort(): Promise<number> {
  const server = createServer();
  try {
    await once(server.listen(0, host), 'listening');
  } catch (cause) {
    throw new RecalldError(
      'embedded_database_failed',
      `The embedded PostgreSQL needs a free port on ${host}, and the system gives none.`,
      { cause },
    );
  }
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

// Starts and stops the PostgreSQL server of a cluster.

/** A server that accepts connections. */
export interface RunningServer {
  readonly port: number;
  /** Resolves with a sentence when the server ends without being asked to. */
  readonly died: Promise<string>;
  /** Ends the server and returns when no process of it is left. May be called again. */
  stop(): Promise<void>;
}

export interface ServerSetup {
  readonly dataDir: string;
  readonly binaries: PostgresBinaries;
  readonly account: Account | null;
  readonly logger: Logger;
  /** Where it must listen; by default on a port that is free. */
  readonly port?: number;
  readonly signal?: AbortSignal | undefined;
}

const stopLimits = { fastMs: 10_000, immediateMs: 5_000 };
const attempts = 5;
// Recovery after a crash may take long, and to break it off would only mean to begin again.
const startLimitMs = 300_000;
const patienceMs = 10_000;
// A backend whose postmaster was killed ends with its statement at the latest.
const leftBackendsLimitMs = 120_000;

/** Settings of every start; they are not written to the cluster, so a newer recalld may change them. */
function settings(port: number): Record<string, string | number> {
  return {
    listen_addresses: host,
    port,
    unix_socket_directories: '',
    // A small server beside the daemon. Parallel queries would need more shared memory than a container grants.
    shared_buffers: '64MB',
    max_connections: 100,
    max_wal_size: '512MB',
    max_parallel_workers_per_gather: 0,
    huge_pages: 'off',
    io_method: 'sync',
    jit: 'off',
    // Nothing is replicated. What was committed is on disk: fsync and synchronous_commit keep their default, on.
    wal_level: 'minimal',
    max_wal_senders: 0,
    max_logical_replication_workers: 0,
    TimeZone: 'UTC',
    log_timezone: 'UTC',
    // Errors of statements reach the client. In the log they could show what users asked, and fill the disk.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_checkpoints: 'off',
    ...(process.platform === 'linux' ? { recovery_init_sync_method: 'syncfs' } : {}),
  };
}

/** What the server says last when another program has its port; it may be gone again before we could look ourselves. */
const ofTakenPort = /could not create any TCP\/IP sockets/;

/** What the next server says of backends that are left, or they themselves, who write to the same log. */
const ofKilledServer = /pre-existing shared memory block|unexpected postmaster exit/;

/**
 * Starts the server on a port of the loopback address and returns when it accepts connections.
 * @throws RecalldError `embedded_database_failed` with what the server said, or `data_dir_unusable` if the disk is
 * full; the signal's reason if it aborts. Nothing is left running then.
 */
export async function startServer(setup: ServerSetup): Promise<RunningServer> {
  const leftBackendsDeadline = Date.now() + leftBackendsLimitMs;
  for (let attempt = 1; ; attempt += 1) {
    setup.signal?.throwIfAborted();
    const port = setup.port ?? (await freePort());
    const log = await openServerLog(setup.dataDir);
    try {
      const server = await startOn(port, log, setup);
      if (server !== null) return server;
      const lastError = await log.lastError();
      // Another program may have taken the port between our look and the server's start.
      const portWasTaken = setup.port === undefined && attempt < attempts && ofTakenPort.test(lastError);
      // Backends of a server that was killed alone end when they notice, and the next server waits for them.
      const isStillInUse = ofKilledServer.test(lastError);
      if (!portWasTaken && !(isStillInUse && Date.now() < leftBackendsDeadline))
        throw await startError(setup.dataDir, log);
      if (isStillInUse) await delay(100);
    } finally {
      await log.close();
    }
  }
}

/** Null if the server ended before it was ready. */
async function startOn(port: number, log: ServerLog, setup: ServerSetup): Promise<RunningServer | null> {
  const cluster = clusterOf(setup.dataDir);
  const before = await readPostmasterFile(cluster);
  const postgres = await startGuarded({
    command: setup.binaries.postgres,
    args: [
      '-D',
      pathFromInside(cluster),
      ...Object.entries(settings(port)).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    cwd: cluster,
    account: setup.account,
    log: log.descriptor,
    // The id in a file left by a crash may belong to any program by now, even to our guardian, and PostgreSQL would
    // refuse to start. This variable of pg_ctl makes it accept that one id; its other check, of shared memory that
    // is still in use, stays.
    ...(before === null ? {} : { env: { PG_GRANDPARENT_PID: String(before.pid) } }),
  });
  const server = serverOf(postgres, port, log, cluster);
  try {
    const isReady = async () => {
      const file = await readPostmasterFile(cluster);
      return file !== null && file.ready && file.port === port && file.text !== before?.text;
    };
    if (await becomesReady(postgres, isReady, setup)) {
      postgres.unref();
      return server;
    }
    await server.stop();
    return null;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function becomesReady(
  postgres: GuardedProcess,
  isReady: () => Promise<boolean>,
  { dataDir, logger, signal }: ServerSetup,
): Promise<boolean> {
  const start = Date.now();
  let nextWord = start + patienceMs;
  while (!postgres.hasExited()) {
    signal?.throwIfAborted();
    if (await isReady()) return true;
    const now = Date.now();
    if (now >= nextWord) {
      logger.info('The embedded PostgreSQL is still starting; after a crash it first repeats its log.', {
        dataDir,
      });
      nextWord = now + patienceMs;
    }
    if (now - start > startLimitMs) {
      throw new RecalldError(
        'embedded_database_failed',
        `The embedded PostgreSQL of ${dataDir} was not ready after ${startLimitMs / 1000} s: see postgres.log there.`,
      );
    }
    await delay(10);
  }
  return false;
}

function serverOf(postgres: GuardedProcess, port: number, log: ServerLog, cluster: string): RunningServer {
  let stopping: Promise<void> | undefined;
  const died = postgres.exited.then(async () =>
    stopping === undefined ? log.lastLine() : new Promise<never>(() => {}),
  );
  const stop = async () => {
    const ended = await postgres.end(stopLimits.fastMs);
    // Also when the guardian is gone: somebody may have killed it and not the server.
    await endPostmaster(cluster, ended ? stopLimits : { ...stopLimits, fastMs: 0 });
    if (!ended && !(await postgres.end(stopLimits.immediateMs))) postgres.kill();
  };
  return {
    port,
    died,
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}

async function startError(dataDir: string, log: ServerLog): Promise<RecalldError> {
  const lastWords = await log.lastError();
  if (lastWords.includes('No space left on device')) return unusable(dataDir, 'its disk is full');
  return new RecalldError(
    'embedded_database_failed',
    `The embedded PostgreSQL of ${dataDir} did not start and said "${lastWords}": see ${log.path}, or set storage.url` +
      ' to a PostgreSQL server of your own.',
  );
}

// Reads postmaster.pid, which PostgreSQL keeps in its cluster, and ends a server that has lost its owner.

/** The file as it stands, or null if there is none. */
async function readPostmasterFile(cluster: string) {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => null);
  if (text === null) return null;
  const lines = text.split('\n');
  return {
    text,
    pid: Math.abs(Number.parseInt(lines[0] ?? '', 10)),
    port: Number.parseInt(lines[3] ?? '', 10),
    /** Whether it accepts connections. A file left by a crash may say so, too. */
    ready: (lines[7] ?? '').startsWith('ready'),
  };
}

/** Process id of the server that runs on this very cluster, or null. */
export async function runningPostmaster(cluster: string): Promise<number | null> {
  const file = await readPostmasterFile(cluster);
  if (file === null || !(await processState(file.pid)).running) return null;
  return (await servesCluster(file.pid, cluster)) ? file.pid : null;
}

/**
 * Stops the server of a cluster: a fast shutdown, and when that takes too long an immediate one, after which the
 * next start recovers from the write-ahead log. Nothing committed is lost either way.
 * @returns the process id of a server that would not stop, or null when none runs any more.
 */
export async function endPostmaster(
  cluster: string,
  limits: { readonly fastMs: number; readonly immediateMs: number },
  signal?: AbortSignal,
): Promise<number | null> {
  const steps: [NodeJS.Signals, number][] = [
    ['SIGINT', limits.fastMs],
    ['SIGQUIT', limits.immediateMs],
  ];
  for (const [name, ms] of steps) {
    const pid = await runningPostmaster(cluster);
    if (pid === null) return null;
    sendSignal(pid, name);
    for (const end = Date.now() + ms; Date.now() < end; await delay(20)) {
      signal?.throwIfAborted();
      if (!(await processState(pid)).running) return null;
    }
  }
  return runningPostmaster(cluster);
}

/** The id may have gone to another program since the file was written, so the process itself is asked. */
async function servesCluster(pid: number, cluster: string): Promise<boolean> {
  if (process.platform === 'linux') {
    // The server works in its cluster. A process that we may not look at belongs to a third user and is not ours.
    const [theirs, ours] = await Promise.all([stat(`/proc/${pid}/cwd`), stat(cluster)]).catch(() => []);
    if (theirs === undefined || ours === undefined) return false;
    if (theirs.dev !== ours.dev || theirs.ino !== ours.ino) return false;
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    return name.trim() === 'postgres';
  }
  const command = await commandLine(pid);
  return command.includes('postgres') && command.includes(cluster);
}

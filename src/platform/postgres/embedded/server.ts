import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RecalldError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { tryPort } from '../../http/try-port.ts';
import type { ClusterSetup } from './cluster.ts';
import { clusterOf, openServerLog, type ServerLog, unusable } from './data-dir.ts';
import { type GuardedProcess, pathFromInside, processState, ps, sendSignal, startGuarded } from './guardian.ts';

/** The only address on which the embedded PostgreSQL listens. */
export const host = '127.0.0.1';

/**
 * Returns a free TCP port on the loopback address.
 * @throws RecalldError `embedded_database_failed` if no port is free.
 */
export async function freePort(): Promise<number> {
  return tryPort(0, host).catch((cause: unknown) => {
    const message = `The embedded PostgreSQL needs a port on ${host}, but none is free.`;
    throw new RecalldError('embedded_database_failed', message, { cause });
  });
}

// Starts and stops the PostgreSQL server of a cluster.

/** A server that accepts connections. */
type RunningServer = ReturnType<typeof serverOf>;

interface ServerSetup extends ClusterSetup {
  readonly logger: Logger;
  /** Port to listen on; default: any free port. */
  readonly port?: number;
}

const stopLimits = { fastMs: 10_000, immediateMs: 5_000 };
const attempts = 5;
// This limit is long, because crash recovery may take minutes, and an aborted recovery starts over.
const startLimitMs = 300_000;
const progressIntervalMs = 10_000;
// A backend whose postmaster was killed may continue until the end of its current statement.
const leftBackendsLimitMs = 120_000;

/** Settings for every start. The settings are not written to the cluster, so that a newer recalld can change them. */
function settings(port: number): Record<string, string | number> {
  return {
    listen_addresses: host,
    port,
    unix_socket_directories: '',
    // The server is small and runs beside the daemon.
    // Parallel queries would need more shared memory than containers have.
    shared_buffers: '64MB',
    max_connections: 100,
    max_wal_size: '512MB',
    max_parallel_workers_per_gather: 0,
    huge_pages: 'off',
    io_method: 'sync',
    jit: 'off',
    // Each day has new partitions. The default of `autovacuum_naptime` is one minute.
    // Until a partition is analyzed, PostgreSQL assumes that it has few rows, and plans slow nested-loop joins.
    autovacuum_naptime: '10s',
    // No replication is used. Committed data is on disk: fsync and synchronous_commit keep their default, on.
    wal_level: 'minimal',
    max_wal_senders: 0,
    max_logical_replication_workers: 0,
    TimeZone: 'UTC',
    log_timezone: 'UTC',
    // Statement errors are sent to the client. In the log, these errors could expose user queries and fill the disk.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_checkpoints: 'off',
    ...(process.platform === 'linux' ? { recovery_init_sync_method: 'syncfs' } : {}),
  };
}

/**
 * Matches the last log line of a server whose port is in use. Checking the port instead could miss a program that used
 * the port only briefly.
 */
const portInUse = /could not create any TCP\/IP sockets/;

/** Matches log lines from the next server, or from remaining backends, after a server was killed. */
const backendsRemain = /pre-existing shared memory block|unexpected postmaster exit/;

/**
 * Starts the server on a loopback port. Resolves when the server accepts connections.
 * @throws RecalldError `embedded_database_failed` with the server's error, or `data_dir_unusable` if the disk is full;
 *   `signal.reason` if the signal aborts. After an error, no server process is left running.
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
      // Another program may have taken the port before the server started.
      const portWasTaken = setup.port === undefined && attempt < attempts && portInUse.test(lastError);
      // The backends of a killed server end only when they notice that the server has ended.
      // The next server cannot start before all of these backends have ended.
      const isStillInUse = backendsRemain.test(lastError);
      if (!portWasTaken && !(isStillInUse && Date.now() < leftBackendsDeadline))
        throw await startError(setup.dataDir, log);
      if (isStillInUse) await delay(100);
    } finally {
      await log.close();
    }
  }
}

/** Starts the server on a port. Returns null if the server ended before it was ready. */
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
    // After a crash, the process id in the remaining postmaster.pid may belong to any program, even to the guardian,
    // and PostgreSQL would refuse to start. This variable, which pg_ctl also uses, makes PostgreSQL accept that id.
    // PostgreSQL still checks for shared memory that is in use.
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
  let nextReportMs = start + progressIntervalMs;
  while (!postgres.hasExited()) {
    signal?.throwIfAborted();
    if (await isReady()) return true;
    const now = Date.now();
    if (now >= nextReportMs) {
      logger.info('The embedded PostgreSQL is still starting; after a crash it first replays its log.', {
        dataDir,
      });
      nextReportMs = now + progressIntervalMs;
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

function serverOf(postgres: GuardedProcess, port: number, log: ServerLog, cluster: string) {
  let stopping: Promise<void> | undefined;
  const died = postgres.exited.then(async () =>
    stopping === undefined ? log.lastLine() : new Promise<never>(() => {}),
  );
  const stop = async () => {
    const ended = await postgres.end(stopLimits.fastMs);
    // Also stops the server if only its guardian was killed.
    await endPostmaster(cluster, ended ? stopLimits : { ...stopLimits, fastMs: 0 });
    if (!ended && !(await postgres.end(stopLimits.immediateMs))) postgres.kill();
  };
  return {
    port,
    /** Resolves with the last log line if the server ends without `stop`. */
    died,
    /** Stops the server. Resolves when all processes of the server have ended. May be called again. */
    stop(): Promise<void> {
      stopping ??= stop();
      return stopping;
    },
  };
}

async function startError(dataDir: string, log: ServerLog): Promise<RecalldError> {
  const lastError = await log.lastError();
  if (lastError.includes('No space left on device')) return unusable(dataDir, 'its disk is full');
  return new RecalldError(
    'embedded_database_failed',
    `The embedded PostgreSQL of ${dataDir} did not start and reported "${lastError}": see ${log.path}, or set storage.url` +
      ' to a PostgreSQL server of your own.',
  );
}

// Reads postmaster.pid, which PostgreSQL stores in its cluster, and stops a server whose owner has died.

async function readPostmasterFile(cluster: string) {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => null);
  if (text === null) return null;
  const lines = text.split('\n');
  return {
    text,
    pid: Math.abs(Number.parseInt(lines[0] ?? '', 10)),
    port: Number.parseInt(lines[3] ?? '', 10),
    /** True if the server accepts connections, or if it accepted connections until it crashed. */
    ready: (lines[7] ?? '').startsWith('ready'),
  };
}

/** Returns the process id of the server that is running on this cluster, or null. */
export async function runningPostmaster(cluster: string): Promise<number | null> {
  const file = await readPostmasterFile(cluster);
  if (file === null || !(await processState(file.pid)).running) return null;
  return (await servesCluster(file.pid, cluster)) ? file.pid : null;
}

/**
 * Stops a cluster's server with a fast shutdown. If that takes too long, uses an immediate shutdown; the next start
 * then recovers from the write-ahead log. Committed data is preserved either way.
 * @returns the process id of a server that did not stop, or null.
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

/** Returns true if the process is the cluster's server. Its id may have been reused after the file was written. */
async function servesCluster(pid: number, cluster: string): Promise<boolean> {
  if (process.platform === 'linux') {
    // The server's working directory is its cluster folder. A process that cannot be inspected belongs to another user.
    const [theirs, ours] = await Promise.all([stat(`/proc/${pid}/cwd`), stat(cluster)]).catch(() => []);
    if (theirs === undefined || ours === undefined) return false;
    if (theirs.dev !== ours.dev || theirs.ino !== ours.ino) return false;
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    return name.trim() === 'postgres';
  }
  const command = await ps(pid, 'command=');
  return command.includes('postgres') && command.includes(cluster);
}

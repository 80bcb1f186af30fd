import { setTimeout as delay } from 'node:timers/promises';
import { codeOf, messageOf, RecalldError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { withClient } from '../database-url.ts';
import { databaseAccount } from './account.ts';
import { locateBinaries, reachableBinaries } from './binaries.ts';
import { ensureCluster, readPassword, role } from './cluster.ts';
import {
  claimOwnership,
  clusterOf,
  explained,
  type Owner,
  type Ownership,
  type Purpose,
  prepareDataDir,
} from './data-dir.ts';
import { endPostmaster, host, runningPostmaster, startServer } from './server.ts';

/** Name of the database in every cluster. */
const database = 'recalld';

const invalidCatalogName = '3D000';

/** Creates the database if it does not exist. */
async function ensureDatabase(connection: Connection, signal?: AbortSignal): Promise<void> {
  try {
    await query(connection, 'select 1');
  } catch (error) {
    if (codeOf(error) !== invalidCatalogName) throw error;
    signal?.throwIfAborted();
    await query({ ...connection, database: 'postgres' }, `create database ${database} template template0`);
  }
}

async function query(connection: Connection, sql: string): Promise<void> {
  await withClient({ ...connection, application_name: 'recalld start' }, (client) => client.query(sql));
}

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  /** A daemon needs exclusive use of the folder; a command may use the database of a running daemon. */
  readonly purpose: Purpose;
  readonly logger: Logger;
  /** Aborts the start, stops the server and releases the folder; has no effect after the start. */
  readonly signal?: AbortSignal;
  /** Maximum wait for another process to release the folder. */
  readonly waitLimitMs?: number;
}

/** An open PostgreSQL database in a data folder. */
export interface EmbeddedPostgres {
  readonly connection: Connection;
  /** True if this process started the server and will stop it; false if a running daemon owns the server. */
  readonly startedHere: boolean;
  /** Resolves if the server that this process started exits without a call to `stop`; otherwise stays pending. */
  readonly died: Promise<RecalldError>;
  /**
   * Restarts a server that this process started and that has died, on the same port. Committed data is preserved.
   * Rejects with RecalldError if the server does not start; `restart` may then be called again.
   */
  restart(): Promise<void>;
  /**
   * Stops a server that this process started. Resolves when all processes of the server have exited. May be called
   * again.
   */
  stop(): Promise<void>;
}

/**
 * Opens the database in the data folder, creating the folder on first use. Starts PostgreSQL; a command instead uses
 * the database of a running daemon, if there is one. Waits while a command in another process owns the folder. The
 * server cannot outlive this process, however the process ends, and does not keep the process alive.
 *
 * @throws RecalldError `data_dir_in_use`, `data_dir_unusable`, `embedded_database_failed` or `database_unreachable`
 * (the daemon's database does not respond); `signal.reason` if the signal aborts.
 */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { purpose, signal, logger, waitLimitMs = 30_000 } = options;
  if (process.platform === 'win32') {
    throw new RecalldError(
      'embedded_database_failed',
      'The embedded PostgreSQL does not run on Windows: set storage.url to a PostgreSQL server, or use WSL.',
    );
  }
  const dataDir = await prepareDataDir(options.dataDir);
  const deadline = Date.now() + waitLimitMs;
  let announced = false;
  try {
    for (;;) {
      signal?.throwIfAborted();
      const claim = await claimOwnership(dataDir, purpose);
      if (claim.kind === 'owned') return await startOwned(dataDir, claim.ownership, options);
      const { owner } = claim;
      if (owner.purpose === 'daemon') {
        if (purpose === 'daemon') throw inUse(dataDir, owner);
        const used = await useDatabaseOf(owner, dataDir);
        if (used !== null) return used;
      }
      if (Date.now() >= deadline) throw owner.purpose === 'daemon' ? silent(dataDir, owner) : inUse(dataDir, owner);
      if (!announced) {
        announced = true;
        const what = owner.purpose === 'daemon' ? "the daemon's database" : 'another recalld command';
        logger.info(`Waiting for ${what} (process ${owner.pid}) in the data folder.`, {
          dataDir,
          pid: owner.pid,
        });
      }
      await delay(100);
    }
  } catch (error) {
    throw explained(dataDir, error);
  }
}

async function startOwned(
  dataDir: string,
  ownership: Ownership,
  { logger, signal }: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const releases: (() => Promise<void>)[] = [() => ownership.release()];
  const stop = async () => {
    for (let release = releases.pop(); release !== undefined; release = releases.pop()) await release();
  };
  try {
    const cluster = clusterOf(dataDir);
    await endOrphan(dataDir, logger, signal);
    const account = await databaseAccount(cluster);
    const binaries = await reachableBinaries(await locateBinaries(), account);
    await ensureCluster({ dataDir, binaries, account, signal });
    const password = await readPassword(dataDir);
    const setup = { dataDir, binaries, account, logger };
    let server = await startServer({ ...setup, signal });
    releases.push(() => server.stop());
    const connection = connectionTo(server.port, password);
    await ensureDatabase(connection, signal).catch((cause: unknown) => {
      signal?.throwIfAborted();
      throw withoutDatabase(dataDir, explained(dataDir, cause));
    });
    await ownership.publishPort(server.port);
    signal?.throwIfAborted();
    logger.info('The embedded PostgreSQL is ready.', { dataDir, port: server.port });
    const { port } = server;
    const stopping = new AbortController();
    let restarting = Promise.resolve();
    const restart = async (): Promise<void> => {
      await server.stop();
      server = await startServer({ ...setup, port, signal: stopping.signal });
    };
    let stopped: Promise<void> | undefined;
    return {
      connection,
      startedHere: true,
      get died() {
        return server.died.then((lastLine) => ended(dataDir, lastLine));
      },
      restart() {
        restarting = restart().catch((error: unknown) => {
          throw explained(dataDir, error);
        });
        return restarting;
      },
      stop() {
        stopping.abort(new RecalldError('interrupted', 'The database was stopped while it was starting.'));
        stopped ??= restarting.catch(() => undefined).then(stop);
        return stopped;
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Stops a server whose owner died. The server's guardian also stops it, unless the guardian was also killed. */
async function endOrphan(dataDir: string, logger: Logger, signal: AbortSignal | undefined): Promise<void> {
  const cluster = clusterOf(dataDir);
  const pid = await runningPostmaster(cluster);
  if (pid === null) return;
  logger.info(`Stopping PostgreSQL process ${pid}, which a crashed recalld process left running in the data folder.`, {
    dataDir,
    pid,
  });
  if ((await endPostmaster(cluster, { fastMs: 10_000, immediateMs: 5_000 }, signal)) === null) return;
  throw new RecalldError(
    'data_dir_in_use',
    `A PostgreSQL server (process ${pid}) is running in ${cluster} and does not stop: end it, or set storage.data_dir` +
      ' to another folder.',
  );
}

/** Returns the database of a running daemon; null while the daemon is starting or its database does not respond. */
async function useDatabaseOf(daemon: Owner, dataDir: string): Promise<EmbeddedPostgres | null> {
  if (daemon.port === null) return null;
  const connection = connectionTo(daemon.port, await readPassword(dataDir));
  const responds = await query(connection, 'select 1').then(
    () => true,
    () => false,
  );
  if (!responds) return null;
  return {
    connection,
    startedHere: false,
    died: new Promise(() => undefined),
    restart: async () => undefined,
    stop: async () => undefined,
  };
}

/** Connection options for `pg`. Never log the password. */
export type Connection = ReturnType<typeof connectionTo>;

function connectionTo(port: number, password: string) {
  // The server listens only on loopback and has no certificate, regardless of PGSSLMODE.
  return { host, port, user: role, password, database, ssl: false as const };
}

function inUse(dataDir: string, { pid, purpose }: Owner): RecalldError {
  const who = purpose === 'daemon' ? 'a recalld daemon' : 'a recalld command';
  return new RecalldError(
    'data_dir_in_use',
    `The data folder ${dataDir} is in use by ${who} (process ${pid}): stop that process, or set` +
      ' storage.data_dir to another folder.',
  );
}

function silent(dataDir: string, { pid, port }: Owner): RecalldError {
  const where = port === null ? '' : ` on port ${port}`;
  return new RecalldError(
    'database_unreachable',
    `The recalld daemon (process ${pid}) owns the data folder ${dataDir}, but its database${where} does not` +
      ' respond: check the log of the daemon and postgres.log in the folder, or restart the daemon.',
  );
}

function withoutDatabase(dataDir: string, cause: unknown): RecalldError {
  if (cause instanceof RecalldError) return cause;
  const message = messageOf(cause);
  return new RecalldError(
    'embedded_database_failed',
    `The embedded PostgreSQL of ${dataDir} is running, but its database could not be opened (${message}): see postgres.log there.`,
    { cause },
  );
}

function ended(dataDir: string, lastLine: string): RecalldError {
  return new RecalldError(
    'database_unreachable',
    `The embedded PostgreSQL of ${dataDir} ended unexpectedly; the last line of its postgres.log is "${lastLine}".`,
  );
}

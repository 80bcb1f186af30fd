/** Opens the configured database, and provides its tables (grouped by subject) and the store of the job queue. */

import { hostname } from 'node:os';
import type pg from 'pg';
import type { Pool } from 'pg';
import { createCheckStore } from '../checks/check-store.ts';
import { createThrottleLimits } from '../connectors/throttle/limits.ts';
import type { CleanupStack } from '../core/cleanup-stack.ts';
import type { Db, Scope } from '../core/context.ts';
import { messageOf, RecalldError } from '../core/errors.ts';
import { plural } from '../core/format.ts';
import type { Logger } from '../core/logger.ts';
import { systemClock } from '../core/system-clock.ts';
import type { Clock } from '../core/time.ts';
import { densityTables } from '../density/context.ts';
import { experimentTables } from '../experiments/context.ts';
import { goldenTables } from '../golden/context.ts';
import { incidentTables } from '../incidents/context.ts';
import { indexTables } from '../index/context.ts';
import { judgingTables } from '../judging/context.ts';
import { liveTables } from '../live/context.ts';
import { createMeasurements } from '../measures/measurements.ts';
import { platformTables } from '../platform/context.ts';
import { chooseConnection } from '../platform/postgres/database-url.ts';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../platform/postgres/embedded/open.ts';
import { compareSchema, migrate } from '../platform/postgres/migrate.ts';
import { assertReachable, nameOfServer } from '../platform/postgres/outage.ts';
import { createPool, openReplica } from '../platform/postgres/pool.ts';
import { assertSchemaPath, assertSessions, assertWritable } from '../platform/postgres/sessions.ts';
import type { BackendSettings, QueueOwner } from '../platform/queue/backends.ts';
import { exportTables } from '../report/export/context.ts';
import type { Config } from './config/schema.ts';

/** Name that identifies this process among all processes that share the database. */
export const replica = `${hostname()}-${process.pid}`;

/**
 * @param by user to whom the audit log attributes changes; null for recalld itself
 * @param scope hides the rows of other pipelines from every read that does not name a pipeline
 */
export function openDatabase(
  { pool, readPool }: { readonly pool: Pool; readonly readPool: Pool },
  by: string | null = null,
  scope: Scope = null,
) {
  const db = createDb(pool, by, scope);
  return { db, reads: readPool === pool ? db : createDb(readPool, by, scope) };
}

export function createDb(pool: Pool, by: string | null = null, scope: Scope = null): Db {
  return {
    platform: platformTables(pool, scope),
    limits: createThrottleLimits(pool),
    measurements: createMeasurements(pool),
    live: liveTables(pool, replica, scope),
    golden: goldenTables(pool, by, scope),
    index: indexTables(pool),
    density: densityTables(pool, scope),
    judging: judgingTables(pool),
    experiments: experimentTables(pool),
    checks: createCheckStore(pool, scope),
    ...exportTables(pool),
    ...incidentTables(pool, scope),
  };
}

/**
 * Minimum time between restarts of the embedded PostgreSQL. With more frequent restarts, it could spend all its time in
 * crash recovery.
 */
const RESTART_EVERY_MS = 60_000;

export function watchEmbedded(database: EmbeddedPostgres, clock: Clock, logger: Logger) {
  const stopping = new AbortController();
  let problem: string | null = null;
  let startedAtMs = Number.NEGATIVE_INFINITY;
  const restart = async (reason: string): Promise<void> => {
    const waitMs = Math.max(0, startedAtMs + RESTART_EVERY_MS - clock.monotonicMs());
    const at = new Date(clock.now().getTime() + waitMs).toISOString();
    problem = `${reason} recalld will restart PostgreSQL at ${at}.`;
    logger.error('the embedded PostgreSQL is down', { reason, restart_at: at });
    await clock.sleep(waitMs, stopping.signal);
    startedAtMs = clock.monotonicMs();
    await database.restart();
    problem = null;
    logger.info('the embedded PostgreSQL is running again');
  };
  const watch = async (): Promise<void> => {
    for (;;) {
      let reason = (await database.died).message;
      while (!stopping.signal.aborted) {
        try {
          await restart(reason);
          break;
        } catch (error) {
          reason = messageOf(error);
        }
      }
      if (stopping.signal.aborted) return;
    }
  };
  void watch();
  return {
    /** Returns why the database is down and when it will be restarted; null while it is running. */
    problem: () => problem,
    stop: () => stopping.abort(),
  };
}

export interface StorageRequest {
  readonly config: Config;
  /** A daemon owns its data folder; a command may use the database of a running daemon. */
  readonly purpose: 'daemon' | 'command';
  /** Application name of connections in `pg_stat_activity`. */
  readonly name: string;
  readonly logger: Logger;
  readonly cleanups: CleanupStack;
  readonly signal: AbortSignal;
}

export interface Storage {
  readonly pool: pg.Pool;
  /**
   * Pool for reads that may return slightly outdated data: the replica while it responds, otherwise the same as `pool`.
   */
  readonly readPool: pg.Pool;
  /** Returns the replica's problem; null if the replica works, or if none is configured. */
  readonly replicaProblem: () => Promise<RecalldError | null>;
  readonly connection: pg.PoolConfig;
  readonly name: string;
  /** True if this process started the embedded database; false if the database of a running daemon is used. */
  readonly startedHere: boolean;
  /**
   * Returns why the daemon's embedded database is down; null while it is running. Always null outside a daemon, and for
   * a database that is not embedded.
   */
  readonly problem: () => string | null;
}

/**
 * Opens the database, and migrates it in embedded mode.
 *
 * @throws RecalldError config_invalid for an invalid URL, database_unreachable, database_read_only, pooler_unsuitable,
 * search_path_wrong, data_dir_in_use, data_dir_unusable, embedded_database_failed, schema_too_new; schema_too_old if
 * the database is not embedded and needs `recalld migrate`
 */
export async function openStorage(settings: StorageRequest): Promise<Storage> {
  const storage = await connect(settings);
  if (settings.config.storage.url === 'embedded') await migrate(storage.pool);
  await assertMigrated(storage.pool, settings.logger);
  return storage;
}

export async function migrateStorage(settings: StorageRequest) {
  const storage = await connect(settings);
  return { storage, report: await migrate(storage.pool) };
}

const noProblem = (): null => null;

async function connect(settings: StorageRequest): Promise<Storage> {
  const { config, purpose, name, logger, cleanups, signal } = settings;
  const { url, data_dir: dataDir, pool_size: size, read_url: readUrl, statement_seconds } = config.storage;
  let connection: pg.PoolConfig;
  let startedHere = false;
  let problem: Storage['problem'] = noProblem;
  if (url === 'embedded') {
    const embedded = await openEmbeddedPostgres({ dataDir, purpose, logger, signal });
    cleanups.defer('embedded PostgreSQL', () => embedded.stop());
    connection = embedded.connection;
    startedHere = embedded.startedHere;
    if (purpose === 'daemon') {
      const watch = watchEmbedded(embedded, systemClock, logger);
      cleanups.defer('restarts of the embedded PostgreSQL', () => watch.stop());
      problem = watch.problem;
    }
  } else {
    connection = await chooseConnection(url, 'storage.url');
    await assertSessions(connection);
  }
  const bounds = { size, logger, queryLimitMs: statement_seconds * 1000 };
  const pool = createPool({ ...bounds, connection, name });
  cleanups.defer('database connections', () => pool.end());
  await assertReachable(pool);
  if (url !== 'embedded') await assertSchemaPath(pool);
  if (purpose === 'daemon') await assertWritable(pool);
  const storage = { pool, connection, name, startedHere, problem };
  if (readUrl === null || purpose === 'command')
    return { ...storage, readPool: pool, replicaProblem: async () => null };
  const replicaConnection = await chooseConnection(readUrl, 'storage.read_url');
  await assertSessions(replicaConnection, 'storage.read_url').catch((error: unknown) => {
    // While the replica is unreachable, reads go to the primary.
    if (!(error instanceof RecalldError && error.retryable)) throw error;
  });
  const replicaPool = createPool({
    ...bounds,
    connection: replicaConnection,
    name: `${name} replica`,
  });
  cleanups.defer('connections to the replica', () => replicaPool.end());
  const replica = openReplica(replicaPool, pool, logger);
  return { ...storage, readPool: replica.pool, replicaProblem: replica.problem };
}

async function assertMigrated(pool: pg.Pool, logger: Logger): Promise<void> {
  const { pending, newer } = await compareSchema(pool);
  if (pending > 0) {
    throw new RecalldError(
      'schema_too_old',
      `The database needs ${plural(pending, 'migration')}; run \`recalld migrate\`, then start again.`,
    );
  }
  if (newer.length > 0) {
    logger.warn('a newer recalld migrated the database; this version is compatible with the new schema', {
      migrations: newer,
    });
  }
}

export function queueBackend({ queue }: Config, { connection, name }: Storage): BackendSettings {
  return queue.backend === 'redis'
    ? { kind: 'redis', ...queue }
    : { kind: 'postgres', connection, name: `${name} queue` };
}

/** Identifies this deployment as the owner of its jobs in a queue outside the database. */
export async function queueOwner({ pool }: Storage): Promise<QueueOwner> {
  const { rows } = await pool.query<{ id: string; database: string }>(
    'select id, current_database() as database from installation',
  );
  const [{ id, database } = { id: '', database: '' }] = rows;
  return { id, name: `${nameOfServer(pool.options)}, database ${database}` };
}

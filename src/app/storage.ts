/** Opens the database that the config names: the embedded one in its data folder, or a server elsewhere. */
import type pg from 'pg';
import type { CleanupStack } from '../cleanup-stack.ts';
import type { Clock } from '../clock.ts';
import { RecalldError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../postgres/embedded/open.ts';
import { type MigrationReport, migrate, pendingMigrations } from '../postgres/migrate.ts';
import { assertReachable, createPool } from '../postgres/pool.ts';
import { openReplica } from '../postgres/replica.ts';
import { systemClock } from '../system-clock.ts';
import { messageOf } from '../text/error-message.ts';
import type { Config } from './config/schema.ts';

/** Between two starts: what dies over and over shall not keep the machine busy with its recovery. */
const RESTART_EVERY_MS = 60_000;

interface EmbeddedWatch {
  /** Why the database is away and when it is started again, in sentences; null while it runs. */
  trouble(): string | null;
  /** Starts it no more. */
  stop(): void;
}

export function watchEmbedded(
  database: Pick<EmbeddedPostgres, 'died' | 'restart'>,
  clock: Clock,
  logger: Logger,
): EmbeddedWatch {
  const stopping = new AbortController();
  let trouble: string | null = null;
  let startedAtMs = Number.NEGATIVE_INFINITY;
  const startInTime = async (reason: string): Promise<void> => {
    const waitMs = Math.max(0, startedAtMs + RESTART_EVERY_MS - clock.monotonicMs());
    const at = new Date(clock.now().getTime() + waitMs).toISOString();
    trouble = `${reason} It is started again at ${at}.`;
    logger.error('the embedded PostgreSQL is away', { reason, started_again_at: at });
    await clock.sleep(waitMs, stopping.signal);
    startedAtMs = clock.monotonicMs();
    await database.restart();
    trouble = null;
    logger.info('the embedded PostgreSQL runs again');
  };
  const watch = async (): Promise<void> => {
    for (;;) {
      let reason = (await database.died).message;
      while (!stopping.signal.aborted) {
        try {
          await startInTime(reason);
          break;
        } catch (error) {
          reason = messageOf(error);
        }
      }
      if (stopping.signal.aborted) return;
    }
  };
  void watch();
  return { trouble: () => trouble, stop: () => stopping.abort() };
}

export interface StorageSettings {
  readonly config: Config;
  /** A daemon owns its data folder; a command may use that of a running daemon. */
  readonly purpose: 'daemon' | 'command';
  /** What connections are called in `pg_stat_activity`, so that it shows which process is busy there. */
  readonly name: string;
  readonly logger: Logger;
  readonly cleanups: CleanupStack;
  readonly signal: AbortSignal;
}

export interface Storage {
  readonly pool: pg.Pool;
  /** For what may lag behind: the replica of the config while it answers, else the same as `pool`. */
  readonly readPool: pg.Pool;
  /** What is wrong with the replica of the config; null without one. */
  readonly replicaTrouble: () => Promise<RecalldError | null>;
  readonly connection: pg.PoolConfig;
  readonly name: string;
  /** Whether the embedded database was started by this process, so that no daemon works on it. */
  readonly startedHere: boolean;
  /** Why the embedded database of a daemon is away, in sentences; null while it runs, and for a server elsewhere. */
  readonly trouble: () => string | null;
}

/**
 * Opens and, in embedded mode, migrates.
 *
 * @throws RecalldError database_unreachable, data_dir_in_use, data_dir_unusable, embedded_database_failed, schema_too_new,
 *   and schema_too_old when a server elsewhere waits for `recalld migrate`
 */
export async function openStorage(settings: StorageSettings): Promise<Storage> {
  const storage = await connect(settings);
  if (settings.config.storage.url === 'embedded') await migrate(storage.pool);
  else await assertMigrated(storage.pool);
  return storage;
}

/** Applies the migrations to the database of the config, wherever it is. */
export async function migrateStorage(settings: StorageSettings): Promise<MigratedStorage> {
  const storage = await connect(settings);
  return { storage, report: await migrate(storage.pool) };
}

export interface MigratedStorage {
  readonly storage: Storage;
  readonly report: MigrationReport;
}

async function connect(settings: StorageSettings): Promise<Storage> {
  const { config, purpose, name, logger, cleanups, signal } = settings;
  const { url, data_dir: dataDir, pool_size: size, read_url: readUrl, statement_seconds } = config.storage;
  let connection: pg.PoolConfig = { connectionString: url };
  let startedHere = false;
  let watch: EmbeddedWatch | null = null;
  if (url === 'embedded') {
    const embedded = await openEmbeddedPostgres({ dataDir, purpose, logger, signal });
    cleanups.defer('embedded PostgreSQL', () => embedded.stop());
    connection = embedded.connection;
    startedHere = embedded.startedHere;
    if (purpose === 'daemon') {
      const started = watchEmbedded(embedded, systemClock, logger);
      cleanups.defer('watch over the embedded PostgreSQL', () => started.stop());
      watch = started;
    }
  }
  const bounds = { size, logger, queryLimitMs: statement_seconds * 1000 };
  const pool = createPool({ ...bounds, connection, name });
  cleanups.defer('database connections', () => pool.end());
  await assertReachable(pool);
  const trouble = (): string | null => watch?.trouble() ?? null;
  const storage = { pool, connection, name, startedHere, trouble };
  if (readUrl === null || purpose === 'command')
    return { ...storage, readPool: pool, replicaTrouble: async () => null };
  const replicaPool = createPool({
    ...bounds,
    connection: { connectionString: readUrl },
    name: `${name} replica`,
  });
  cleanups.defer('connections to the replica', () => replicaPool.end());
  const replica = openReplica(replicaPool, pool, logger);
  return { ...storage, readPool: replica.pool, replicaTrouble: replica.trouble };
}

async function assertMigrated(pool: pg.Pool): Promise<void> {
  const pending = await pendingMigrations(pool);
  if (pending > 0) {
    throw new RecalldError(
      'schema_too_old',
      `The database lacks ${pending} migrations; run \`recalld migrate\` once, then start again.`,
    );
  }
}

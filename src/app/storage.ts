/** Opens the database that the config names: the embedded one in its data folder, or a server elsewhere. */
import type pg from 'pg';
import { openEmbeddedPostgres } from '../adapters/embedded-postgres/open.ts';
import { type MigrationReport, migrate, pendingMigrations } from '../adapters/postgres/migrate.ts';
import { assertReachable, createPool } from '../adapters/postgres/pool.ts';
import { openReplica } from '../adapters/postgres/replica.ts';
import type { Config } from '../contracts/config/schema.ts';
import { RecalldError } from '../core/errors.ts';
import type { Logger } from '../ports/telemetry.ts';
import type { CleanupStack } from './cleanup-stack.ts';

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
  /** Resolves when the embedded database ends although nobody asked it to; never for a server elsewhere. */
  readonly lost: Promise<RecalldError>;
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
  let lost = new Promise<RecalldError>(() => undefined);
  if (url === 'embedded') {
    const embedded = await openEmbeddedPostgres({ dataDir, purpose, logger, signal });
    cleanups.defer('embedded PostgreSQL', () => embedded.stop());
    connection = embedded.connection;
    startedHere = embedded.startedHere;
    lost = embedded.died;
  }
  const bounds = { size, logger, queryLimitMs: statement_seconds * 1000 };
  const pool = createPool({ ...bounds, connection, name });
  cleanups.defer('database connections', () => pool.end());
  await assertReachable(pool);
  const storage = { pool, connection, name, startedHere, lost };
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

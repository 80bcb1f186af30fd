/** Brings the database to the schema of this program: forward only, one transaction in all, safe to race. */
import path from 'node:path';
import type pg from 'pg';
import Postgrator from 'postgrator';
import { RecalldError } from '../../core/errors.ts';
import { inTransaction } from './transaction.ts';

const migrationsFolder = path.resolve(import.meta.dirname, '../../../migrations');

/** Any number that no other program takes: "recalld" on a telephone keypad. */
const ADVISORY_LOCK = 7_322_553;

export interface MigrationReport {
  readonly applied: readonly string[];
  readonly version: number;
}

/**
 * Applies what is missing. Processes that start together wait for each other on an advisory lock; a crash in the
 * middle leaves the schema as it was.
 *
 * @throws RecalldError schema_too_new, migration_changed
 */
export async function migrate(pool: pg.Pool): Promise<MigrationReport> {
  return inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1::bigint)', [ADVISORY_LOCK]);
    return applyMissing(client);
  });
}

/** How many migrations the database lacks. @throws RecalldError schema_too_new */
export async function pendingMigrations(pool: pg.Pool): Promise<number> {
  const migrations = createMigrations((sql) => pool.query(sql));
  const { current, newest } = await versions(migrations);
  return newest - current;
}

function createMigrations(execQuery: (sql: string) => Promise<{ rows: unknown[] }>): Postgrator {
  return new Postgrator({
    migrationPattern: path.join(migrationsFolder, '*.sql'),
    driver: 'pg',
    schemaTable: 'recalld_schema_version',
    execQuery,
  });
}

async function versions(migrations: Postgrator): Promise<{ current: number; newest: number }> {
  const newest = await migrations.getMaxVersion();
  const current = await migrations.getDatabaseVersion();
  if (current > newest) {
    throw new RecalldError(
      'schema_too_new',
      `The database has schema version ${current}, this recalld knows ${newest}; run a recalld that is as new as the database.`,
    );
  }
  return { current, newest };
}

async function applyMissing(client: pg.PoolClient): Promise<MigrationReport> {
  const migrations = createMigrations((sql) => client.query(sql));
  const { newest } = await versions(migrations);
  try {
    const applied = await migrations.migrate();
    return { applied: applied.map((migration) => path.basename(migration.filename ?? '')), version: newest };
  } catch (cause) {
    if (cause instanceof Error && /md5|checksum/i.test(cause.message)) {
      throw new RecalldError(
        'migration_changed',
        `${cause.message}; restore the file that came with this version of recalld.`,
        { cause },
      );
    }
    throw cause;
  }
}

/**
 * Migrates the database to this version's schema (forward only, in one transaction, safe for concurrent processes), and
 * grants privileges.
 */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import Postgrator from 'postgrator';
import { codeOf, RecalldError } from '../../core/errors.ts';
import { HOUR_MS } from '../../core/time.ts';
import { inTransaction } from './transaction.ts';

/** SQL file that grants privileges to the daemon's role. Only the owner of the tables can grant these privileges. */
const grants = path.resolve(import.meta.dirname, '../../../deploy/postgres/grants.sql');

/** SQLSTATE for a nonexistent role. */
const UNDEFINED_OBJECT = '42704';

/**
 * Runs deploy/postgres/grants.sql. Locks nothing if the privileges are already granted.
 *
 * @throws RecalldError database_denied if a privilege is missing, or if the role does not exist
 */
export async function grantRights(pool: pg.Pool): Promise<void> {
  const sql = await readFile(grants, 'utf8');
  try {
    await inTransaction(pool, (client) => client.query(sql));
  } catch (cause) {
    if (codeOf(cause) !== UNDEFINED_OBJECT) throw cause;
    throw new RecalldError(
      'database_denied',
      'The role recalld_app does not exist on the server; run deploy/postgres/roles.sql first (docs/how-to/security.md).',
      { cause },
    );
  }
}

const migrationsFolder = path.resolve(import.meta.dirname, '../../../migrations');

/** A number that no other program is likely to use: "recalld" on a telephone keypad. */
const ADVISORY_LOCK = 7_322_553;

export interface MigrationReport {
  readonly applied: readonly string[];
  readonly version: number;
}

/** Name prefix of a migration that the previous version is incompatible with: `0013.do.breaking-drop-scores.sql`. */
const BREAKING = 'breaking-';

/**
 * Applies the missing migrations. Processes that start together migrate one after the other, because each takes an
 * advisory lock. A crash leaves the schema unchanged. Requests a lock on a busy table repeatedly, for a few seconds
 * each time, so that other sessions never wait longer than that.
 *
 * @throws RecalldError schema_too_new, migration_changed, database_busy
 */
export async function migrate(pool: pg.Pool, patience: MigrationPatience = patient): Promise<MigrationReport> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await inTransaction(pool, (client) => migrateOnce(client, patience));
    } catch (cause) {
      if (codeOf(cause) !== LOCK_NOT_AVAILABLE) throw cause;
      if (attempt >= patience.attempts) throw tableBusy(attempt, cause);
      // The pause lets the sessions that were waiting behind this migration continue.
      await delay(patience.pauseMs * attempt);
    }
  }
}

/**
 * How long a migration waits for a table lock: wait per attempt, number of attempts, and pause between attempts. During
 * an attempt, other sessions that use the table also wait.
 */
export interface MigrationPatience {
  readonly lockMs: number;
  readonly attempts: number;
  readonly pauseMs: number;
}

const patient: MigrationPatience = { lockMs: 3000, attempts: 10, pauseMs: 1000 };

const LOCK_NOT_AVAILABLE = '55P03';
/** Maximum duration of a statement; building an index on a large table takes a long time. */
const MAX_STATEMENT_MS = 12 * HOUR_MS;

async function migrateOnce(client: pg.PoolClient, { lockMs }: MigrationPatience): Promise<MigrationReport> {
  const query: RunSql = (text) => client.query({ text, query_timeout: MAX_STATEMENT_MS } as pg.QueryConfig);
  await query(`set local statement_timeout = ${MAX_STATEMENT_MS}`);
  await query(`select pg_advisory_xact_lock(${ADVISORY_LOCK}::bigint)`);
  // A waiting lock request blocks all later requests, so a migration that waits for a long query would block a busy
  // table.
  await query(`set local lock_timeout = ${lockMs}`);
  return applyMissing(query);
}

function tableBusy(attempts: number, cause: unknown): RecalldError {
  return new RecalldError(
    'database_busy',
    `A migration could not lock a table in ${attempts} attempts, because long transactions use the table; nothing was changed. End these transactions, or try again when the load is low.`,
    { cause },
  );
}

/** @throws RecalldError schema_too_new if a newer recalld applied a breaking migration */
export async function compareSchema(pool: pg.Pool) {
  const query: RunSql = (sql) => pool.query(sql);
  const { current, newest, newer } = await versions(createMigrations(query), query);
  return {
    /** Number of migrations missing from the database. */
    pending: Math.max(0, newest - current),
    /** Numbers and names of the migrations that a newer recalld applied; this version is compatible with them. */
    newer,
  };
}

type RunSql = (sql: string) => Promise<{ rows: unknown[] }>;

function createMigrations(execQuery: RunSql): Postgrator {
  return new Postgrator({
    migrationPattern: path.join(migrationsFolder, '*.sql'),
    driver: 'pg',
    schemaTable: 'recalld_schema_version',
    execQuery,
  });
}

async function versions(migrations: Postgrator, query: RunSql) {
  const newest = await migrations.getMaxVersion();
  const current = await migrations.getDatabaseVersion();
  if (current <= newest) return { current, newest, newer: [] };
  const { rows } = await query(
    `select version::integer as version, name from recalld_schema_version where version > ${newest} order by version`,
  );
  const newer = rows as { readonly version: number; readonly name: string | null }[];
  const breaking = newer.find(({ name }) => name?.startsWith(BREAKING) === true);
  if (breaking !== undefined) {
    throw new RecalldError(
      'schema_too_new',
      `The database has schema version ${current}, but this version of recalld supports schema versions up to ${newest}; migration ${nameOf(breaking)} is not compatible with it. Run a newer recalld, or restore a backup from before the migration.`,
    );
  }
  return { current, newest, newer: newer.map(nameOf) };
}

function nameOf({ version, name }: { readonly version: number; readonly name: string | null }): string {
  return `${String(version).padStart(4, '0')}.${name ?? ''}`;
}

async function applyMissing(query: RunSql): Promise<MigrationReport> {
  const migrations = createMigrations(query);
  const { current, newest } = await versions(migrations, query);
  // Postgrator would otherwise migrate the schema backwards.
  if (current > newest) return { applied: [], version: current };
  try {
    const applied = await migrations.migrate();
    return { applied: applied.map((migration) => path.basename(migration.filename ?? '')), version: newest };
  } catch (cause) {
    if (cause instanceof Error && /md5|checksum/i.test(cause.message)) {
      throw new RecalldError(
        'migration_changed',
        `${cause.message}; restore the migration file of this version of recalld.`,
        { cause },
      );
    }
    throw cause;
  }
}

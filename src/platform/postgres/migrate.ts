/**
 * Brings the database to the schema of this program (forward only, one transaction in all, safe to race), and gives
 * rights.
 */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import Postgrator from 'postgrator';
import { RecalldError } from '../../core/errors.ts';
import { HOUR_MS } from '../../core/time.ts';
import { inTransaction } from './transaction.ts';

/** The rights of the role that the daemon runs as, which only the owner of the tables can give. */
const grants = path.resolve(import.meta.dirname, '../../../deploy/postgres/grants.sql');

/** SQLSTATE of a role that is not there. */
const UNDEFINED_OBJECT = '42704';

/**
 * Does what deploy/postgres/grants.sql says; where it was done before, nothing is locked.
 *
 * @throws RecalldError database_denied, also when there is no such role
 */
export async function grantRights(pool: pg.Pool): Promise<void> {
  const sql = await readFile(grants, 'utf8');
  try {
    await inTransaction(pool, (client) => client.query(sql));
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== UNDEFINED_OBJECT) throw cause;
    throw new RecalldError(
      'database_denied',
      'The server has no role recalld_app to give rights to; run deploy/postgres/roles.sql first, as docs/how-to/security.md says.',
      { cause },
    );
  }
}

const migrationsFolder = path.resolve(import.meta.dirname, '../../../migrations');

/** Any number that no other program takes: "recalld" on a telephone keypad. */
const ADVISORY_LOCK = 7_322_553;

export interface MigrationReport {
  readonly applied: readonly string[];
  readonly version: number;
}

/** A migration that the version before cannot work with has a name that begins so: `0013.do.breaking-drop-scores.sql`. */
const BREAKING = 'breaking-';

/**
 * Applies what is missing. Processes that start together wait for each other on an advisory lock; a crash in the
 * middle leaves the schema as it was. A table that others hold is asked for again and again, for a few seconds each time,
 * so that they are never kept waiting for longer.
 *
 * @throws RecalldError schema_too_new, migration_changed, database_busy
 */
export async function migrate(pool: pg.Pool, patience: MigrationPatience = patient): Promise<MigrationReport> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await inTransaction(pool, (client) => migrateOnce(client, patience));
    } catch (cause) {
      if ((cause as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw cause;
      if (attempt >= patience.attempts) throw tableBusy(attempt, cause);
      // Everybody whom we kept waiting is let through first.
      await delay(patience.pauseMs * attempt);
    }
  }
}

/** How long others are kept waiting behind a migration that waits for a table, and how often that is tried. */
export interface MigrationPatience {
  readonly lockMs: number;
  readonly attempts: number;
  readonly pauseMs: number;
}

const patient: MigrationPatience = { lockMs: 3000, attempts: 10, pauseMs: 1000 };

const LOCK_NOT_AVAILABLE = '55P03';
/** An index of a large table takes long, once it has its lock. */
const MAX_STATEMENT_MS = 12 * HOUR_MS;

async function migrateOnce(client: pg.PoolClient, { lockMs }: MigrationPatience): Promise<MigrationReport> {
  const query = (text: string): Promise<{ rows: unknown[] }> =>
    client.query({ text, query_timeout: MAX_STATEMENT_MS } as pg.QueryConfig);
  await query(`set local statement_timeout = ${MAX_STATEMENT_MS}`);
  await query(`select pg_advisory_xact_lock(${ADVISORY_LOCK}::bigint)`);
  // A lock that is waited for blocks all who come after, so that a long query would stop a busy table.
  await query(`set local lock_timeout = ${lockMs}`);
  return applyMissing(query);
}

function tableBusy(attempts: number, cause: unknown): RecalldError {
  return new RecalldError(
    'database_busy',
    `A migration did not get a table for itself in ${attempts} attempts, since others use it for long; nothing was changed. End long transactions, or try again when it is calm.`,
    { cause },
  );
}

/** @throws RecalldError schema_too_new when a newer recalld made a breaking migration */
export async function compareSchema(pool: pg.Pool) {
  const query = (sql: string): Promise<{ rows: unknown[] }> => pool.query(sql);
  const { current, newest, newer } = await versions(createMigrations(query), query);
  return {
    /** Migrations that the database lacks. */
    pending: Math.max(0, newest - current),
    /** Migrations of a newer recalld that this one can work with, by number and name. */
    newer,
  };
}

function createMigrations(execQuery: (sql: string) => Promise<{ rows: unknown[] }>): Postgrator {
  return new Postgrator({
    migrationPattern: path.join(migrationsFolder, '*.sql'),
    driver: 'pg',
    schemaTable: 'recalld_schema_version',
    execQuery,
  });
}

type RunSql = (sql: string) => Promise<{ rows: unknown[] }>;

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
      `The database has schema version ${current} and this recalld knows ${newest}; migration ${nameOf(breaking)} changed what this one works with. Run a recalld that is as new as the database, or restore the backup from before.`,
    );
  }
  return { current, newest, newer: newer.map(nameOf) };
}

function nameOf({ version, name }: { readonly version: number; readonly name: string | null }): string {
  return `${String(version).padStart(4, '0')}.${name ?? ''}`;
}

async function applyMissing(query: (sql: string) => Promise<{ rows: unknown[] }>): Promise<MigrationReport> {
  const migrations = createMigrations(query);
  const { current, newest } = await versions(migrations, query);
  // Postgrator would go back.
  if (current > newest) return { applied: [], version: current };
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

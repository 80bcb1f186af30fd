/** The connection pool of this process's own queries, and the sentence for a database that does not answer. */
import pg from 'pg';
import { RecalldError } from '../../core/errors.ts';
import type { Logger } from '../../ports/telemetry.ts';

export interface PoolSettings {
  readonly connection: pg.PoolConfig;
  readonly size: number;
  readonly logger: Logger;
}

/**
 * A pool whose idle connections may break without harm: the error is logged and the next query opens a new one.
 * `statement_timeout` bounds every query, so that a stuck database is an error and never a hang.
 */
export function createPool(settings: PoolSettings): pg.Pool {
  const pool = new pg.Pool({
    ...settings.connection,
    max: settings.size,
    connectionTimeoutMillis: 5000,
    statement_timeout: 60_000,
    keepAlive: true,
    application_name: 'recalld',
  });
  pool.on('error', (error) => settings.logger.warn('an idle database connection was lost', { reason: error.message }));
  return pool;
}

/** Resolves when the database answers. @throws RecalldError database_unreachable with host and reason, never the password */
export async function assertReachable(pool: pg.Pool): Promise<void> {
  try {
    await pool.query('select 1');
  } catch (cause) {
    throw unreachable(pool.options, cause);
  }
}

export function unreachable(options: pg.PoolConfig, cause: unknown): RecalldError {
  const url = options.connectionString === undefined ? null : new URL(options.connectionString);
  const host = url?.hostname ?? options.host ?? 'localhost';
  const port = url?.port || String(options.port ?? 5432);
  const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
  return new RecalldError(
    'database_unreachable',
    `PostgreSQL at ${host}:${port} does not answer (${reason}); start it or mend storage.url.`,
    { cause },
  );
}

/** The connection pool of this process's own queries, and the sentence for a database that does not answer. */
import { Pool, type PoolConfig } from 'pg';
import { RecalldError } from '../../core/errors.ts';
import type { Logger } from '../../ports/telemetry.ts';

export interface PoolSettings {
  readonly connection: PoolConfig;
  readonly size: number;
  readonly logger: Logger;
  /** The server ends a query that takes longer. */
  readonly queryLimitMs?: number;
}

/**
 * A pool whose connections may break without harm: the query that was under way fails, an idle one is logged, and
 * the next query opens a new one. Every query is bounded, by the server and, should that fall silent, by ourselves,
 * so that a stuck database is an error and never a hang.
 */
export function createPool({ connection, size, logger, queryLimitMs = 60_000 }: PoolSettings): Pool {
  const pool = new Pool({
    ...connection,
    max: size,
    connectionTimeoutMillis: 5000,
    statement_timeout: queryLimitMs,
    query_timeout: 1.5 * queryLimitMs,
    keepAlive: true,
    application_name: 'recalld',
  });
  pool.on('error', (error) => {
    // At the end of the program the embedded server may hang up before our goodbye has reached it.
    if (!pool.ending) logger.warn('an idle database connection was lost', { reason: error.message });
  });
  // Nobody but this listens to a connection that is checked out, and an error that nobody hears ends the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/**
 * Resolves when the database answers.
 *
 * @throws RecalldError database_unreachable with host and reason, never the password; config_invalid for a URL that
 *   cannot be read
 */
export async function assertReachable(pool: Pool): Promise<void> {
  try {
    await pool.query('select 1');
  } catch (cause) {
    throw unreachable(pool.options, cause);
  }
}

/** The sentence for a query that did not reach its database. */
export function unreachable(options: PoolConfig, cause: unknown): RecalldError {
  // The error of the URL parser holds the URL, and with it the password.
  if (cause instanceof TypeError && 'code' in cause && cause.code === 'ERR_INVALID_URL') {
    return new RecalldError(
      'config_invalid',
      'storage.url is not a URL that can be read; write characters such as #, / and @ in the password as %23, %2F and %40.',
    );
  }
  const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
  const { host, port } = { ...options, ...addressOf(options.connectionString) };
  return new RecalldError(
    'database_unreachable',
    `PostgreSQL at ${host || 'localhost'}:${port || 5432} does not answer (${reason}); start it or mend storage.url.`,
    { cause },
  );
}

function addressOf(connectionString: string | undefined): { host: string; port: string } | null {
  if (connectionString === undefined || !URL.canParse(connectionString)) return null;
  const url = new URL(connectionString);
  return { host: url.hostname || (url.searchParams.get('host') ?? ''), port: url.port };
}

/**
 * This process's connection pools: one for the primary, and one for a replica, which serves reads whose results may
 * lag. While the replica is unreachable, the primary answers these reads.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Pool, type PoolClient, type PoolConfig, type QueryConfig } from 'pg';
import { codeOf, messageOf, type RecalldError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Clock } from '../../core/time.ts';
import type { ClockLook } from '../../math/schedule/clock-skew.ts';
import { sharedRun } from '../threads/wait.ts';
import { isOutage, unreachable } from './outage.ts';

const CLOCK_TIMEOUT_MS = 5000;

/**
 * Compares this process's clock with the database clock. @throws driver errors, including a timeout after five seconds
 */
export async function compareClocks(pool: Pool, clock: Clock): Promise<ClockLook> {
  // Connects first, so that the measured round trip excludes connecting.
  return withConnection(pool, async (client) => {
    const sentAtMs = clock.now().getTime();
    const startedMs = clock.monotonicMs();
    const query: QueryConfig & { readonly query_timeout: number } = {
      text: 'select (extract(epoch from clock_timestamp()) * 1000)::double precision as ms',
      query_timeout: CLOCK_TIMEOUT_MS,
    };
    const { rows } = await client.query<{ ms: number }>(query);
    return { sentAtMs, tookMs: clock.monotonicMs() - startedMs, otherMs: rows[0]?.ms ?? Number.NaN };
  });
}

/** Runs `work` on one connection of the pool, and closes the connection if `work` throws. */
export async function withConnection<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let isBroken = true;
  try {
    const result = await work(client);
    isBroken = false;
    return result;
  } finally {
    client.release(isBroken);
  }
}

interface PoolSettings {
  readonly connection: PoolConfig;
  readonly size: number;
  readonly logger: Logger;
  /** Application name in `pg_stat_activity`. */
  readonly name?: string;
  readonly queryLimitMs?: number;
  /** Timeout for an idle transaction. */
  readonly idleLimitMs?: number;
}

/**
 * Creates a pool that survives broken connections: a running query fails, a broken idle connection is logged, and the
 * next query opens a new connection. Every query has a timeout on the server and, in case the server does not respond,
 * another in the client. A stuck database therefore causes an error instead of a hang. If a process freezes within a
 * transaction, the server ends the transaction and releases its locks, so that other processes can continue.
 */
export function createPool(settings: PoolSettings): Pool {
  const { connection, size, logger, name = 'recalld', queryLimitMs = 60_000, idleLimitMs = 15_000 } = settings;
  const pool = new Pool({
    ...connection,
    max: size,
    connectionTimeoutMillis: 5000,
    query_timeout: 1.5 * queryLimitMs,
    keepAlive: true,
    // Sends independent statements together.
    pipeline: true,
    application_name: name,
  });
  pool.on('error', (error) => {
    // No warning is needed while the process ends: the embedded server may then close the connection first.
    if (!pool.ending) logger.warn('an idle database connection was lost', { reason: error.message });
  });
  pool.on('connect', (client) => {
    // A checked-out connection has no other listener, and an error without a listener ends the process.
    client.on('error', () => undefined);
    setForSession(client, {
      statement_timeout: `${queryLimitMs}`,
      idle_in_transaction_session_timeout: `${idleLimitMs}`,
    });
  });
  return pool;
}

/**
 * Sets session parameters on a new connection, before its first query and in the same packet. A pooler would refuse or
 * ignore these parameters at startup. If the parameters cannot be set, the session is closed.
 */
export function setForSession(client: PoolClient, parameters: Readonly<Record<string, string>>): void {
  const settings = Object.entries(parameters).map(([name, value]) => `set_config('${name}', '${value}', false)`);
  client.query(`select ${settings.join(', ')}`).catch(() => client.end().catch(() => undefined));
}

const MAX_LAG_READS = 10;
const PAUSE_MS = 100;

/** @throws `pg` errors if either database does not respond */
export async function inspectReplica(replica: Pool, primary: Pool) {
  const { rows } = await replica.query<{ version: string; hasSchema: boolean; isReplica: boolean }>(
    `select current_setting('server_version') as version, pg_is_in_recovery() as "isReplica",
            to_regclass('golden_runs') is not null as "hasSchema"`,
  );
  const [{ version, hasSchema, isReplica } = { version: '', hasSchema: false, isReplica: false }] = rows;
  return {
    version,
    /**
     * True if the replica is usable; false if it belongs to an unrelated database, or to a database without the schema.
     */
    hasSchema,
    /**
     * How far the replica lags behind the primary, as the age of the last replayed transaction in seconds; null if the
     * replica does not lag, or does not report its lag.
     */
    behindSeconds: isReplica ? await readLag(replica, primary) : null,
  };
}

/**
 * Returns the replica's lag in seconds; null if there is no lag, or if a hosted replica lacks the functions that report
 * it.
 */
async function readLag(replica: Pool, primary: Pool): Promise<number | null> {
  try {
    const { rows } = await primary.query<{ position: string }>('select pg_current_wal_lsn()::text as position');
    let seconds = 0;
    for (let look = 0; look < MAX_LAG_READS; look += 1) {
      const lag = await replica.query<{ hasIt: boolean; seconds: number | null }>(
        `select pg_last_wal_replay_lsn() >= $1::pg_lsn as "hasIt",
                extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())::double precision as seconds`,
        [rows[0]?.position],
      );
      if (lag.rows[0]?.hasIt !== false) return null;
      seconds = lag.rows[0].seconds ?? 0;
      await pause(PAUSE_MS);
    }
    return seconds;
  } catch {
    return null;
  }
}

/** How long the replica's state is cached, in milliseconds. */
const STATE_CACHE_MS = 5000;
/** Timeout for the state query; a slower replica counts as unreachable. */
const STATE_TIMEOUT_MS = 1000;

/**
 * Errors that are not retried on the primary: a statement timeout, which would occur there too, and a refused write.
 */
const NOT_RETRIED = new Set(['57014', '25006']);

type Query = (...asked: unknown[]) => Promise<unknown>;

export function openReplica(replica: Pool, primary: Pool, logger: Logger) {
  const askReplica = replica.query.bind(replica) as Query;
  const askPrimary = primary.query.bind(primary) as Query;
  let known: RecalldError | null = null;
  let knownAt = Number.NEGATIVE_INFINITY;

  const learn = (problem: RecalldError | null): void => {
    if (problem !== null && known === null)
      logger.warn('the replica is unreachable; the primary answers reads instead', { reason: problem.message });
    if (problem === null && known !== null) logger.info('the replica answers reads again');
    known = problem;
    knownAt = performance.now();
  };
  const readState = sharedRun(async (): Promise<void> => {
    try {
      await askReplica({ text: 'select 1', query_timeout: STATE_TIMEOUT_MS });
      learn(null);
    } catch (error) {
      learn(unreachable(replica.options, error, 'storage.read_url'));
    }
  });
  const problem = async (): Promise<RecalldError | null> => {
    if (performance.now() - knownAt < STATE_CACHE_MS) return known;
    const reading = readState();
    // While the replica is unreachable, reads do not wait for the next state query.
    if (known === null) await reading;
    return known;
  };
  const query: Query = async (...asked) => {
    if ((await problem()) !== null) return askPrimary(...asked);
    try {
      return await askReplica(...asked);
    } catch (error) {
      if (NOT_RETRIED.has(codeOf(error))) throw error;
      if (isOutage(error)) learn(unreachable(replica.options, error, 'storage.read_url'));
      else logger.warn('the replica failed to answer a read; the primary answered it', { reason: messageOf(error) });
      return askPrimary(...asked);
    }
  };
  return {
    /** Sends queries to the replica, or to the primary if the replica is unreachable or fails. */
    pool: Object.assign(replica, { query }),
    /** Returns the reason why the replica does not respond; null if it does. Caches the result for a few seconds. */
    problem,
  };
}

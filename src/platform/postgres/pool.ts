/**
 * The connection pools of this process's own queries: of the primary, with the sentence for a database that does not
 * answer, and of a replica that answers what may lag behind (while it does not answer, the primary does).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Pool, type PoolClient, type PoolConfig, type QueryConfig } from 'pg';
import { messageOf, type RecalldError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Clock } from '../../core/time.ts';
import type { ClockLook } from '../../math/schedule/clock-skew.ts';
import { isAway, unreachable } from './outage.ts';

/** Time enough for an answer that tells anything. */
const PATIENCE_MS = 5000;

/** @throws what the driver rejects with, when the database is away or says nothing for five seconds */
export async function lookAtClocks(pool: Pool, clock: Clock): Promise<ClockLook> {
  // Waiting for a connection is no part of the round trip.
  const client = await pool.connect();
  let broken = true;
  try {
    const sentAtMs = clock.now().getTime();
    const startedMs = clock.monotonicMs();
    const question: QueryConfig & { readonly query_timeout: number } = {
      text: 'select (extract(epoch from clock_timestamp()) * 1000)::double precision as ms',
      query_timeout: PATIENCE_MS,
    };
    const { rows } = await client.query<{ ms: number }>(question);
    broken = false;
    return { sentAtMs, tookMs: clock.monotonicMs() - startedMs, otherMs: rows[0]?.ms ?? Number.NaN };
  } finally {
    client.release(broken);
  }
}

interface PoolSettings {
  readonly connection: PoolConfig;
  readonly size: number;
  readonly logger: Logger;
  /** As `pg_stat_activity` shows it. */
  readonly name?: string;
  /** The server ends a query that takes longer. */
  readonly queryLimitMs?: number;
  /** The server ends a transaction whose next statement does not come. */
  readonly idleLimitMs?: number;
}

/**
 * A pool whose connections may break without harm: the query that was under way fails, an idle one is logged, and
 * the next query opens a new one. Every query is bounded, by the server and, should that fall silent, by ourselves,
 * so that a stuck database is an error and never a hang. A process that stands still within a transaction
 * loses it and its locks, so that the others of its fleet go on.
 */
export function createPool(settings: PoolSettings): Pool {
  const { connection, size, logger, name = 'recalld', queryLimitMs = 60_000, idleLimitMs = 15_000 } = settings;
  const pool = new Pool({
    ...connection,
    max: size,
    connectionTimeoutMillis: 5000,
    query_timeout: 1.5 * queryLimitMs,
    keepAlive: true,
    // Statements that do not need each other's answers go out together.
    pipeline: true,
    application_name: name,
  });
  pool.on('error', (error) => {
    // At the end of the program the embedded server may hang up before our goodbye has reached it.
    if (!pool.ending) logger.warn('an idle database connection was lost', { reason: error.message });
  });
  pool.on('connect', (client) => {
    // Nothing else listens to a connection that is checked out, and an error without a listener ends the process.
    client.on('error', () => undefined);
    setForSession(client, {
      statement_timeout: `${queryLimitMs}`,
      idle_in_transaction_session_timeout: `${idleLimitMs}`,
    });
  });
  return pool;
}

/**
 * Sets parameters of the session of a new connection, ahead of its first query and in the same packet. A pooler refuses
 * them, or ignores them, as parameters of the start. A session that cannot be set up is closed.
 */
export function setForSession(client: PoolClient, parameters: Readonly<Record<string, string>>): void {
  const settings = Object.entries(parameters).map(([name, value]) => `set_config('${name}', '${value}', false)`);
  client.query(`select ${settings.join(', ')}`).catch(() => client.end().catch(() => undefined));
}

const LOOKS = 10;
const PAUSE_MS = 100;

/** @throws what `pg` throws when one of them does not answer */
export async function inspectReplica(replica: Pool, primary: Pool) {
  const { rows } = await replica.query<{ version: string; hasSchema: boolean; isReplica: boolean }>(
    `select current_setting('server_version') as version, pg_is_in_recovery() as "isReplica",
            to_regclass('golden_runs') is not null as "hasSchema"`,
  );
  const [{ version, hasSchema, isReplica } = { version: '', hasSchema: false, isReplica: false }] = rows;
  return {
    version,
    /** False for another database, or one that the schema has yet to reach. */
    hasSchema,
    /** Age of what it replayed last, when it lacks what the primary wrote before; null when it has it or does not tell. */
    behindSeconds: isReplica ? await readLag(replica, primary) : null,
  };
}

/** Replicas of some hosted databases do not know these functions. */
async function readLag(replica: Pool, primary: Pool): Promise<number | null> {
  try {
    const { rows } = await primary.query<{ position: string }>('select pg_current_wal_lsn()::text as position');
    let seconds = 0;
    for (let look = 0; look < LOOKS; look += 1) {
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

/** So long is it believed that the replica answers, or that it does not. */
const BELIEVED_MS = 5000;
/** A replica that takes longer to say anything at all counts as away. */
const REPLICA_PATIENCE_MS = 1000;

/** The primary would end a statement that took too long as well; a write has no business here. */
const NOT_FOR_THE_PRIMARY = new Set(['57014', '25006']);

type Query = (...asked: unknown[]) => Promise<unknown>;

export function openReplica(replica: Pool, primary: Pool, logger: Logger) {
  const askReplica = replica.query.bind(replica) as Query;
  const askPrimary = primary.query.bind(primary) as Query;
  let known: RecalldError | null = null;
  let knownAt = Number.NEGATIVE_INFINITY;
  let look: Promise<void> | undefined;

  const learn = (trouble: RecalldError | null): void => {
    if (trouble !== null && known === null)
      logger.warn('the replica is away and the primary answers reads', { reason: trouble.message });
    if (trouble === null && known !== null) logger.info('the replica answers reads again');
    known = trouble;
    knownAt = performance.now();
  };
  const lookAgain = async (): Promise<void> => {
    try {
      await askReplica({ text: 'select 1', query_timeout: REPLICA_PATIENCE_MS });
      learn(null);
    } catch (error) {
      learn(unreachable(replica.options, error, 'storage.read_url'));
    }
  };
  const trouble = async (): Promise<RecalldError | null> => {
    if (performance.now() - knownAt < BELIEVED_MS) return known;
    look ??= lookAgain().finally(() => {
      look = undefined;
    });
    // While it is away, no reader waits for the news that it still is.
    if (known === null) await look;
    return known;
  };
  const query: Query = async (...asked) => {
    if ((await trouble()) !== null) return askPrimary(...asked);
    try {
      return await askReplica(...asked);
    } catch (error) {
      if (NOT_FOR_THE_PRIMARY.has(String((error as { code?: unknown }).code))) throw error;
      if (isAway(error)) learn(unreachable(replica.options, error, 'storage.read_url'));
      else logger.warn('the primary answered a read that the replica could not', { reason: messageOf(error) });
      return askPrimary(...asked);
    }
  };
  return {
    /** Its queries go to the replica, and to the primary when the replica is away or fails them. */
    pool: Object.assign(replica, {
      query,
    }),
    /** Why the replica does not answer, as known for a few seconds; null when it does. */
    trouble,
  };
}

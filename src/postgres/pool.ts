/**
 * The connection pools of this process's own queries: of the primary, with the sentence for a database that does not
 * answer, and of a replica that answers what may lag behind (while it does not answer, the primary does).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Client, Pool, type PoolConfig, type QueryConfig } from 'pg';
import { messageOf, RecalldError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { ClockLook } from '../schedule/clock-skew.ts';
import type { Clock } from '../time.ts';

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

/** SQLSTATE of a write that found no space. */
const DISK_FULL = '53100';

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
    statement_timeout: queryLimitMs,
    query_timeout: 1.5 * queryLimitMs,
    idle_in_transaction_session_timeout: idleLimitMs,
    keepAlive: true,
    // Statements that do not need each other's answers go out together.
    pipeline: true,
    application_name: name,
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

/**
 * Reads a connection string, and the files of certificates that it names, without connecting.
 *
 * @throws RecalldError config_invalid, without the password
 */
export function assertConnectionString(connectionString: string, field: 'storage.url' | 'storage.read_url'): void {
  try {
    // oxlint-disable-next-line no-new
    new Client({ connectionString });
  } catch (cause) {
    const isFileMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
    if (isFileMissing) throw new RecalldError('config_invalid', `${field}: ${messageOf(cause)}; check the path.`);
    throw new RecalldError('config_invalid', unreadableUrl(field));
  }
}

function unreadableUrl(field: string): string {
  return `${field} is not a URL that can be read; write characters such as #, / and @ in the password as %23, %2F and %40.`;
}

/**
 * The sentence for a query that did not reach its database, or that could not be stored there.
 *
 * @param field of the config that names the database
 */
export function unreachable(
  options: PoolConfig,
  cause: unknown,
  field: 'storage.url' | 'storage.read_url' = 'storage.url',
): RecalldError {
  // The error of the URL parser holds the URL, and with it the password.
  if (cause instanceof TypeError && 'code' in cause && cause.code === 'ERR_INVALID_URL') {
    return new RecalldError('config_invalid', unreadableUrl(field));
  }
  const reason = messageOf(cause);
  const { host, port } = { ...options, ...addressOf(options.connectionString) };
  const server = `PostgreSQL at ${host || 'localhost'}:${port || 5432}`;
  if (cause instanceof Error && 'code' in cause && cause.code === DISK_FULL) {
    const advice = 'free or add space there; a shorter privacy.retention_days keeps less';
    return new RecalldError('database_full', `${server} has no space left to store in (${reason}); ${advice}.`, {
      cause,
    });
  }
  return new RecalldError('database_unreachable', `${server} does not answer (${reason}); start it or mend ${field}.`, {
    cause,
  });
}

/** SQLSTATE classes of a server that is away, starting, stopping, full, has no connection left or ended one that was idle. */
const OUTAGE_STATES = /^(08|53|57P|25P03)/;
const OUTAGE_ERRORS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
]);
/** What `pg` says without a code. */
const OUTAGE_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error)/;

/** The sentence for an error that means that the database is away for now; null for any other, such as a bug of ours. */
export function outageOf(options: PoolConfig, error: unknown): RecalldError | null {
  if (!(error instanceof Error)) return null;
  const code = 'code' in error ? String(error.code) : '';
  const isOutage = OUTAGE_STATES.test(code) || OUTAGE_ERRORS.has(code) || OUTAGE_MESSAGES.test(error.message);
  return isOutage ? unreachable(options, error) : null;
}

function addressOf(connectionString: string | undefined): { host: string; port: string } | null {
  if (connectionString === undefined || !URL.canParse(connectionString)) return null;
  const url = new URL(connectionString);
  return { host: url.hostname || (url.searchParams.get('host') ?? ''), port: url.port };
}

/** Runs the work. That the database is away is told by its sentence; any other error, such as a bug, stays what it is. */
export async function namingOutage<T>(pool: Pool, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw outageOf(pool.options, cause) ?? cause;
  }
}

interface ReplicaState {
  readonly version: string;
  /** False for another database, or one that the schema has yet to reach. */
  readonly hasSchema: boolean;
  /** Age of what it replayed last, when it lacks what the primary wrote before; null when it has it or does not tell. */
  readonly behindSeconds: number | null;
}

const LOOKS = 10;
const PAUSE_MS = 100;

/** @throws what `pg` throws when one of them does not answer */
export async function inspectReplica(replica: Pool, primary: Pool): Promise<ReplicaState> {
  const { rows } = await replica.query<{ version: string; hasSchema: boolean; isReplica: boolean }>(
    `select current_setting('server_version') as version, pg_is_in_recovery() as "isReplica",
            to_regclass('golden_runs') is not null as "hasSchema"`,
  );
  const [{ version, hasSchema, isReplica } = { version: '', hasSchema: false, isReplica: false }] = rows;
  return { version, hasSchema, behindSeconds: isReplica ? await readLag(replica, primary) : null };
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

interface Replica {
  /** Its queries go to the replica, and to the primary when the replica is away or fails them. */
  readonly pool: Pool;
  /** Why the replica does not answer, as known for a few seconds; null when it does. */
  readonly trouble: () => Promise<RecalldError | null>;
}

/** So long is it believed that the replica answers, or that it does not. */
const BELIEVED_MS = 5000;
/** A replica that takes longer to say anything at all counts as away. */
const REPLICA_PATIENCE_MS = 1000;

/** The primary would end a statement that took too long as well; a write has no business here. */
const NOT_FOR_THE_PRIMARY = new Set(['57014', '25006']);

type Query = (...asked: unknown[]) => Promise<unknown>;

export function openReplica(replica: Pool, primary: Pool, logger: Logger): Replica {
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
      if (outageOf(replica.options, error) === null)
        logger.warn('the primary answered a read that the replica could not', { reason: messageOf(error) });
      else learn(unreachable(replica.options, error, 'storage.read_url'));
      return askPrimary(...asked);
    }
  };
  return { pool: Object.assign(replica, { query }), trouble };
}

/** A replica that answers what may lag behind (while it does not answer, the primary does), and how far it does. */
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { Pool } from 'pg';
import type { RecalldError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { messageOf } from '../text/error-message.ts';
import { outageOf, unreachable } from './pool.ts';

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
export async function inspectReplica(replica: pg.Pool, primary: pg.Pool): Promise<ReplicaState> {
  const { rows } = await replica.query<{ version: string; hasSchema: boolean; isReplica: boolean }>(
    `select current_setting('server_version') as version, pg_is_in_recovery() as "isReplica",
            to_regclass('golden_runs') is not null as "hasSchema"`,
  );
  const [{ version, hasSchema, isReplica } = { version: '', hasSchema: false, isReplica: false }] = rows;
  return { version, hasSchema, behindSeconds: isReplica ? await readLag(replica, primary) : null };
}

/** Replicas of some hosted databases do not know these functions. */
async function readLag(replica: pg.Pool, primary: pg.Pool): Promise<number | null> {
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

export interface Replica {
  /** Its queries go to the replica, and to the primary when the replica is away or fails them. */
  readonly pool: Pool;
  /** Why the replica does not answer, as known for a few seconds; null when it does. */
  readonly trouble: () => Promise<RecalldError | null>;
}

/** So long is it believed that the replica answers, or that it does not. */
const BELIEVED_MS = 5000;
/** A replica that takes longer to say anything at all counts as away. */
const PATIENCE_MS = 1000;

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
      await askReplica({ text: 'select 1', query_timeout: PATIENCE_MS });
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

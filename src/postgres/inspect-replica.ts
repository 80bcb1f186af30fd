/** Asks a replica whether it is one of ours, and how far behind its primary it is. */
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';

export interface ReplicaState {
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
    const { rows } = await primary.query<{ position: string }>(
      'select pg_current_wal_lsn()::text as position',
    );
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

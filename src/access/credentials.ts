/**
 * Whether a key or a session that somebody presents is a good one. The database is asked about few unknown ones a
 * minute for each address, and what it does not know pushes nothing out of what it does.
 */
import { createHash, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { normalizeIP } from '@fastify/rate-limit';
import type { FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { RecalldError } from '../errors.ts';
import { MINUTE_MS } from '../time.ts';
import { type ApiKey, hashOfSecret, type KeyRow, keyColumns, toKey } from './api-keys.ts';

/** Different wrong keys and sessions of one address. */
const WRONG_A_MINUTE = 20;
/** Of good credentials, of wrong ones and of addresses; beyond it the oldest is forgotten. */
const MAX_REMEMBERED = 10_000;

/** Counts what an address presents before the database is asked about it. */
export interface Attempts {
  /**
   * @returns gives the attempt back, for one that was right
   * @throws RecalldError attempts_limited
   */
  begin(address: string): () => void;
}

/** @param onLimited told once a minute of an address that is sent away */
export function createAttempts(onLimited: (address: string) => void): Attempts {
  const minutes = new Map<string, { count: number; isTold: boolean; readonly until: number }>();
  return {
    begin(address) {
      const now = performance.now();
      let minute = minutes.get(address);
      if (minute === undefined || minute.until <= now) {
        minute = { count: 0, isTold: false, until: now + MINUTE_MS };
        remember(minutes, address, minute);
      }
      const counted = minute;
      if (counted.count >= WRONG_A_MINUTE) {
        if (!counted.isTold) onLimited(address);
        counted.isTold = true;
        throw new RecalldError(
          'attempts_limited',
          `${WRONG_A_MINUTE} wrong keys or sessions came from this address within a minute; wait as Retry-After says.`,
        );
      }
      counted.count += 1;
      return () => void (counted.count -= 1);
    },
  };
}

/**
 * What `text` stands for, null when it is not good.
 *
 * @throws RecalldError attempts_limited
 */
export type Check<Found> = (text: string, address: string) => Promise<Found | null>;

/**
 * @param ask asks the database
 * @param believedMs for so long an answer that was good is not asked for again
 */
export function createCheck<Found>(
  ask: (text: string) => Promise<Found | null>,
  believedMs: number,
  attempts: Attempts,
): Check<Found> {
  const good = new Map<string, { readonly found: Found; readonly until: number }>();
  const wrong = new Map<string, { readonly until: number }>();
  const asking = new Map<string, Promise<Found | null>>();

  const askOnce = async (hash: string, text: string, address: string): Promise<Found | null> => {
    // One that was good is asked about whatever else comes from there: wrong keys lock no good one out.
    const giveBack = good.has(hash) ? null : attempts.begin(address);
    let isWrong = false;
    try {
      const found = await ask(text);
      isWrong = found === null;
      if (found !== null) remember(good, hash, { found, until: performance.now() + believedMs });
      else {
        good.delete(hash);
        remember(wrong, hash, { until: performance.now() + MINUTE_MS });
      }
      return found;
    } finally {
      if (!isWrong) giveBack?.();
    }
  };

  return async (text, address) => {
    const hash = createHash('sha256').update(text).digest('base64');
    const now = performance.now();
    const known = good.get(hash);
    if (known !== undefined && known.until > now) return known.found;
    if ((wrong.get(hash)?.until ?? 0) > now) return null;
    const underWay = asking.get(hash);
    if (underWay !== undefined) return underWay;
    const answer = askOnce(hash, text, address).finally(() => asking.delete(hash));
    asking.set(hash, answer);
    return answer;
  };
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_REMEMBERED && oldest !== undefined) map.delete(oldest);
}

/** Who calls: what a trusted proxy says, else who is connected; of IPv6 the network, since a client has all of it. */
export function addressOf({ ip, socket }: FastifyRequest): string {
  return normalizeIP(isIP(ip) === 0 ? (socket.remoteAddress ?? '') : ip);
}

/** The oldest session of a key ends when it begins more. */
const MAX_OF_A_KEY = 100;

export function createConsoleSessions(pool: Pool): ConsoleSessions {
  return {
    async begin(keyId, lifetimeSeconds) {
      const token = randomBytes(32).toString('base64url');
      await pool.query(
        `with ended as (
           delete from console_sessions where token_hash in (
             select token_hash from console_sessions where key_id = $2::text
              order by created_at desc offset ${MAX_OF_A_KEY - 1}))
         insert into console_sessions (token_hash, key_id, created_at, expires_at, last_seen_at)
         values ($1::bytea, $2::text, now(), now() + make_interval(secs => $3::double precision), now())`,
        [hashOfSecret(token), keyId, lifetimeSeconds],
      );
      return token;
    },

    async find(token) {
      // Once a minute, so that looking at pages is mostly reading.
      const { rows } = await pool.query<KeyRow>(
        `with seen as (
           update console_sessions set last_seen_at = now()
            where token_hash = $1::bytea and last_seen_at < now() - interval '1 minute')
         select ${keyColumns} from console_sessions s join api_keys k on k.id = s.key_id
          where s.token_hash = $1::bytea and s.expires_at > now() and k.revoked_at is null`,
        [hashOfSecret(token)],
      );
      return rows[0] === undefined ? null : toKey(rows[0]);
    },

    async end(token) {
      await pool.query('delete from console_sessions where token_hash = $1::bytea', [hashOfSecret(token)]);
    },

    async prune() {
      await pool.query('delete from console_sessions where expires_at <= now()');
    },
  };
}

/** Who is signed in at the console; only the hashes of their cookies are stored, and times are those of the database. */
export interface ConsoleSessions {
  /** Begins a session of the key. Its token is the answer and nowhere else, ever. */
  begin(keyId: string, lifetimeSeconds: number): Promise<string>;
  /** The key that the session of this token was begun with; null when it has ended or the key is revoked. Sees both at once. */
  find(token: string): Promise<ApiKey | null>;
  end(token: string): Promise<void>;
  /** Deletes what has run out. */
  prune(): Promise<void>;
}

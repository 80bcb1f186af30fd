/**
 * Console sessions in PostgreSQL. Who reads the table can sign in as nobody: it holds no cookie, and nothing that one
 * could be made from.
 */
import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { type ApiKey, hashOfSecret, type KeyRow, keyColumns, toKey } from './api-keys.ts';

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

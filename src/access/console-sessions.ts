/**
 * Console sessions in PostgreSQL. Who reads the table can sign in as nobody: it holds no cookie, and nothing that one
 * could be made from.
 */
import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { hashOfSecret, type KeyRow, keyColumns, toKey } from './api-keys.ts';
import type { ConsoleSessions } from './ports/console-sessions.ts';

/** The oldest session of a key ends when it begins more. */
const MOST_OF_A_KEY = 100;

export function createConsoleSessions(pool: Pool): ConsoleSessions {
  return {
    async begin(keyId, lifetimeSeconds) {
      const token = randomBytes(32).toString('base64url');
      await pool.query(
        `with ended as (
           delete from console_sessions where token_hash in (
             select token_hash from console_sessions where key_id = $2::text
              order by created_at desc offset ${MOST_OF_A_KEY - 1}))
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

/** API keys in PostgreSQL. Keys are random and long, so that SHA-256 alone keeps them. */
import { createHash, randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { API_KEY_PREFIX, type ApiScope } from './api-key.ts';
import type { ApiKey, ApiKeys } from './ports/api-keys.ts';

export interface KeyRow {
  id: string;
  name: string;
  scopes: ApiScope[];
  created_at: Date;
  revoked_at: Date | null;
}

/** Of the table `api_keys` as k. */
export const keyColumns = 'k.id, k.name, k.scopes, k.created_at, k.revoked_at';

export function createApiKeys(pool: Pool): ApiKeys {
  return {
    async find(text) {
      const { rows } = await pool.query<KeyRow>(
        `select ${keyColumns} from api_keys k where k.key_hash = $1::bytea and k.revoked_at is null`,
        [hashOfSecret(text)],
      );
      return rows[0] === undefined ? null : toKey(rows[0]);
    },

    async create(name, scopes, now) {
      const text = `${API_KEY_PREFIX}${randomBytes(32).toString('base64url')}`;
      const id = randomBytes(4).toString('hex');
      const { rows } = await pool.query<KeyRow>(
        `insert into api_keys as k (id, name, key_hash, scopes, created_at)
         values ($1::text, $2::text, $3::bytea, $4::text[], $5::timestamptz) returning ${keyColumns}`,
        [id, name, hashOfSecret(text), [...scopes], now],
      );
      if (rows[0] === undefined) throw new Error('an insert returned no row');
      return { key: toKey(rows[0]), text };
    },

    async list() {
      const { rows } = await pool.query<KeyRow & { sessions: number; last_seen_at: Date | null }>(
        `select ${keyColumns}, count(s.key_id)::integer as sessions, max(s.last_seen_at) as last_seen_at
           from api_keys k
           left join console_sessions s on s.key_id = k.id and s.expires_at > now()
          group by k.id order by k.created_at`,
      );
      return rows.map((row) => ({ ...toKey(row), sessions: row.sessions, lastSeenAt: row.last_seen_at }));
    },

    async revoke(id, now) {
      const { rowCount } = await pool.query(
        `with ended as (delete from console_sessions where key_id = $1::text)
         update api_keys set revoked_at = coalesce(revoked_at, $2::timestamptz) where id = $1::text`,
        [id, now],
      );
      return rowCount === 1;
    },
  };
}

/** What the database keeps of a long random text. */
export function hashOfSecret(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

export function toKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    name: row.name,
    scopes: row.scopes,
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
  };
}

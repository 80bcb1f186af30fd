/** API keys in PostgreSQL. Keys are random and long, so that SHA-256 alone keeps them. */
import { createHash, randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { inTransaction } from '../postgres/transaction.ts';
import { recordActs } from './audit-log.ts';

/** API keys: what they look like and what they may do. */
export const apiScopes = ['ingest', 'read', 'admin'] as const;

export type ApiScope = (typeof apiScopes)[number];

/** Whether a key with these scopes may do what needs `scope`; admin may do everything. */
export function allows(scopes: readonly ApiScope[], scope: ApiScope): boolean {
  return scopes.includes(scope) || scopes.includes('admin');
}

/** Keys begin with this, so that a key that leaked into a repository is recognised by scanners. */
const API_KEY_PREFIX = 'rcl_';

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

    async create(name, scopes, by, now) {
      const text = `${API_KEY_PREFIX}${randomBytes(32).toString('base64url')}`;
      const id = randomBytes(4).toString('hex');
      const row = await inTransaction(pool, async (client) => {
        const { rows } = await client.query<KeyRow>(
          `insert into api_keys as k (id, name, key_hash, scopes, created_at)
           values ($1::text, $2::text, $3::bytea, $4::text[], $5::timestamptz) returning ${keyColumns}`,
          [id, name, hashOfSecret(text), [...scopes], now],
        );
        const after = { name, scopes };
        await recordActs(client, [
          { at: now, by, act: 'create_key', pipeline: null, subject: id, before: null, after },
        ]);
        return rows[0];
      });
      if (row === undefined) throw new Error('an insert returned no row');
      return { key: toKey(row), text };
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

    revoke: (id, by, now) =>
      inTransaction(pool, async (client) => {
        const { rows } = await client.query<KeyRow>(
          `select ${keyColumns} from api_keys k where k.id = $1::text for update`,
          [id],
        );
        const [known] = rows;
        if (known === undefined) return false;
        await client.query('delete from console_sessions where key_id = $1::text', [id]);
        if (known.revoked_at !== null) return true;
        await client.query('update api_keys set revoked_at = $2::timestamptz where id = $1::text', [id, now]);
        const before = { name: known.name, scopes: known.scopes };
        await recordActs(client, [
          { at: now, by, act: 'revoke_key', pipeline: null, subject: id, before, after: null },
        ]);
        return true;
      }),
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

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly ApiScope[];
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

/** A key with those who are signed in at the console with it. */
export interface ListedApiKey extends ApiKey {
  readonly sessions: number;
  /** When one of them last looked, to the minute; null when nobody is signed in. */
  readonly lastSeenAt: Date | null;
}

/** API keys; only their hashes are stored. */
export interface ApiKeys {
  /** The key that this text is, null when it is none or revoked. */
  find(text: string): Promise<ApiKey | null>;
  /** Makes a key. Its text is in the answer and nowhere else, ever. */
  create(
    name: string,
    scopes: readonly ApiScope[],
    by: string,
    now: Date,
  ): Promise<{ readonly key: ApiKey; readonly text: string }>;
  list(): Promise<readonly ListedApiKey[]>;
  /** Ends its console sessions with it. False when there is no such key. */
  revoke(id: string, by: string, now: Date): Promise<boolean>;
}

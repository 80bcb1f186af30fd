/** API keys in PostgreSQL. Keys are random and long, so that SHA-256 alone keeps them. */
import { createHash, randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { API_KEY_PREFIX, type ApiScope } from '../../core/api-key.ts';
import type { ApiKey, ApiKeys } from '../../ports/api-keys.ts';

/** For so long a key is believed without asking the database again. */
const CACHE_MS = 10_000;
/** More unknown keys than this are not remembered. */
const CACHE_SIZE = 10_000;

interface KeyRow {
  id: string;
  name: string;
  scopes: ApiScope[];
  created_at: Date;
  revoked_at: Date | null;
}

const columns = 'id, name, scopes, created_at, revoked_at';

export function createApiKeys(pool: Pool): ApiKeys {
  const cache = new Map<string, { readonly key: ApiKey | null; readonly until: number }>();
  const remembered = async (cacheKey: string, condition: string, value: unknown): Promise<ApiKey | null> => {
    const known = cache.get(cacheKey);
    if (known !== undefined && known.until > performance.now()) return known.key;
    const { rows } = await pool.query<KeyRow>(
      `select ${columns} from api_keys where ${condition} and revoked_at is null`,
      [value],
    );
    const key = rows[0] === undefined ? null : toKey(rows[0]);
    if (cache.size >= CACHE_SIZE) cache.clear();
    cache.set(cacheKey, { key, until: performance.now() + CACHE_MS });
    return key;
  };
  return {
    find(text) {
      const hash = hashOf(text);
      return remembered(hash.toString('base64'), 'key_hash = $1::bytea', hash);
    },

    findById: (id) => remembered(`id ${id}`, 'id = $1::text', id),

    async create(name, scopes, now) {
      const text = `${API_KEY_PREFIX}${randomBytes(32).toString('base64url')}`;
      const id = randomBytes(4).toString('hex');
      const { rows } = await pool.query<KeyRow>(
        `insert into api_keys (id, name, key_hash, scopes, created_at)
         values ($1::text, $2::text, $3::bytea, $4::text[], $5::timestamptz) returning ${columns}`,
        [id, name, hashOf(text), [...scopes], now],
      );
      if (rows[0] === undefined) throw new Error('an insert returned no row');
      return { key: toKey(rows[0]), text };
    },

    async list() {
      const { rows } = await pool.query<KeyRow>(`select ${columns} from api_keys order by created_at`);
      return rows.map(toKey);
    },

    async revoke(id, now) {
      const { rowCount } = await pool.query(
        `update api_keys set revoked_at = coalesce(revoked_at, $2::timestamptz) where id = $1::text`,
        [id, now],
      );
      return rowCount === 1;
    },
  };
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function toKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    name: row.name,
    scopes: row.scopes,
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
  };
}

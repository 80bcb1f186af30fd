/**
 * Checks API keys and console sessions against PostgreSQL. Each address may cause only a few lookups of unknown
 * credentials per minute, and unknown credentials never evict known ones from the cache.
 */

import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { RecalldError } from '../../core/errors.ts';
import { MINUTE_MS } from '../../core/time.ts';
import { queryRow, queryRows } from '../postgres/rows.ts';
import { inTransaction } from '../postgres/transaction.ts';
import { recordActs } from './audit-log.ts';
import type { User } from './roles.ts';

export const apiScopes = ['ingest', 'read', 'admin'] as const;

export type ApiScope = (typeof apiScopes)[number];

/** True if a key with these scopes grants `scope`; admin grants everything. */
export function allows(scopes: readonly ApiScope[], scope: ApiScope): boolean {
  return scopes.includes(scope) || scopes.includes('admin');
}

/** Prefix of every API key, so that secret scanners recognize a leaked key. */
export const API_KEY_PREFIX = 'rcl_';

const keyColumns = 'k.id, k.name, k.scopes, k.pipelines, k.created_at, k.revoked_at';

export function createApiKeys(pool: Pool) {
  return {
    /** Returns the API key with this text; null if it is unknown or revoked. */
    async find(text: string): Promise<ApiKey | null> {
      return queryRow<ApiKey>(
        pool,
        `select ${keyColumns} from api_keys k where k.key_hash = $1::bytea and k.revoked_at is null`,
        [hashOfSecret(text)],
      );
    },

    /**
     * Creates an API key. The key text is returned and never stored.
     *
     * @param pipelines the only pipelines that the key may see and change; null means all
     */
    async create(
      name: string,
      scopes: readonly ApiScope[],
      by: string,
      now: Date,
      pipelines: readonly string[] | null = null,
    ): Promise<{ readonly key: ApiKey; readonly text: string }> {
      const text = `${API_KEY_PREFIX}${randomBytes(32).toString('base64url')}`;
      const id = randomBytes(4).toString('hex');
      const row = await inTransaction(pool, async (client) => {
        const created = await queryRow<ApiKey>(
          client,
          `insert into api_keys as k (id, name, key_hash, scopes, created_at, pipelines)
           values ($1::text, $2::text, $3::bytea, $4::text[], $5::timestamptz, $6::text[]) returning ${keyColumns}`,
          [id, name, hashOfSecret(text), [...scopes], now, pipelines],
        );
        const after = { name, scopes, pipelines };
        await recordActs(client, [
          { at: now, by, act: 'create_key', pipeline: null, subject: id, before: null, after },
        ]);
        return created;
      });
      if (row === null) throw new Error('an insert returned no row');
      return { key: row, text };
    },

    list: (): Promise<readonly ListedApiKey[]> =>
      queryRows<ListedApiKey>(
        pool,
        `select ${keyColumns}, count(s.key_id)::integer as sessions, max(s.last_seen_at) as last_seen_at
           from api_keys k
           left join console_sessions s on s.key_id = k.id and s.expires_at > now()
          group by k.id order by k.created_at`,
      ),

    /** Revokes a key and ends its console sessions. Returns false if there is no such key. */
    revoke: (id: string, by: string, now: Date): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const known = await queryRow<ApiKey>(
          client,
          `select ${keyColumns} from api_keys k where k.id = $1::text for update`,
          [id],
        );
        if (known === null) return false;
        await client.query('delete from console_sessions where key_id = $1::text', [id]);
        if (known.revokedAt !== null) return true;
        await client.query('update api_keys set revoked_at = $2::timestamptz where id = $1::text', [id, now]);
        const { name, scopes, pipelines } = known;
        const before = { name, scopes, pipelines };
        await recordActs(client, [
          { at: now, by, act: 'revoke_key', pipeline: null, subject: id, before, after: null },
        ]);
        return true;
      }),
  };
}

function hashOfSecret(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly ApiScope[];
  /** The only pipelines that the key may see and change; null means all. */
  readonly pipelines: readonly string[] | null;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

/** An API key with the number of its console sessions. */
export interface ListedApiKey extends ApiKey {
  readonly sessions: number;
  /** When a session of the key was last used, to the minute; null if there are no sessions. */
  readonly lastSeenAt: Date | null;
}

export type ApiKeys = ReturnType<typeof createApiKeys>;

/** Maximum number of invalid API keys and session cookies per address in one minute. */
const WRONG_PER_MINUTE = 20;
/**
 * Maximum number of entries in each cache: valid credentials, wrong credentials, and addresses. Beyond this number, the
 * oldest entry is dropped.
 */
const MAX_REMEMBERED = 10_000;

/** Counts the credentials that each address sends, before recalld looks them up in the database. */
type Attempts = ReturnType<typeof createAttempts>;

/** @param onLimited called once a minute for each blocked address */
export function createAttempts(onLimited: (address: string) => void) {
  const minutes = new Map<string, { count: number; isReported: boolean; readonly until: number }>();
  return {
    /**
     * @returns a function that undoes the count, for a credential that turns out to be valid
     * @throws RecalldError attempts_limited
     */
    begin(address: string): () => void {
      const now = performance.now();
      let minute = minutes.get(address);
      if (minute === undefined || minute.until <= now) {
        minute = { count: 0, isReported: false, until: now + MINUTE_MS };
        remember(minutes, address, minute);
      }
      const counted = minute;
      if (counted.count >= WRONG_PER_MINUTE) {
        if (!counted.isReported) onLimited(address);
        counted.isReported = true;
        throw new RecalldError(
          'attempts_limited',
          `This address sent ${WRONG_PER_MINUTE} invalid API keys or session cookies within a minute; wait as long as Retry-After requires.`,
        );
      }
      counted.count += 1;
      return () => void (counted.count -= 1);
    },
  };
}

/**
 * Returns the key or session for `text`; null if the text is not valid.
 *
 * @throws RecalldError attempts_limited
 */
export type Check<Found> = (text: string, address: string) => Promise<Found | null>;

/**
 * @param ask queries the database
 * @param cacheMs how long a valid result is cached
 */
export function createCheck<Found>(
  ask: (text: string) => Promise<Found | null>,
  cacheMs: number,
  attempts: Attempts,
): Check<Found> {
  const good = new Map<string, { readonly found: Found; readonly until: number }>();
  const wrong = new Map<string, { readonly until: number }>();
  const asking = new Map<string, Promise<Found | null>>();

  const askOnce = async (hash: string, text: string, address: string): Promise<Found | null> => {
    // A credential that was valid when it was last checked is looked up even if its sender's address is blocked. Wrong
    // keys from that address therefore cannot lock out the holder of a valid key.
    const giveBack = good.has(hash) ? null : attempts.begin(address);
    let isWrong = false;
    try {
      const found = await ask(text);
      isWrong = found === null;
      if (found !== null) remember(good, hash, { found, until: performance.now() + cacheMs });
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

/** Maximum number of sessions per key or user; a new session ends the oldest. */
const MAX_SESSIONS = 100;

/** Who signed in: the holder of an API key, or a user of an identity provider. */
export type SignedIn =
  | { readonly key: ApiKey; readonly user: null }
  | {
      readonly key: null;
      /** Includes only the groups that granted a role at sign-in. */
      readonly user: User;
    };

export function createConsoleSessions(pool: Pool) {
  return {
    /**
     * Starts a session for an API key, or for a user of an identity provider. The session token is returned and never
     * stored.
     */
    async begin(
      holder: { readonly keyId: string } | { readonly user: User; readonly idToken: string },
      lifetimeSeconds: number,
    ): Promise<string> {
      const token = randomBytes(32).toString('base64url');
      const [keyId, user, idToken] =
        'keyId' in holder ? [holder.keyId, null, null] : [null, holder.user, seal(token, holder.idToken)];
      await pool.query(
        `with ended as (
           delete from console_sessions where token_hash in (
             select token_hash from console_sessions where key_id = $2::text or user_id = $3::text
              order by created_at desc offset ${MAX_SESSIONS - 1}))
         insert into console_sessions
           (token_hash, key_id, user_id, user_name, user_groups, sealed_id_token, created_at, expires_at, last_seen_at)
         values ($1::bytea, $2::text, $3::text, $4::text, $5::text[], $6::bytea,
                 now(), now() + make_interval(secs => $7::double precision), now())`,
        [
          hashOfSecret(token),
          keyId,
          user?.id ?? null,
          user?.name ?? null,
          user?.groups ?? null,
          idToken,
          lifetimeSeconds,
        ],
      );
      return token;
    },

    /** Returns who started the session with this token; null if the session has ended, or if the key is revoked. */
    async find(token: string): Promise<SignedIn | null> {
      // Updates `last_seen_at` at most once a minute, so that page views rarely cause a write.
      const row = await queryRow<ApiKey & { userId: string | null; userName: string; userGroups: string[] }>(
        pool,
        `with seen as (
           update console_sessions set last_seen_at = now()
            where token_hash = $1::bytea and last_seen_at < now() - interval '1 minute')
         select ${keyColumns}, s.user_id, s.user_name, s.user_groups
           from console_sessions s left join api_keys k on k.id = s.key_id
          where s.token_hash = $1::bytea and s.expires_at > now() and k.revoked_at is null`,
        [hashOfSecret(token)],
      );
      if (row === null) return null;
      const { userId, userName, userGroups, ...key } = row;
      return userId === null
        ? { key, user: null }
        : { key: null, user: { id: userId, name: userName, groups: userGroups } };
    },

    /** Returns the ID token of a user's session, for sign-out at the provider; null if there is none. */
    async idTokenOf(token: string): Promise<string | null> {
      const row = await queryRow<{ sealedIdToken: Buffer | null }>(
        pool,
        'select sealed_id_token from console_sessions where token_hash = $1::bytea',
        [hashOfSecret(token)],
      );
      const sealed = row?.sealedIdToken ?? null;
      return sealed === null ? null : unseal(token, sealed);
    },

    async end(token: string): Promise<void> {
      await pool.query('delete from console_sessions where token_hash = $1::bytea', [hashOfSecret(token)]);
    },

    async prune(): Promise<void> {
      await pool.query('delete from console_sessions where expires_at <= now()');
    },
  };
}

/** Console sessions. Only hashes of cookies are stored, and all times come from the database clock. */
export type ConsoleSessions = ReturnType<typeof createConsoleSessions>;

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The key is derived from the session cookie and never stored, so a dump of the database cannot be decrypted. */
function sealingKey(token: string): Buffer {
  return Buffer.from(hkdfSync('sha256', token, '', 'recalld id token', 32));
}

function seal(token: string, text: string): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', sealingKey(token), iv);
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]);
}

function unseal(token: string, sealed: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', sealingKey(token), sealed.subarray(0, IV_BYTES));
  decipher.setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
}

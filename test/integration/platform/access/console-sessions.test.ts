import { describe, expect, it } from 'vitest';
import { createApiKeys, createConsoleSessions } from '../../../../src/platform/access/credentials.ts';
import type { User } from '../../../../src/platform/access/roles.ts';
import { useDatabase } from '../../../support/database.ts';

const database = useDatabase();
const sessions = () => createConsoleSessions(database.pool);
const keys = () => createApiKeys(database.pool);

const aKey = async (): Promise<string> => (await keys().create('ops', ['read'], 'ann', new Date())).key.id;
const listed = async (keyId: string) => (await keys().list()).find(({ id }) => id === keyId);
const stored = async (keyId: string): Promise<number> =>
  (await database.pool.query('select from console_sessions where key_id = $1', [keyId])).rows.length;

describe('a console session', () => {
  it('is found by its token until it expires, and is then deleted', async () => {
    const key = await aKey();
    const [long, short] = [await sessions().begin({ keyId: key }, 3600), await sessions().begin({ keyId: key }, 0)];
    expect(await sessions().find(long)).toMatchObject({ key: { id: key, scopes: ['read'] }, user: null });
    expect(await sessions().find(short)).toBeNull();
    expect(await sessions().find('')).toBeNull();
    expect([await stored(key), (await listed(key))?.sessions]).toEqual([2, 1]);
    await sessions().prune();
    expect(await stored(key)).toBe(1);
    expect(await sessions().find(long)).toMatchObject({ key: { id: key } });
  });

  it('ends alone at sign-out, and with all other sessions when the key is revoked', async () => {
    const key = await aKey();
    const [one, two] = [await sessions().begin({ keyId: key }, 3600), await sessions().begin({ keyId: key }, 3600)];
    await sessions().end(one);
    expect(await sessions().find(one)).toBeNull();
    expect(await sessions().find(two)).toMatchObject({ key: { id: key } });
    await keys().revoke(key, 'ann', new Date());
    expect([await sessions().find(two), await stored(key)]).toEqual([null, 0]);
  });

  it('is not valid for a key that was already revoked', async () => {
    const key = await aKey();
    await keys().revoke(key, 'ann', new Date());
    expect(await sessions().find(await sessions().begin({ keyId: key }, 3600))).toBeNull();
  });

  it('records to the minute when it was last used', async () => {
    const key = await aKey();
    const token = await sessions().begin({ keyId: key }, 3600);
    const begun = (await listed(key))?.lastSeenAt;
    await sessions().find(token);
    expect((await listed(key))?.lastSeenAt).toEqual(begun);
    await database.pool.query(
      `update console_sessions set last_seen_at = now() - interval '2 minutes' where key_id = $1`,
      [key],
    );
    await sessions().find(token);
    expect((await listed(key))?.lastSeenAt?.getTime()).toBeGreaterThanOrEqual(begun?.getTime() ?? Infinity);
  });

  it('ends the oldest session of its key once there are more than a hundred', async () => {
    const [key, other] = [await aKey(), await aKey()];
    const kept = await sessions().begin({ keyId: other }, 3600);
    const tokens: string[] = [];
    for (let i = 0; i < 103; i += 1) tokens.push(await sessions().begin({ keyId: key }, 3600));
    expect(await stored(key)).toBe(100);
    expect(await sessions().find(tokens[2] ?? '')).toBeNull();
    expect(await sessions().find(tokens[3] ?? '')).not.toBeNull();
    expect(await sessions().find(kept)).not.toBeNull();
  });

  const ann: User = { id: 'subject-1', name: 'ann@example.com', groups: ['search-team'] };

  it('of a user of an identity provider is found with the groups of the user, and ends alone', async () => {
    const [one, two] = [
      await sessions().begin({ user: ann, idToken: 'header.payload.signature' }, 3600),
      await sessions().begin({ user: ann, idToken: 'header.payload.signature' }, 3600),
    ];
    expect(await sessions().find(one)).toEqual({ key: null, user: ann });
    await sessions().end(one);
    expect([await sessions().find(one), await sessions().find(two)]).toEqual([null, { key: null, user: ann }]);
    expect(await sessions().find(await sessions().begin({ user: ann, idToken: 'token' }, 0))).toBeNull();
  });

  it('returns the ID token to the holder of the cookie, and stores it encrypted', async () => {
    const idToken = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl';
    const token = await sessions().begin({ user: ann, idToken }, 3600);
    expect(await sessions().idTokenOf(token)).toBe(idToken);
    expect(await sessions().idTokenOf(await sessions().begin({ keyId: await aKey() }, 3600))).toBeNull();
    const { rows } = await database.pool.query<{ row: string; sealed: Buffer }>(
      'select s::text as row, sealed_id_token as sealed from console_sessions s where user_id is not null',
    );
    for (const { row, sealed } of rows) {
      expect(sealed.includes(idToken.slice(0, 12))).toBe(false);
      expect(row).not.toContain(Buffer.from(token).toString('hex'));
    }
  });

  it('ends the oldest session of its user once there are more than a hundred', async () => {
    const bob: User = { ...ann, id: 'subject-2' };
    const tokens: string[] = [];
    for (let i = 0; i < 102; i += 1) tokens.push(await sessions().begin({ user: bob, idToken: 'token' }, 3600));
    expect([await sessions().find(tokens[1] ?? ''), await sessions().find(tokens[2] ?? '')]).toEqual([
      null,
      { key: null, user: bob },
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { createApiKeys, createConsoleSessions } from '../../../../src/platform/access/credentials.ts';
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
    const [long, short] = [await sessions().begin(key, 3600), await sessions().begin(key, 0)];
    expect(await sessions().find(long)).toMatchObject({ id: key, scopes: ['read'] });
    expect(await sessions().find(short)).toBeNull();
    expect(await sessions().find('')).toBeNull();
    expect([await stored(key), (await listed(key))?.sessions]).toEqual([2, 1]);
    await sessions().prune();
    expect(await stored(key)).toBe(1);
    expect(await sessions().find(long)).toMatchObject({ id: key });
  });

  it('ends alone at sign-out, and with all other sessions when the key is revoked', async () => {
    const key = await aKey();
    const [one, two] = [await sessions().begin(key, 3600), await sessions().begin(key, 3600)];
    await sessions().end(one);
    expect(await sessions().find(one)).toBeNull();
    expect(await sessions().find(two)).toMatchObject({ id: key });
    await keys().revoke(key, 'ann', new Date());
    expect([await sessions().find(two), await stored(key)]).toEqual([null, 0]);
  });

  it('is not created for a key that is revoked at the same time', async () => {
    const key = await aKey();
    await keys().revoke(key, 'ann', new Date());
    expect(await sessions().find(await sessions().begin(key, 3600))).toBeNull();
  });

  it('records to the minute when it was last used', async () => {
    const key = await aKey();
    const token = await sessions().begin(key, 3600);
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

  it('ends the oldest session of its key above a hundred, which limits the table', async () => {
    const [key, other] = [await aKey(), await aKey()];
    const kept = await sessions().begin(other, 3600);
    const tokens: string[] = [];
    for (let i = 0; i < 103; i += 1) tokens.push(await sessions().begin(key, 3600));
    expect(await stored(key)).toBe(100);
    expect(await sessions().find(tokens[2] ?? '')).toBeNull();
    expect(await sessions().find(tokens[3] ?? '')).not.toBeNull();
    expect(await sessions().find(kept)).not.toBeNull();
  });
});

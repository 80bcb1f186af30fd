/** Erasure of live queries from which golden queries were promoted, and of the users who sent them. */
import { beforeEach, describe, expect, it } from 'vitest';
import { erase as eraseEverywhere } from '../../../../src/app/erasure/erase.ts';
import type { QueryOrigin } from '../../../../src/golden/rules/golden-set.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import type { ErasureSubject } from '../../../../src/live/sql/erase-live.ts';
import { inTransaction, lockInTransaction } from '../../../../src/platform/postgres/transaction.ts';
import { aGoldenQuery, NOON } from '../../../support/builders.ts';
import { useDatabase } from '../../../support/database.ts';
import { waitFor } from '../../../support/wait-for.ts';

const database = useDatabase();
const sets = () => createGoldenSets(database.pool);
const erase = (subject: ErasureSubject, now = NOON) => eraseEverywhere(database.pool, subject, 'somebody', now);

const later = new Date(NOON.getTime() + 60_000);
const mine = aGoldenQuery({
  id: 'live-1',
  text: 'Why was my card refused on Friday?',
  tags: { city: 'Oslo' },
});
const other = aGoldenQuery({ id: 'q2', text: 'Where is my invoice?' });
const origin: QueryOrigin = {
  queryId: 'live-1',
  kind: 'live',
  pipeline: 'docs',
  liveQueryHash: 'hash of the query',
  userHash: 'hash of ann',
  askedAt: new Date(NOON.getTime() - 1000),
  details: {},
};
const byQuery: ErasureSubject = { kind: 'query', id: 'x1', idHash: 'hash of the query' };
const byUser: ErasureSubject = { kind: 'user', userHash: 'hash of ann' };

async function textsOfAllTables(): Promise<string> {
  const { rows } = await database.pool.query<{ text: string; tags: unknown }>('select text, tags from golden_queries');
  return JSON.stringify(rows);
}

beforeEach(async () => {
  await database.pool.query('truncate golden_sets, golden_query_origins, erased_subjects cascade');
});

describe('the erasure of', () => {
  it.each([
    ['a live query', byQuery],
    ['a user', byUser],
  ])(
    '%s removes the text of the query from every version of every set, but keeps what old runs need',
    async (_, subject) => {
      const set = {
        name: 'faq',
        contentHash: 'a',
        format: 'review',
        queries: [mine, other],
        origins: [origin],
      };
      await sets().add(set, NOON);
      await sets().add({ ...set, contentHash: 'b', queries: [other, mine], origins: [] }, NOON);
      await sets().add({ ...set, name: 'untouched', queries: [other], origins: [] }, NOON);
      expect(await erase(subject)).toEqual({ queries: 0, feedback: 0, goldenQueries: 1 });
      expect(await textsOfAllTables()).not.toMatch(/card|Oslo/);
      expect(await sets().latest('faq')).toMatchObject({
        version: 3,
        queries: 1,
        judgments: 1,
        note: 'Queries were erased on request.',
      });
      expect(await sets().queries('faq', 3)).toEqual([other]);
      expect(await sets().queries('faq', 1)).toEqual([{ ...mine, text: '[erased]', tags: {} }, other]);
      expect(await sets().latest('untouched')).toMatchObject({ version: 1 });
      expect(await sets().origins('faq')).toEqual([]);
    },
  );

  it('a live query prevents its import from a review file afterwards', async () => {
    await erase(byQuery);
    const set = {
      name: 'faq',
      contentHash: 'a',
      format: 'review',
      queries: [mine, other],
      origins: [origin],
    };
    await sets().add(set, later);
    expect(await sets().queries('faq', 1)).toEqual([other]);
    expect(await sets().origins('faq')).toEqual([]);
  });

  it('a user excludes the earlier queries of the user, but not later ones', async () => {
    await erase(byUser);
    const again = { ...origin, queryId: 'live-2', liveQueryHash: 'other', askedAt: later };
    const queries = [mine, other, { ...mine, id: 'live-2', text: 'asked later' }];
    await sets().add({ name: 'faq', contentHash: 'a', format: 'review', queries, origins: [origin, again] }, later);
    expect((await sets().queries('faq', 1)).map(({ id }) => id)).toEqual(['q2', 'live-2']);
  });

  it('the only query in a set leaves a version without queries', async () => {
    await sets().add({ name: 'one', contentHash: 'a', format: 'review', queries: [mine], origins: [origin] }, NOON);
    await erase(byQuery);
    expect(await sets().latest('one')).toMatchObject({ version: 2, queries: 0, judgments: 0 });
    expect(await textsOfAllTables()).not.toContain('card');
  });

  it('a live query that is erased again under another hash key is excluded under the new key', async () => {
    for (const idHash of ['by the old key', 'by the new key']) await erase({ kind: 'query', id: 'x', idHash });
    const origins = [{ ...origin, liveQueryHash: 'by the new key', userHash: null }];
    await sets().add({ name: 'faq', contentHash: 'a', format: 'review', queries: [mine, other], origins }, NOON);
    expect((await sets().queries('faq', 1)).map(({ id }) => id)).toEqual(['q2']);
  });

  it('a live query at the same time as its promotion never leaves it in a set', async () => {
    for (let round = 0; round < 10; round++) {
      const name = `raced-${round}`;
      const hash = `hash ${round}`;
      const set = {
        name,
        contentHash: 'a',
        format: 'review',
        queries: [mine, other],
        origins: [{ ...origin, liveQueryHash: hash, userHash: null }],
      };
      await Promise.all([sets().add(set, NOON), erase({ kind: 'query', id: 'x', idHash: hash })]);
      const latest = await sets().latest(name);
      expect((await sets().queries(name, latest?.version ?? 0)).map(({ id }) => id)).toEqual(['q2']);
    }
  });

  it('a live query and another promotion into its set wait for each other, and both complete', async () => {
    const set = { name: 'faq', contentHash: 'a', format: 'review', queries: [mine], origins: [origin] };
    await sets().add(set, NOON);
    const asked = { ...origin, queryId: 'live-2', liveQueryHash: 'other', userHash: null };
    const next = { ...set, contentHash: 'b', queries: [mine, { ...mine, id: 'live-2' }], origins: [asked] };
    const waiting = async (): Promise<number> => {
      const { rows } = await database.pool.query<{ n: number }>(
        `select count(*)::integer as n from pg_locks
          where locktype = 'advisory' and not granted
            and database = (select oid from pg_database where datname = current_database())`,
      );
      return rows[0]?.n ?? 0;
    };
    const both = await inTransaction(database.pool, async (client) => {
      await lockInTransaction(client, 'golden origins');
      const erased = erase(byQuery);
      await waitFor(async () => (await waiting()) === 1);
      const added = sets().add(next, NOON);
      await waitFor(async () => (await waiting()) === 2);
      return { erased, added };
    });
    await expect(Promise.all([both.erased, both.added])).resolves.toMatchObject([
      { goldenQueries: 1 },
      { created: true },
    ]);
  });
});

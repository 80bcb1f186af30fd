/** Data that arrives after an erasure but dates from before the erasure, with a real database. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { erase } from '../../../../src/app/erasure/erase.ts';
import { type ErasureSubject } from '../../../../src/live/sql/erase-live.ts';
import { createLiveTraffic, type LiveTraffic } from '../../../../src/live/sql/live-traffic.ts';
import { type LiveSample } from '../../../../src/live/sql/record-arrivals.ts';
import { NOON } from '../../../support/builders.ts';
import { useDatabase } from '../../../support/database.ts';
import {
  anEmbeddingFragment,
  aPersonFragment,
  aSample,
  aStoredFeedback,
  queryOf,
  TRACE,
} from '../../../support/live-traffic.ts';

const database = useDatabase();
let traffic: LiveTraffic;

const MINUTE = 60_000;
const DAY = 86_400_000;
const at = (ms: number) => new Date(NOON.getTime() + ms);
const ANN = 'hash of ann';
const ann: ErasureSubject = { kind: 'user', userHash: ANN };
const retention = new Map([
  ['docs', 30],
  ['other', 5],
]);

beforeAll(async () => {
  traffic = createLiveTraffic(database.pool, 'a');
  for (const days of [-1, 0, 20, 30, 31]) await traffic.createPartitions(at(days * DAY));
});
beforeEach(async () => {
  await database.pool.query(
    'truncate live_queries, feedback, query_coverage, trace_fragments, audit_log, erased_subjects',
  );
});

/** A query that the user ann sent before noon. Ann's data is erased at noon, and the query arrives a minute later. */
const late = (parts: Partial<LiveSample> = {}) =>
  aSample({
    id: 'late',
    traceId: null,
    userHash: ANN,
    occurredAt: at(-MINUTE),
    receivedAt: at(MINUTE),
    ...parts,
  });
const record = (...samples: readonly LiveSample[]) => traffic.record({ samples, counts: [], levels: [] });
const sweep = (ms = 2 * MINUTE) => traffic.eraseLate(['docs', 'other'], at(ms));

async function ids(table: string): Promise<unknown[]> {
  return (await database.pool.query<{ id: string }>(`select id from ${table} order by id`)).rows.map(({ id }) => id);
}
const remembered = async () =>
  (await database.pool.query('select kind, subject, pipeline from erased_subjects order by kind, subject')).rows;

describe('recalld, after the erasure of a user,', () => {
  beforeEach(() => erase(database.pool, ann, 'operator', NOON));

  it('erases earlier queries that arrive late, with their feedback, and keeps later queries', async () => {
    await record(
      late(),
      late({ id: 'back again', occurredAt: at(MINUTE) }),
      late({ id: 'of bob', userHash: 'hash of bob' }),
    );
    await traffic.recordFeedback([
      aStoredFeedback({ id: 'by bob', queryId: 'late', userHash: 'hash of bob' }),
      aStoredFeedback({ id: 'elsewhere', queryId: 'late', pipeline: 'other' }),
    ]);
    expect(await sweep()).toEqual({ queries: 1, feedback: 1 });
    expect(await ids('live_queries')).toEqual(['back again', 'of bob']);
    expect(await ids('feedback')).toEqual(['elsewhere']);
    expect(await sweep()).toEqual({ queries: 0, feedback: 0 });
  });

  it('erases earlier feedback that arrives late, on any query', async () => {
    const before = { queryId: 'not sampled', userHash: ANN, occurredAt: at(-MINUTE), receivedAt: at(MINUTE) };
    await traffic.recordFeedback([
      aStoredFeedback({ ...before, id: 'before' }),
      aStoredFeedback({ ...before, id: 'after', occurredAt: at(MINUTE) }),
      aStoredFeedback({ ...before, id: 'anonymous', userHash: null }),
    ]);
    expect(await sweep()).toEqual({ queries: 0, feedback: 1 });
    expect(await ids('feedback')).toEqual(['after', 'anonymous']);
  });

  it('erases a query when a late span assigns it to the user', async () => {
    await record(aSample({ receivedAt: at(-MINUTE), occurredAt: at(-MINUTE) }));
    const endedAtUnixNano = BigInt(at(-MINUTE).getTime()) * 1_000_000n;
    await traffic.bufferFragments([aPersonFragment({ receivedAt: at(MINUTE), endedAtUnixNano })]);
    expect(await sweep()).toEqual({ queries: 1, feedback: 0 });
    expect(await ids('live_queries')).toEqual([]);
    expect((await database.pool.query('select from trace_fragments')).rowCount).toBe(0);
  });
});

describe('recalld, after the erasure of queries,', () => {
  it('erases anonymous feedback, and a query that is sent again', async () => {
    await record(late({ id: 'q1', receivedAt: at(-MINUTE) }), late({ id: 'q1', pipeline: 'other', userHash: null }));
    await erase(database.pool, ann, 'operator', NOON);
    const nameless = { userHash: null, occurredAt: at(MINUTE), receivedAt: at(MINUTE) };
    await traffic.recordFeedback([
      aStoredFeedback({ ...nameless, id: 'about it', queryId: 'q1' }),
      aStoredFeedback({ ...nameless, id: 'about another', queryId: 'q1', pipeline: 'other' }),
    ]);
    await record(late({ id: 'q1', userHash: null, occurredAt: at(MINUTE) }));
    expect(await sweep()).toEqual({ queries: 1, feedback: 1 });
    expect(await ids('feedback')).toEqual(['about another']);
  });

  it('erases the rest of the trace, except feedback of other users', async () => {
    await record(aSample({ userHash: ANN, receivedAt: at(-MINUTE), occurredAt: at(-MINUTE) }));
    await erase(database.pool, ann, 'operator', NOON);
    const rest = { traceId: TRACE, occurredAt: at(-MINUTE), receivedAt: at(MINUTE) };
    await record(aSample({ ...rest, id: queryOf(TRACE, 2) }), aSample({ ...rest, id: 'bob', userHash: 'hash of bob' }));
    await traffic.bufferFragments([anEmbeddingFragment({ receivedAt: at(MINUTE) })]);
    await traffic.recordFeedback([aStoredFeedback({ ...rest, queryId: queryOf(TRACE, 9) })]);
    expect(await sweep()).toEqual({ queries: 1, feedback: 1 });
    expect(await ids('live_queries')).toEqual(['bob']);
    expect((await database.pool.query('select from trace_fragments')).rowCount).toBe(0);
  });

  it('erases the other retrievals of the turn that name no user, and keeps those of other pipelines and users', async () => {
    const turn = { traceId: null, episode: 'turn-9', userHash: null, occurredAt: at(-MINUTE) };
    await record(
      late({ ...turn, id: 'first', userHash: ANN, receivedAt: at(-MINUTE) }),
      late({ ...turn, id: 'second', receivedAt: at(-MINUTE) }),
      late({ ...turn, id: 'of bob', userHash: 'hash of bob', receivedAt: at(-MINUTE) }),
      late({ ...turn, id: 'elsewhere', pipeline: 'other', receivedAt: at(-MINUTE) }),
    );
    await erase(database.pool, ann, 'operator', NOON);
    expect(await ids('live_queries')).toEqual(['elsewhere', 'of bob']);
    await record(late({ ...turn, id: 'third' }), late({ ...turn, id: 'of a later turn', occurredAt: at(MINUTE) }));
    expect(await sweep()).toEqual({ queries: 1, feedback: 0 });
    expect(await ids('live_queries')).toEqual(['elsewhere', 'of a later turn', 'of bob']);
    const asked = { id: 'q', pipeline: 'docs', traceId: null, episode: 'turn-9', userHash: null };
    expect(
      await traffic.areErased([
        { ...asked, occurredAt: at(-MINUTE) },
        { ...asked, occurredAt: at(MINUTE) },
        { ...asked, pipeline: 'other', occurredAt: at(-MINUTE) },
      ]),
    ).toEqual([true, false, false]);
  });

  it('removes what the user asked from the other retrievals of the turn', async () => {
    const turn = { traceId: null, episode: 'turn-9', originalText: 'where is my parcel' };
    await record(
      aSample({ ...turn, id: 'q1' }),
      aSample({ ...turn, id: 'q2' }),
      aSample({ ...turn, id: 'q3', episode: 'other' }),
    );
    await erase(database.pool, { kind: 'query', id: 'q1', idHash: 'hash of q1' }, 'operator', NOON);
    const { rows } = await database.pool.query('select id, original_text from live_queries order by id');
    expect(rows).toEqual([
      { id: 'q2', original_text: null },
      { id: 'q3', original_text: 'where is my parcel' },
    ]);
  });

  it('does not sample an erased query from the buffer', async () => {
    await erase(database.pool, { kind: 'query', id: 'q1', idHash: 'hash of q1' }, 'operator', NOON);
    await erase(database.pool, ann, 'operator', NOON);
    const asked = { pipeline: 'docs', traceId: null, episode: null, userHash: null, occurredAt: at(-MINUTE) };
    expect(
      await traffic.areErased([
        { ...asked, id: 'q1' },
        { ...asked, id: 'q2' },
        { ...asked, id: 'q3', userHash: ANN },
        { ...asked, id: 'q4', userHash: ANN, occurredAt: at(MINUTE) },
      ]),
    ).toEqual([true, false, true, false]);
  });
});

describe('the record of an erasure', () => {
  it('is kept while earlier data is accepted, and at most two hours longer', async () => {
    await record(late({ id: 'q1', receivedAt: at(-MINUTE) }));
    await erase(database.pool, ann, 'operator', NOON);
    await traffic.prune(retention, at(30 * DAY));
    expect(await remembered()).toEqual([
      { kind: 'query', subject: 'q1', pipeline: 'docs' },
      { kind: 'user', subject: ANN, pipeline: '' },
    ]);
    // This query is accepted at the last moment, and stored on a day that the erasure did not search.
    await record(late({ occurredAt: NOON, receivedAt: at(20 * DAY) }));
    await traffic.prune(retention, at(30 * DAY + 61 * MINUTE));
    expect(await ids('live_queries')).toEqual([]);
    expect(await remembered()).toEqual([]);
    expect((await database.pool.query('select act, subject, before from audit_log')).rows).toEqual([
      { act: 'erase', subject: 'user', before: { queries: 1, feedback: 0, golden_queries: 0 } },
    ]);
  });

  it('leaves no trace of the erased user in the database once it is deleted', async () => {
    await record(late({ id: 'q1', receivedAt: at(-MINUTE) }));
    await erase(database.pool, ann, 'operator', NOON);
    await traffic.prune(retention, at(31 * DAY));
    const { rows } = await database.pool.query<{ name: string }>(
      `select format('%I', tablename) as name from pg_tables where schemaname = 'public'`,
    );
    expect(rows.length).toBeGreaterThan(20);
    for (const { name } of rows) {
      const found = await database.pool.query(`select from ${name} t where t::text ~ 'hash of ann|q1'`);
      expect({ name, rows: found.rowCount }).toEqual({ name, rows: 0 });
    }
  });
});

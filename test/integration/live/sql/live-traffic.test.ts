/** Live traffic in a real database: idempotent storage, queries that later data completes, and erasure. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { erase } from '../../../../src/app/erasure/erase.ts';
import { type StoredFeedback } from '../../../../src/live/sql/feedback-rows.ts';
import { createLiveTraffic, type LiveTraffic } from '../../../../src/live/sql/live-traffic.ts';
import { type LiveSample } from '../../../../src/live/sql/record-arrivals.ts';
import type { BufferedFragment } from '../../../../src/live/sql/trace-fragments.ts';
import { NOON } from '../../../support/builders.ts';
import { useDatabase } from '../../../support/database.ts';
import {
  anEmbeddingFragment,
  anEpisodeFragment,
  aPersonFragment,
  aRerankFragment,
  aSample,
  aStoredFeedback,
  queryOf,
  TRACE,
} from '../../../support/live-traffic.ts';
import { withPool } from '../../../support/with-pool.ts';

const database = useDatabase();
let traffic: LiveTraffic;
/** Stands in for another process that uses the same database. */
let replica: LiveTraffic;

const after = (ms: number) => new Date(NOON.getTime() + ms);
const MINUTE = 60_000;
const DAY = 86_400_000;

beforeAll(async () => {
  traffic = createLiveTraffic(database.pool, 'a');
  replica = createLiveTraffic(database.pool, 'b');
  await traffic.createPartitions(after(-DAY));
});

beforeEach(async () => {
  await database.pool.query(
    'truncate live_queries, feedback, trace_fragments, live_query_counts, sampling_minutes, pipeline_dimensions, erased_subjects',
  );
});

const record = (...samples: readonly LiveSample[]) => traffic.record({ samples, counts: [], levels: [] });

const atLevel = (level: number): Partial<LiveSample> => ({
  level,
  rateProbability: 0.5 * 2 ** -level,
  probability: 0.5 * 2 ** -level,
});

async function stored(columns: string, table = 'live_queries'): Promise<Record<string, unknown>[]> {
  return (await database.pool.query<Record<string, unknown>>(`select ${columns} from ${table} order by id`)).rows;
}

describe('a query that is sent again', () => {
  it('is stored once, in its first version', async () => {
    expect(await record(aSample())).toMatchObject({ isNew: [true] });
    expect(await record(aSample({ receivedAt: after(MINUTE), text: 'other' }))).toMatchObject({ isNew: [false] });
    expect(await stored('text, received_at')).toEqual([{ text: 'how do I pay', received_at: NOON }]);
  });

  it.each([
    ['in a minute of a lower sampling level gets the probability of that level', 3, 1, 1],
    ['in a minute of a higher sampling level keeps its first probability', 1, 3, 1],
  ])('%s', async (_name, first, second, larger) => {
    await record(aSample(atLevel(first)));
    await record(aSample({ ...atLevel(second), receivedAt: after(2 * MINUTE) }));
    expect(await stored('probability, rate_probability, level')).toEqual([
      { probability: 0.5 * 2 ** -larger, rate_probability: 0.5 * 2 ** -larger, level: larger },
    ]);
  });

  it('is counted once, in its first minute, even when sent to several replicas at once', async () => {
    const arrivalsAt = (minute: Date, queries: number) => [
      { pipeline: 'docs', minute, outcome: 'ok' as const, queries },
    ];
    const sent = (to: LiveTraffic, receivedAt: Date, minute: Date) =>
      to.record({
        samples: [aSample({ receivedAt }), aSample({ id: 'another', receivedAt })],
        counts: arrivalsAt(minute, 3),
        levels: [],
      });
    // Each call stores two of the three queries; the third is only counted.
    await sent(traffic, NOON, NOON);
    const later = after(2 * MINUTE);
    await Promise.all([sent(traffic, after(2 * MINUTE + 1), later), sent(replica, after(2 * MINUTE + 2), later)]);
    await record(aSample());
    const { rows } = await database.pool.query(
      'select minute, queries::integer from live_query_counts order by minute',
    );
    expect(rows).toEqual([
      { minute: NOON, queries: 3 },
      { minute: later, queries: 2 },
    ]);
  });

  it('has the largest of its probabilities, even within one batch and across replicas', async () => {
    const tries = [2, 0, 1].map((level) => aSample({ ...atLevel(level), receivedAt: after(level * MINUTE) }));
    await Promise.all([
      ...tries.map((sample) => record(sample)),
      ...tries.map((sample) => replica.record({ samples: [sample], counts: [], levels: [] })),
      record(...tries),
    ]);
    expect(await stored('probability, level')).toEqual([{ probability: 0.5, level: 0 }]);
  });

  it('belongs to the minute that set its probability, and other minutes do not affect it when they close', async () => {
    const later = after(2 * MINUTE);
    await record(aSample({ ...atLevel(3), unitHash: 0.05 }));
    await record(aSample({ ...atLevel(0), unitHash: 0.05, receivedAt: later }));
    const closing = (minute: Date, level: number) =>
      traffic.record({ samples: [], counts: [], levels: [{ pipeline: 'docs', minute, level }] });
    await closing(NOON, 10);
    await closing(later, 2);
    // The random number 0.05 is below 1/8, the probability at the level of the later minute, but above the probability
    // at the level of the first minute.
    expect(await traffic.closeMinutes(after(5 * MINUTE))).toBe(0);
    expect(await stored('probability, level')).toEqual([{ probability: 0.125, level: 2 }]);
  });
});

describe('feedback without id and time', () => {
  const says = (id: string, ms: number, more: Partial<StoredFeedback> = {}) =>
    traffic.recordFeedback([
      aStoredFeedback({ id, mayRepeat: true, receivedAt: after(ms), occurredAt: after(ms), ...more }),
    ]);
  const latestOpinion = async () =>
    (await stored('id, occurred_at', 'feedback'))
      .toSorted((a, b) => Number(a['occurred_at']) - Number(b['occurred_at']))
      .at(-1)?.['id'];

  it('is the latest opinion when the user changes back', async () => {
    await says('up', 0);
    await says('down', 2 * MINUTE);
    expect(await says('up', 4 * MINUTE)).toMatchObject({ isNew: [false] });
    expect(await latestOpinion()).toBe('up');
    await says('down', 6 * MINUTE);
    expect(await latestOpinion()).toBe('down');
    expect(await stored('id', 'feedback')).toHaveLength(2);
  });

  it('is a retry within a minute, and does not replace a later opinion', async () => {
    await says('up', 0);
    await says('down', 5000);
    await says('up', MINUTE - 1);
    expect(await latestOpinion()).toBe('down');
    await says('up', MINUTE);
    expect(await latestOpinion()).toBe('up');
  });

  it('is recognized as repeated across midnight', async () => {
    await says('up', DAY / 2 - 5 * MINUTE);
    await says('down', DAY / 2 - 3 * MINUTE);
    await says('up', DAY / 2 + 5 * MINUTE);
    expect(await latestOpinion()).toBe('up');
    expect(await stored('id', 'feedback')).toHaveLength(2);
  });

  it('differs from feedback with an id, which counts as a retry at any time', async () => {
    await says('up', 0, { mayRepeat: false });
    await says('down', 2 * MINUTE, { mayRepeat: false });
    await says('up', 4 * MINUTE, { mayRepeat: false });
    expect(await latestOpinion()).toBe('down');
  });
});

describe('fragments of a query from another export', () => {
  const fragments = [
    anEmbeddingFragment(),
    aRerankFragment(['c', 'a', 'b'], { endedAtUnixNano: 3n }),
    aRerankFragment(['c', 'b'], { spanId: '9'.repeat(16), endedAtUnixNano: 4n, latencyMs: 40 }),
    aPersonFragment(),
  ];
  const completed = {
    session_hash: 'hash of the session',
    user_hash: 'hash of ann',
    embedding: Buffer.from(new Float32Array([0.6, 0.8]).buffer),
    dimensions: 2,
    embedder_version: 'bge-m3',
    top_k: 2,
    results: [
      ['c', 0.7],
      ['b', 0.8],
    ],
    stages: [
      { name: 'retrieval', isSide: false, latencyMs: 12, documents: 3, ranks: [3, 2] },
      { name: 'rerank', isSide: false, latencyMs: 40, documents: 2, ranks: [1, 2] },
    ],
    // The sampling decision was made for the trace, and does not change.
    unit_hash: 0.01,
    probability: 0.5,
    keep_reason: 'rate',
  };
  const columns = Object.keys(completed).join(', ');

  it('complete the query when they arrive after it', async () => {
    await record(aSample());
    for (const fragment of fragments) await traffic.bufferFragments([fragment]);
    expect(await stored(columns)).toEqual([completed]);
  });

  it('complete the query when they arrive before it', async () => {
    for (const fragment of fragments) await traffic.bufferFragments([fragment]);
    await record(aSample());
    expect(await stored(columns)).toEqual([completed]);
  });

  it('complete the query when everything arrives concurrently and repeatedly at two replicas', async () => {
    const send = (to: LiveTraffic) => [
      to.record({ samples: [aSample()], counts: [], levels: [] }),
      ...fragments.map((fragment) => to.bufferFragments([fragment])),
    ];
    await Promise.all([...send(traffic), ...send(replica)]);
    await Promise.all([...send(replica), ...send(traffic)]);
    expect(await stored(columns)).toEqual([completed]);
    expect((await database.pool.query('select 1 from trace_fragments')).rowCount).toBe(fragments.length);
  });

  it('apply the order of the reranker that ended last, whichever arrived last', async () => {
    await record(aSample());
    await traffic.bufferFragments([aRerankFragment(['b', 'a', 'c'], { spanId: '9'.repeat(16), endedAtUnixNano: 9n })]);
    await traffic.bufferFragments([aRerankFragment(['c', 'b', 'a'])]);
    expect(await stored('results')).toMatchObject([
      {
        results: [
          ['b', 0.8],
          ['a', 0.9],
          ['c', 0.7],
        ],
      },
    ]);
  });

  it('replace nothing that the query reported', async () => {
    const own = {
      embedding: Float32Array.of(1, 0),
      embedderVersion: 'e5',
      sessionHash: 'own',
      userHash: 'bob',
    };
    await record(aSample(own));
    await traffic.bufferFragments(fragments);
    expect(await stored('session_hash, user_hash, embedder_version, embedding')).toEqual([
      {
        session_hash: 'own',
        user_hash: 'bob',
        embedder_version: 'e5',
        embedding: Buffer.from(new Float32Array([1, 0]).buffer),
      },
    ]);
  });

  it('match the query by the hash of its text, and add a hash when it has none', async () => {
    const hashed = (id: number, textHash: string | null) => aSample({ id: queryOf(TRACE, id), text: null, textHash });
    await record(hashed(1, 'h1'), hashed(5, 'h5'), hashed(6, null));
    const vector = (textHash: string, spanId: string, x: number, within: string | null = null) =>
      anEmbeddingFragment({ text: null, textHash, spanId, embedding: Float32Array.of(x, 1), within });
    await traffic.bufferFragments([
      vector('h5', '5'.repeat(16), 5),
      vector('h1', '1'.repeat(16), 1),
      vector('h6', '6'.repeat(16), 6, queryOf(TRACE, 6)),
    ]);
    expect(await stored('text, text_hash, embedding')).toEqual(
      [1, 5, 6].map((x) => ({
        text: null,
        text_hash: `h${x}`,
        embedding: Buffer.from(new Float32Array([x, 1]).buffer),
      })),
    );
  });

  it('may have unusual ids, large vectors and extreme times', async () => {
    await record(
      aSample({
        results: [
          { id: `'"\\{},\u2028`, score: null },
          { id: 'NULL', score: 1 },
        ],
      }),
    );
    await traffic.bufferFragments([
      aRerankFragment(['NULL', `'"\\{},\u2028`], { endedAtUnixNano: 2n ** 64n - 1n, topK: 10_000 }),
      anEmbeddingFragment({ endedAtUnixNano: 0n, embedding: new Float32Array(16_384).fill(3e38) }),
      aPersonFragment({ sessionHash: null, traceHash: null }),
    ]);
    expect(await stored('results, top_k, dimensions, user_hash, session_hash')).toEqual([
      {
        results: [
          ['NULL', 1],
          [`'"\\{},\u2028`, null],
        ],
        top_k: 10_000,
        dimensions: 16_384,
        user_hash: 'hash of ann',
        session_hash: 'hash of the trace',
      },
    ]);
  });

  it('skip vectors of other dimensions or another pipeline, and use the vector that fits', async () => {
    await traffic.fixDimensions('docs', 3);
    await record(aSample());
    await traffic.bufferFragments([
      anEmbeddingFragment(),
      anEmbeddingFragment({ spanId: '8'.repeat(16), pipeline: 'other', embedding: Float32Array.of(1, 2, 3) }),
    ]);
    expect(await stored('dimensions')).toEqual([{ dimensions: null }]);
    await traffic.bufferFragments([
      anEmbeddingFragment({
        spanId: '9'.repeat(16),
        endedAtUnixNano: 9n,
        embedding: Float32Array.of(4, 5, 6),
      }),
    ]);
    expect(await stored('embedding')).toEqual([{ embedding: Buffer.from(new Float32Array([4, 5, 6]).buffer) }]);
  });

  it('make the queries of a trace one episode, and add what the user asked to those of their pipeline', async () => {
    const [own, later] = [queryOf(TRACE, 1), queryOf(TRACE, 6)];
    await record(
      aSample({ id: own, episode: TRACE }),
      aSample({ id: later, episode: TRACE, occurredAt: after(400) }),
      aSample({ id: queryOf(TRACE, 7), episode: TRACE, occurredAt: after(MINUTE) }),
      aSample({ id: queryOf(TRACE, 8), episode: 'turn-9', episodeStep: 2 }),
      aSample({ id: queryOf(TRACE, 9), pipeline: 'faq', episode: TRACE }),
    );
    await traffic.bufferFragments([anEpisodeFragment()]);
    const episode = queryOf(TRACE, 5);
    expect(await stored('episode, episode_step, original_text')).toEqual([
      { episode, episode_step: null, original_text: 'my parcel is late' },
      { episode, episode_step: null, original_text: 'my parcel is late' },
      { episode: TRACE, episode_step: null, original_text: null },
      { episode: 'turn-9', episode_step: 2, original_text: null },
      { episode, episode_step: null, original_text: null },
    ]);
    await traffic.bufferFragments([anEpisodeFragment({ spanId: 'a'.repeat(16), scope: 'chain', text: null })]);
    expect((await stored('episode')).slice(0, 2)).toEqual([{ episode }, { episode }]);
  });

  it('set the dimensions of a pipeline once', async () => {
    const other = 'f'.repeat(32);
    await record(aSample(), aSample({ id: queryOf(other, 1), traceId: other }));
    await traffic.bufferFragments([
      anEmbeddingFragment(),
      anEmbeddingFragment({ traceId: other, embedding: Float32Array.of(1, 2, 3) }),
    ]);
    const lengths = (await stored('dimensions')).map((row) => row['dimensions']);
    expect(lengths.filter((length) => length !== null)).toEqual([await traffic.dimensions('docs', null)]);
  });

  it('are buffered for ten to twenty minutes', async () => {
    const held = async () => (await database.pool.query('select 1 from trace_fragments')).rowCount;
    await traffic.bufferFragments([anEmbeddingFragment(), anEmbeddingFragment()]);
    await traffic.dropOldFragments(NOON);
    await traffic.dropOldFragments(after(10 * MINUTE - 1));
    expect(await held()).toBe(1);
    // A retry that arrives when the next partition is in use is stored a second time, but counted only once.
    await traffic.bufferFragments([anEmbeddingFragment({ receivedAt: after(10 * MINUTE), text: 'rewritten' })]);
    expect(await held()).toBe(2);
    await record(aSample());
    expect(await stored('dimensions')).toEqual([{ dimensions: 2 }]);
    await traffic.dropOldFragments(after(20 * MINUTE));
    expect(await held()).toBe(1);
    await traffic.dropOldFragments(after(30 * MINUTE));
    expect(await held()).toBe(0);
  });
});

describe('feedback on a span that is not a query', () => {
  const onRoot = aStoredFeedback({ queryId: queryOf(TRACE, 7), traceId: TRACE });
  const attached = async () => (await stored('query_id', 'feedback')).map((row) => row['query_id']);

  it('is about the only query of its trace, in any order of arrival', async () => {
    await record(aSample());
    await traffic.recordFeedback([onRoot]);
    expect(await attached()).toEqual([queryOf(TRACE, 1)]);
    await database.pool.query('truncate live_queries, feedback');
    await traffic.recordFeedback([onRoot]);
    expect(await attached()).toEqual([queryOf(TRACE, 7)]);
    await record(aSample());
    expect(await attached()).toEqual([queryOf(TRACE, 1)]);
    expect(await traffic.recordFeedback([onRoot])).toMatchObject({ isNew: [false] });
    expect(await attached()).toEqual([queryOf(TRACE, 1)]);
  });

  it('is not assigned to one of several queries, nor to another pipeline', async () => {
    await traffic.recordFeedback([onRoot]);
    await record(aSample({ pipeline: 'other' }));
    expect(await attached()).toEqual([queryOf(TRACE, 7)]);
    await record(aSample());
    expect(await attached()).toEqual([queryOf(TRACE, 1)]);
    await record(aSample({ id: queryOf(TRACE, 2) }));
    expect(await attached()).toEqual([queryOf(TRACE, 7)]);
  });

  it('is about the span itself if that turns out to be a query', async () => {
    await record(aSample());
    await traffic.recordFeedback([onRoot]);
    await record(aSample({ id: queryOf(TRACE, 7) }));
    expect(await attached()).toEqual([queryOf(TRACE, 7)]);
  });

  it('is assigned to its query when both arrive concurrently', async () => {
    const traces = Array.from({ length: 50 }, (_, i) => (i + 1).toString(16).padStart(32, '0'));
    await Promise.all(
      traces.flatMap((traceId) => [
        record(aSample({ id: queryOf(traceId, 1), traceId })),
        replica.recordFeedback([aStoredFeedback({ id: traceId, queryId: queryOf(traceId, 7), traceId })]),
      ]),
    );
    expect(await attached()).toEqual(traces.map((traceId) => queryOf(traceId, 1)));
  });
});

describe('an erasure', () => {
  const held = async () =>
    (await database.pool.query<{ id: string }>('select trace_id as id from trace_fragments')).rows.map(({ id }) => id);
  const others = 'f'.repeat(32);
  const ofOthers: readonly BufferedFragment[] = [anEmbeddingFragment({ traceId: others })];

  it('of a user includes fragments of their traces and the queries that these completed', async () => {
    await record(aSample());
    await traffic.bufferFragments([anEmbeddingFragment(), aPersonFragment(), ...ofOthers]);
    const erased = await erase(database.pool, { kind: 'user', userHash: 'hash of ann' }, 'operator', NOON);
    expect(erased).toEqual({ queries: 1, feedback: 0, goldenQueries: 0 });
    expect(await held()).toEqual([others]);
  });

  it('of a query includes earlier fragments of its trace, and feedback attached elsewhere', async () => {
    await traffic.bufferFragments([anEmbeddingFragment(), aPersonFragment(), ...ofOthers]);
    await traffic.recordFeedback([aStoredFeedback({ queryId: queryOf(TRACE, 7), traceId: TRACE })]);
    await record(aSample());
    const eraseQuery = (id: string) => erase(database.pool, { kind: 'query', id, idHash: 'h' }, 'operator', NOON);
    expect(await eraseQuery(queryOf(TRACE, 7))).toEqual({ queries: 0, feedback: 1, goldenQueries: 0 });
    expect(await held()).toEqual([others]);
  });

  it('of a user is complete even while their trace is being completed', async () => {
    for (let round = 0; round < 20; round++) {
      const traceId = (round + 1).toString(16).padStart(32, '0');
      await record(aSample({ id: queryOf(traceId, 1), traceId }));
      await Promise.all([
        traffic.bufferFragments([aPersonFragment({ traceId })]),
        erase(database.pool, { kind: 'user', userHash: 'hash of ann' }, 'operator', NOON),
      ]);
      // If the erasure came first, both tables contain the user's later data; otherwise, neither does.
      const { rows } = await database.pool.query<{ held: number; copied: number }>(
        `select (select count(*) from trace_fragments where trace_id = $1::text)::integer as held,
                (select count(*) from live_queries where trace_id = $1::text and user_hash is not null)::integer as copied`,
        [traceId],
      );
      expect(rows[0]?.copied).toBe(rows[0]?.held);
    }
  });
});

it.each(['Pacific/Kiritimati', 'Etc/GMT+12'])(
  'counts are kept for whole days of UTC, whatever the time zone of the session: %s',
  async (zone) => {
    await database.pool.query(
      `insert into live_query_counts select 'docs', m, 'ok', 1
      from unnest($1::timestamptz[]) m`,
      [[after(-2.5 * DAY - 1), after(-2.5 * DAY)]],
    );
    await withPool({ ...database.connection, options: `-c timezone=${zone}` }, (pool) =>
      createLiveTraffic(pool, 'elsewhere').prune(new Map([['docs', 2]]), NOON),
    );
    const { rows } = await database.pool.query('select minute from live_query_counts');
    expect(rows).toEqual([{ minute: after(-2.5 * DAY) }]);
  },
);

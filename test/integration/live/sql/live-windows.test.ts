import { beforeAll, describe, expect, it } from 'vitest';
import { createLiveTraffic } from '../../../../src/live/sql/live-traffic.ts';
import { createLiveWindows, type LiveWindow, type WindowQuery } from '../../../../src/live/sql/live-windows.ts';
import { NOON } from '../../../support/builders.ts';
import { useDatabase } from '../../../support/database.ts';
import { aLiveSample, aStoredClick } from '../../../support/live-rows.ts';
import { hours } from '../../../support/measurements.ts';

const database = useDatabase();
const store = () => createLiveTraffic(database.pool, 'me');
const window = (pipeline: string): LiveWindow => ({ pipeline, from: hours(-2), until: hours(1) });

async function read(which: LiveWindow, halvings = 0): Promise<WindowQuery[]> {
  const queries: WindowQuery[] = [];
  for await (const batch of createLiveWindows(database.pool).queries(which, halvings)) queries.push(...batch);
  return queries;
}

beforeAll(async () => {
  for (const day of [-24, 0, 24]) await store().createPartitions(hours(day));
});

async function record(...samples: readonly Parameters<typeof aLiveSample>[0][]): Promise<void> {
  await store().record({ samples: samples.map(aLiveSample), counts: [], levels: [] });
}

const aStage = { name: 'candidates', isSide: false, latencyMs: 7.5, documents: 30, ranks: [4, null] };

describe('the samples of a window', () => {
  it('are those that occurred in it, whenever they were received', async () => {
    const pipeline = 'whole';
    await record(
      { pipeline, id: 'first', occurredAt: hours(-2), context: { characters: 812, repeated: 0.25 }, stages: [aStage] },
      { pipeline, id: 'late', occurredAt: hours(-1), receivedAt: hours(24), segments: { lang: 'en' } },
      { pipeline, id: 'too-early', occurredAt: new Date(hours(-2).getTime() - 1) },
      { pipeline, id: 'too-late', occurredAt: hours(1) },
      { pipeline: 'other', id: 'other' },
      {
        pipeline,
        id: 'empty',
        outcome: 'empty',
        results: [],
        probability: 1,
        keepReason: 'zero_results',
        unitHash: 0.9,
      },
    );
    expect(await createLiveWindows(database.pool).count(window(pipeline))).toEqual({ samples: 3, steps: 0 });
    expect(await read(window(pipeline))).toEqual([
      {
        id: 'first',
        occurredAt: hours(-2),
        cluster: 0.25,
        probability: 0.5,
        rateProbability: 0.5,
        outcome: 'ok',
        segments: {},
        documentIds: ['d1', 'd2'],
        context: { characters: 812, repeated: 0.25 },
        latencyMs: 12,
        stages: [aStage],
      },
      expect.objectContaining({ id: 'late', segments: { lang: 'en' } }),
      expect.objectContaining({
        id: 'empty',
        cluster: 0.9,
        probability: 1,
        outcome: 'empty',
        documentIds: [],
      }),
    ]);
  });

  it('are complete and distinct, even if many occurred at the same time', async () => {
    const pipeline = 'many';
    const ids = Array.from({ length: 4500 }, (_, i) => `q${i}`);
    await record(...ids.map((id, i) => ({ pipeline, id, occurredAt: i < 4100 ? NOON : hours(-1) })));
    const queries = await read(window(pipeline));
    expect(queries).toHaveLength(4500);
    expect(new Set(queries.map(({ id }) => id))).toEqual(new Set(ids));
  });

  it('yield the longest episodes, step by step, without those that were sampled only in part', async () => {
    const pipeline = 'agents';
    const step = (id: string, episode: string | null, parts: object = {}) => ({ pipeline, id, episode, ...parts });
    await record(
      step('a1', 'a', { episodeStep: 2, originalText: 'where is it' }),
      step('a2', 'a', { occurredAt: hours(-1) }),
      ...['b1', 'b2', 'b3'].map((id, i) => step(id, 'b', { occurredAt: new Date(hours(-2).getTime() + i) })),
      step('c1', 'c'),
      ...['d1', 'd2'].map((id) => step(id, 'd', { unitHash: 0.9, keepReason: 'error', probability: 1 })),
      step('none', null),
    );
    const found = await createLiveWindows(database.pool).longestEpisodes(window(pipeline), 10);
    expect(found.map(({ id }) => id)).toEqual(['b1', 'b2', 'b3', 'a2', 'a1']);
    expect(found[4]).toMatchObject({ episode: 'a', step: 2, originalText: 'where is it', upstreamProbability: 1 });
    const [longest] = await createLiveWindows(database.pool).longestEpisodes(window(pipeline), 1);
    expect(longest?.episode).toBe('b');
  });

  it('yield the share of the most frequent query, ignoring case', async () => {
    const pipeline = 'asked';
    const ask = (id: string, text: string | null, parts: object = {}) => ({
      pipeline,
      id,
      text,
      textHash: null,
      probability: 1,
      unitHash: Number(id) / 10,
      ...parts,
    });
    await record(
      ask('1', 'ping'),
      ask('2', 'Ping'),
      ask('3', 'how are invoices paid', { probability: 0.5 }),
      ask('4', null),
    );
    const windows = createLiveWindows(database.pool);
    expect(await windows.topQuery(window(pipeline))).toEqual({ share: 0.5, repeated: 0, queries: 3, sessions: 3 });
    expect(await windows.topQuery(window('unknown'))).toEqual({ share: 0, repeated: 0, queries: 0, sessions: 0 });
    expect(await windows.texts(window(pipeline), 2)).toEqual([
      { text: 'ping', probability: 1, cluster: 0.1 },
      { text: 'Ping', probability: 1, cluster: 0.2 },
    ]);
  });

  it('yield the share of queries that repeat a query of their session, ignoring case', async () => {
    const pipeline = 'repeating';
    const ask = (id: string, text: string, unitHash: number) => ({
      pipeline,
      id,
      text,
      textHash: null,
      probability: 1,
      unitHash,
    });
    await record(
      ask('1', 'ping', 0.1),
      ask('2', 'Ping', 0.1),
      ask('3', 'PING', 0.1),
      ask('4', 'ping', 0.2),
      ask('5', 'pong', 0.2),
    );
    expect(await createLiveWindows(database.pool).topQuery(window(pipeline))).toMatchObject({
      repeated: 0.4,
      sessions: 2,
    });
  });

  it('return texts that represent all queries, although rules keep every failed query', async () => {
    const pipeline = 'texts';
    const half = { pipeline, text: 'hello', rateProbability: 0.5 } as const;
    await record(
      { ...half, id: 'by rate', unitHash: 0.1, probability: 0.5, keepReason: 'rate' },
      { ...half, id: 'failed, selected by the rate too', unitHash: 0.2, probability: 1, keepReason: 'error' },
      { ...half, id: 'failed, selected by the rule only', unitHash: 0.7, probability: 1, keepReason: 'error' },
    );
    expect(await createLiveWindows(database.pool).texts(window(pipeline), 10)).toEqual([
      { text: 'hello', probability: 0.5, cluster: 0.1 },
      { text: 'hello', probability: 0.5, cluster: 0.2 },
    ]);
  });

  it('yield the 95th percentile of the reported latencies', async () => {
    const pipeline = 'timed';
    const latencies = Array.from({ length: 20 }, (_, i) => ({ pipeline, id: `q${i}`, latencyMs: 10 * (i + 1) }));
    await record(...latencies, { pipeline, id: 'failed', outcome: 'timeout', latencyMs: 5000 });
    const windows = createLiveWindows(database.pool);
    expect(await windows.latency95(window(pipeline))).toEqual({ ms: 190, n: 20 });
    expect(await windows.latency95(window('unknown'))).toBeNull();
  });

  it('yield an estimate of the arrivals by outcome, beside the exact counts', async () => {
    const pipeline = 'arrivals';
    const minute = hours(-1);
    const kept = { pipeline, receivedAt: minute, probability: 0.5, rateProbability: 0.5, keepReason: 'rate' } as const;
    const counts = [
      { pipeline, minute, outcome: 'ok', queries: 5 },
      { pipeline, minute, outcome: 'error', queries: 2 },
      { pipeline, minute: hours(1), outcome: 'ok', queries: 100 },
    ] as const;
    const samples = [
      { ...kept, id: 'one' },
      { ...kept, id: 'two' },
      // The service sent only a tenth of its queries; only queries that arrived are counted.
      { ...kept, id: 'three', probability: 0.05 },
      { ...kept, id: 'failed', outcome: 'error', probability: 1, keepReason: 'error' },
      { ...kept, id: 'of later', receivedAt: hours(1) },
    ] as const;
    await store().record({ samples: samples.map(aLiveSample), counts, levels: [] });
    const arrivals = await createLiveWindows(database.pool).arrivals(window(pipeline));
    expect(arrivals).toEqual({ ok: { counted: 5, estimated: 6 }, error: { counted: 2, estimated: 1 } });
  });

  it('include a query that is sent again days later only once', async () => {
    const pipeline = 'twice';
    await record({ pipeline, receivedAt: hours(-24) });
    await record({ pipeline, receivedAt: hours(24) });
    expect(await read(window(pipeline))).toHaveLength(1);
  });

  it('are, when halved, those that a halved rate would have selected, with its probability', async () => {
    const pipeline = 'halved';
    await record(
      { pipeline, id: 'rate-in', unitHash: 0.12 },
      { pipeline, id: 'rate-out', unitHash: 0.13 },
      { pipeline, id: 'rule-in', unitHash: 0.24, probability: 1, keepReason: 'error', outcome: 'error' },
      { pipeline, id: 'rule-out', unitHash: 0.26, probability: 1, keepReason: 'error', outcome: 'error' },
      { pipeline, id: 'upstream', unitHash: 0.1, probability: 0.05, rateProbability: 0.5 },
    );
    const kept = await read(window(pipeline), 2);
    expect(kept.map(({ id, probability }) => [id, probability])).toEqual([
      ['rate-in', 0.125],
      ['rule-in', 0.25],
      ['upstream', 0.0125],
    ]);
  });
});

describe('the clicks on queries', () => {
  it('are the counted clicks on the given queries of the pipeline', async () => {
    const pipeline = 'clicked';
    const clicks = [
      {},
      { id: 'f2', documentId: null, rank: 2, occurredAt: hours(1) },
      { id: 'f3', counted: false },
      { id: 'f4', kind: 'copy' as const },
      { id: 'f5', queryId: 'q9' },
    ];
    await store().recordFeedback(clicks.map((click) => aStoredClick({ pipeline, ...click })));
    await store().recordFeedback([aStoredClick({ pipeline: 'elsewhere' })]);
    const windows = createLiveWindows(database.pool);
    expect(await windows.clicks(pipeline, ['q1', 'q2'], hours(-2))).toEqual([
      { queryId: 'q1', documentId: 'd1', rank: null, occurredAt: NOON },
      { queryId: 'q1', documentId: null, rank: 2, occurredAt: hours(1) },
    ]);
  });
});

describe('the presence of clicks', () => {
  it.each([
    ['no feedback', [], false],
    ['an opinion', [{ kind: 'copy' as const }], false],
    ['a click that does not count', [{ counted: false }], false],
    ['a click that was received before', [{ receivedAt: hours(-24) }], false],
    ['a click', [{}], true],
  ])('is detected correctly for %s', async (what, clicks, expected) => {
    const pipeline = `with ${what}`;
    await store().recordFeedback(clicks.map((click) => aStoredClick({ pipeline, ...click })));
    expect(await createLiveWindows(database.pool).hasClicks(pipeline, hours(-2))).toBe(expected);
  });
});

describe('the opinions on queries', () => {
  it('are the latest counted opinions of each user and kind, without clicks', async () => {
    const pipeline = 'opinions';
    const said = { pipeline, kind: 'thumb' as const, documentId: null };
    await store().recordFeedback(
      [
        { ...said, id: 'o1', userHash: 'ann', sentiment: 'positive' as const },
        { ...said, id: 'o2', userHash: 'ann', sentiment: 'negative' as const, occurredAt: hours(1) },
        { ...said, id: 'o3', userHash: 'bob', sentiment: 'positive' as const },
        { ...said, id: 'o4', userHash: 'eve', sentiment: 'negative' as const, counted: false },
        { ...said, id: 'o5', userHash: 'bob', kind: 'copy' as const, sentiment: 'positive' as const },
        { ...said, id: 'o6', userHash: 'bob', queryId: 'q9', sentiment: 'negative' as const },
        { pipeline, id: 'o7', userHash: 'bob' },
      ].map(aStoredClick),
    );
    const windows = createLiveWindows(database.pool);
    expect([...(await windows.opinions(pipeline, ['q1', 'q2'], hours(-2)))]).toEqual([
      ['q1', { positive: 2, negative: 1 }],
    ]);
  });
});

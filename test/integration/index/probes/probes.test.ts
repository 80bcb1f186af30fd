import { beforeAll, describe, expect, it } from 'vitest';
import { createDb } from '../../../../src/app/database.ts';
import type { Embedder } from '../../../../src/connectors/embedders/embedder.ts';
import type { StoreDescription } from '../../../../src/connectors/stores/vector-store.ts';
import { canaryTexts } from '../../../../src/density/rules/measurement-change.ts';
import { measureAnnRecall, probeEmbedder, probeStore } from '../../../../src/index/probes/probe-connectors.ts';
import { createLiveTraffic } from '../../../../src/live/sql/live-traffic.ts';
import type { LiveSample } from '../../../../src/live/sql/record-arrivals.ts';
import { sizeClass } from '../../../../src/math/vector/size-class.ts';
import { aWatchedPipeline, NOON } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { aLiveSample } from '../../../support/live-rows.ts';
import { MemoryLogger } from '../../../support/memory-telemetry.ts';
import { failed, neighbours, ok, scriptedStore } from '../../../support/scripted-store.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

const database = useDatabase();
const never = new AbortController().signal;
let pipelines = 0;

beforeAll(() => createLiveTraffic(database.pool, 'a').createPartitions(NOON));

/** Sets up a separate pipeline that received the given queries at noon. */
async function setUp(questions: readonly Partial<LiveSample>[] = []) {
  const clock = new SteerableClock();
  const name = `docs-${(pipelines += 1)}`;
  const samples = questions.map((question) => aLiveSample({ ...question, pipeline: name }));
  await createLiveTraffic(database.pool, 'a').record({ samples, counts: [], levels: [] });
  const db = createDb(database.pool);
  const deps = contextOf({ db, clock, logger: new MemoryLogger() });
  const latest = async (measure: string) =>
    (await db.measurements.latest(clock.now())).find((one) => one.pipeline === name && one.measure === measure);
  const deployed = () => db.live.deployments.list({ pipeline: name, limit: 10 });
  return { deps, clock, name, latest, deployed };
}

const described = (parts: Partial<StoreDescription> = {}): StoreDescription => ({
  count: 1000,
  isExactCount: true,
  dimensions: 3,
  metric: 'cosine',
  traits: { index: 'hnsw', m: '16' },
  ...parts,
});

describe('the store probe', () => {
  it('counts vectors, and records no deployment while the store only grows', async () => {
    const { deps, latest, name, deployed } = await setUp();
    let count = 1000;
    const store = scriptedStore({ describe: () => ok(described({ count: (count += 1) })) });
    await probeStore(deps, name, store, never);
    await probeStore(deps, name, store, never);
    expect((await latest('store_vectors'))?.newest?.value).toBe(1002);
    expect(await deployed()).toEqual([]);
  });

  it('records a deployment with the changes', async () => {
    const { deps, clock, name, deployed } = await setUp();
    await probeStore(deps, name, scriptedStore({ describe: () => ok(described()) }), never);
    await clock.advance(300_000);
    const reindexed = described({ traits: { index: 'hnsw', m: '32' } });
    await probeStore(deps, name, scriptedStore({ describe: () => ok(reindexed) }), never);
    expect(await deployed()).toMatchObject([
      {
        pipeline: name,
        kind: 'index',
        source: 'detected',
        changes: [{ trait: 'm', before: '16', after: '32' }],
      },
    ]);
  });

  it('records no deployment while the count fluctuates around a size-class boundary, and one when it grows further', async () => {
    const { deps, clock, name, deployed } = await setUp();
    for (const count of [1000, 1100, 1020, 1250, 790]) {
      const swinging = described({ count, traits: { size_class: sizeClass(count) } });
      await probeStore(deps, name, scriptedStore({ describe: () => ok(swinging) }), never);
      await clock.advance(300_000);
    }
    expect(await deployed()).toEqual([]);
    const grown = described({ count: 1300, traits: { size_class: sizeClass(1300) } });
    await probeStore(deps, name, scriptedStore({ describe: () => ok(grown) }), never);
    expect(await deployed()).toMatchObject([{ changes: [{ trait: 'size_class', before: '4', after: '5' }] }]);
  });

  it('records the reason when the store does not respond', async () => {
    const { deps, latest, name } = await setUp();
    await probeStore(deps, name, scriptedStore({ describe: () => failed('Qdrant is down.') }), never);
    expect((await latest('store_vectors'))?.gap).toMatchObject({
      reason: 'store_failed',
      details: { message: 'Qdrant is down.' },
    });
  });
});

/** An embedder whose vectors for consecutive texts are one radian apart, all rotated by `angle()`. */
function anEmbedder(angle: () => number, identity = 'openai/small'): Embedder {
  return {
    identity,
    embed: async (texts) => ({
      kind: 'vectors',
      latencyMs: 1,
      vectors: texts.map((_, index) => Float32Array.of(Math.cos(index + angle()), Math.sin(index + angle()))),
    }),
  };
}

describe('the embedder probe', () => {
  it('finds equal vectors for an unchanged model', async () => {
    const { deps, latest, name, deployed } = await setUp();
    await probeEmbedder(
      deps,
      name,
      anEmbedder(() => 0),
      never,
    );
    await probeEmbedder(
      deps,
      name,
      anEmbedder(() => 0),
      never,
    );
    expect((await latest('embedding_canary_median'))?.newest?.value).toBeCloseTo(1, 6);
    expect((await latest('embedding_canary_min'))?.newest).toMatchObject({ n: canaryTexts.length });
    expect(await deployed()).toEqual([]);
  });

  it('records a changed model behind the same name once, and keeps the first baseline', async () => {
    const { deps, clock, latest, name, deployed } = await setUp();
    let angle = 0;
    const embedder = anEmbedder(() => angle);
    await probeEmbedder(deps, name, embedder, never);
    angle = 0.5;
    for (let probe = 0; probe < 3; probe += 1) {
      await clock.advance(600_000);
      await probeEmbedder(deps, name, embedder, never);
    }
    expect((await latest('embedding_canary_median'))?.newest?.value).toBeCloseTo(Math.cos(0.5), 5);
    expect(await deployed()).toMatchObject([
      { kind: 'embedder', changes: [{ trait: 'canary', before: 'steady', after: 'moved' }] },
    ]);
  });

  it('records a newly configured model as a deployment with its own vectors', async () => {
    const { deps, clock, latest, name, deployed } = await setUp();
    await probeEmbedder(
      deps,
      name,
      anEmbedder(() => 0),
      never,
    );
    await clock.advance(600_000);
    await probeEmbedder(
      deps,
      name,
      anEmbedder(() => 1, 'openai/large'),
      never,
    );
    expect((await latest('embedding_canary_min'))?.newest?.value).toBeCloseTo(1, 6);
    expect(await deployed()).toHaveLength(1);
  });

  it('records the reason when the embedder does not respond', async () => {
    const { deps, latest, name } = await setUp();
    const broken: Embedder = {
      identity: 'openai/small',
      embed: async () => ({ kind: 'failed', code: 'timeout', message: 'It hangs.', latencyMs: 1 }),
    };
    await probeEmbedder(deps, name, broken, never);
    expect((await latest('embedding_canary_median'))?.gap).toMatchObject({ reason: 'embedder_failed' });
  });
});

describe('index recall', () => {
  const vector = { embedding: Float32Array.of(1) };
  const exact = neighbours(['a', 0.9], ['b', 0.8]);
  const store = scriptedStore({
    nearest: (request) => ok(request.exact ? exact : neighbours(['a', 0.9], ['x', 0.1])),
  });

  it('is the share of exact neighbors found, over live queries with a vector or a text', async () => {
    const { deps, latest, name } = await setUp([
      { ...vector, text: null },
      { id: 'q2', text: 'hello' },
      { id: 'q3', text: null },
    ]);
    const pipeline = aWatchedPipeline({
      name,
      store,
      embedder: anEmbedder(() => 0),
      annRecall: { queries: 3, k: 2 },
    });
    await measureAnnRecall(deps, pipeline, never);
    expect((await latest('ann_recall'))?.newest).toMatchObject({ value: 0.5, n: 2, details: { k: 2 } });
  });

  it.each([
    ['no_vectors', [], store],
    ['unsupported', [vector], scriptedStore({})],
    ['store_failed', [vector], scriptedStore({ nearest: () => failed('down') })],
    ['store_empty', [vector], scriptedStore({ nearest: () => ok(neighbours()) })],
  ] as const)('is unknown, with the reason %s', async (reason, samples, of) => {
    const { deps, latest, name } = await setUp(samples);
    await measureAnnRecall(deps, aWatchedPipeline({ name, store: of }), never);
    expect((await latest('ann_recall'))?.gap).toMatchObject({ reason });
  });

  it('is unknown because of the embedder, not of missing traffic, when the embedder fails and no query has a vector', async () => {
    const { deps, latest, name } = await setUp([{ id: 'q1', embedding: null, text: 'how do I log in' }]);
    const embedder: Embedder = {
      identity: 'openai/small',
      embed: async () => ({ kind: 'failed', code: 'http_503', message: 'It returned 503.', latencyMs: 1 }),
    };
    await measureAnnRecall(deps, aWatchedPipeline({ name, store, embedder }), never);
    expect((await latest('ann_recall'))?.gap).toMatchObject({
      reason: 'embedder_failed',
      details: { message: 'It returned 503.' },
    });
  });

  it('is not measured without a store or when disabled', async () => {
    const { deps, latest, name } = await setUp([vector]);
    await measureAnnRecall(deps, aWatchedPipeline({ name }), never);
    await measureAnnRecall(deps, aWatchedPipeline({ name, store, annRecall: { queries: 0, k: 10 } }), never);
    expect(await latest('ann_recall')).toBeUndefined();
  });
});

/** Tests what monitoring reports about documents that a real store lost, kept or changed. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDb } from '../../../src/app/database.ts';
import type { VectorStore } from '../../../src/connectors/stores/vector-store.ts';
import { computeOfCommands } from '../../../src/density/compute.ts';
import { canaryTexts } from '../../../src/density/rules/measurement-change.ts';
import { storeShift, takeStoreSnapshot } from '../../../src/density/rules/store-snapshot.ts';
import { measureAnnRecall, probeEmbedder, probeStore } from '../../../src/index/probes/probe-connectors.ts';
import { snapshotStore } from '../../../src/index/probes/probe-jobs.ts';
import type { IndexPlan } from '../../../src/index/truth/plan.ts';
import { createLiveTraffic } from '../../../src/live/sql/live-traffic.ts';
import { matrixOf } from '../../../src/math/vector/matrix.ts';
import { never, type StoreAbilities, type StoreService } from '../../contract/vector-store-bench.ts';
import { aWatchedPipeline, NOON } from '../../support/builders.ts';
import { openRetriever } from '../../support/connectors.ts';
import { contextOf } from '../../support/context.ts';
import { type UsedDatabase, useDatabase } from '../../support/database.ts';
import { IndexWorld, textOf, vectorOf } from '../../support/index-world.ts';
import { aLiveSample } from '../../support/live-rows.ts';
import { silentLogger } from '../../support/log.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';
import { queriesLike, topicByTopic, type VectorDocument } from '../../support/vector-documents.ts';
import { describeExplain, type FilledIndex } from './explain-suite.ts';

const DIMENSIONS = 16;
/** Each test makes hundreds of calls to the store, so the time limit allows for a busy machine. */
const patient = { timeout: 600_000 };
const HOUR_MS = 3_600_000;

export function describeMonitoring(
  { exactSearch, oneChunk }: Pick<StoreAbilities, 'exactSearch' | 'oneChunk'>,
  start: () => Promise<StoreService>,
  retriever?: 'elasticsearch' | 'opensearch',
): void {
  const database = useDatabase();
  let service: StoreService;
  const opened: FilledIndex[] = [];

  beforeAll(async () => {
    service = await start();
  });
  afterAll(async () => {
    for (const { index, store } of opened) {
      await store.close();
      await index.drop();
    }
    await service.stop();
  });

  /** Creates an index that exists until the end of the suite. */
  const fill = async (documents: readonly VectorDocument[]): Promise<FilledIndex> => {
    const index = await service.createIndex({ metric: 'cosine', dimensions: DIMENSIONS });
    const store = index.open({ url: service.url, timeoutMs: 20_000, retries: 0 });
    const remove = index.remove?.bind(index);
    if (remove === undefined) throw new Error('documents of this index cannot be removed');
    const filled = { index: { ...index, remove }, store, url: service.url };
    opened.push(filled);
    await index.add(documents);
    return filled;
  };

  it(
    'finds lost, orphaned and outdated documents and changed vectors in the store, until they are fixed',
    patient,
    async () => {
      const ids = Array.from({ length: 120 }, (_, place) => `doc-${place}`);
      const { index, store } = await fill(ids.map((id) => indexed(id)));
      const world = indexWorld(database, store);
      world.lines = ids.map((id) => ({ id, hash: 'v1', updated_at: '2025-03-01T00:00:00Z' }));
      const shares = async () => {
        expect(await world.round(2 * HOUR_MS)).toBe('done');
        const measures = ['missing', 'orphaned', 'superseded', 'other_model', 'not_retrievable'];
        const values = measures.map(async (name) => [name, (await world.value(`index_${name}_ratio`))?.value] as const);
        return Object.fromEntries(await Promise.all(values));
      };
      const healthy = { missing: 0, orphaned: 0, superseded: 0, other_model: 0, not_retrievable: 0 };
      expect(await shares()).toEqual(healthy);

      const [lost, changed, outdated] = ['doc-7', 'doc-70', 'doc-90'];
      await index.remove([lost, changed]);
      await index.add([
        { ...indexed(changed), vector: vectorOf(textOf(changed), 7) },
        indexed('withdrawn'),
        ...(oneChunk === true ? [] : [{ ...indexed(outdated, `Before. ${textOf(outdated)}`), fields: old }]),
      ]);
      expect(await shares()).toEqual({
        missing: 1 / 120,
        orphaned: 1 / 120,
        superseded: oneChunk === true ? 0 : 1 / 119,
        // These two shares also include the earlier rounds of the day.
        other_model: expect.any(Number) as number,
        not_retrievable: expect.any(Number) as number,
      });
      expect(await world.found('missing')).toEqual([lost]);
      expect(await world.found('orphaned')).toEqual(['withdrawn']);
      expect(await world.found('superseded')).toEqual(oneChunk === true ? [] : [outdated]);
      expect(await world.found('other_model')).toEqual([changed]);
      // A document with another model's vector is not retrievable either.
      expect((await world.found('unretrievable')).filter((id) => id !== changed)).toEqual([]);

      await index.remove([changed, outdated, 'withdrawn']);
      await index.add([lost, changed, outdated].map((id) => indexed(id)));
      for (let hour = 0; hour < 3; hour += 1) await shares();
      for (const kind of ['missing', 'orphaned', 'superseded', 'other_model', 'unretrievable'] as const)
        expect(await world.found(kind)).toEqual([]);
    },
  );

  it(
    'reports a changed embedding model, and that all stored vectors are from the previous model',
    patient,
    async () => {
      const ids = Array.from({ length: 40 }, (_, place) => `doc-${place}`);
      const { store } = await fill(ids.map((id) => indexed(id)));
      let model = 0;
      const embedder = {
        identity: 'hosted model',
        embed: async (texts: readonly string[]) => ({
          kind: 'vectors' as const,
          vectors: texts.map((text) => vectorOf(text, model)),
          latencyMs: 1,
        }),
      };
      const world = indexWorld(database, store, { pipeline: 'canary', embedder });
      world.lines = ids.map((id) => ({ id, hash: 'v1', updated_at: '2025-03-01T00:00:00Z' }));
      const probe = async () => {
        await probeEmbedder(world.deps, 'canary', embedder, never);
        await world.round(2 * HOUR_MS);
        return {
          canary: (await world.value('embedding_canary_median'))?.value,
          foreign: (await world.value('index_other_model_ratio'))?.value,
        };
      };
      expect(await probe()).toEqual({ canary: expect.closeTo(1, 6) as number, foreign: 0 });
      model = 7;
      const { canary, foreign } = await probe();
      expect(canary).toBeLessThan(0.9);
      expect(await world.value('embedding_canary_median')).toMatchObject({ n: canaryTexts.length });
      expect(foreign).toBe(1);
      expect(await world.deps.db.live.deployments.list({ pipeline: 'canary', limit: 10 })).toMatchObject([
        { kind: 'embedder', changes: [{ trait: 'canary', before: 'steady', after: 'moved' }] },
      ]);
    },
  );

  it(
    'measures how many vectors the store lost, how its content shifted, and whether its index finds the remaining ones',
    patient,
    async () => {
      const shape = { count: 120, dimensions: DIMENSIONS, topics: 4 };
      const documents = topicByTopic(shape);
      const copies = documents.map((document) => ({ ...document, id: `${document.id}-copy` }));
      const { index, store } = await fill([...documents, ...copies]);
      const clock = new SteerableClock();
      const db = createDb(database.pool);
      const context = contextOf({ db, clock, logger: silentLogger, compute: computeOfCommands });
      const pipeline = aWatchedPipeline({ name: 'snapshots', store });
      const traffic = createLiveTraffic(database.pool, 'a');
      await traffic.createPartitions(NOON);
      const searched = aWatchedPipeline({ name: 'searched', store });
      const queries = queriesLike(shape, 20);
      const samples = [
        ...queries.map((embedding, place) => aLiveSample({ pipeline: pipeline.name, id: `q${place}`, embedding })),
        // Queries are sampled at random; a store without exact search gets only the first query.
        ...queries
          .slice(0, exactSearch ? 20 : 1)
          .map((embedding, place) => aLiveSample({ pipeline: searched.name, id: `q${place}`, embedding })),
      ];
      await traffic.record({ samples, counts: [], levels: [] });
      const probe = async () => {
        await clock.advance(6 * HOUR_MS);
        await probeStore(context, pipeline.name, store, never);
        await snapshotStore(context, pipeline.name, store, never);
        await measureAnnRecall(context, searched, never);
        const names = new Set([pipeline.name, searched.name]);
        const own = (await db.measurements.latest(clock.now())).filter((one) => names.has(one.pipeline));
        return Object.fromEntries(own.map(({ measure, newest, gap }) => [measure, gap?.reason ?? newest?.value]));
      };
      const recall = exactSearch ? (expect.closeTo(1, 1) as number) : 'unsupported';
      expect(await probe()).toMatchObject({
        store_vectors: 240,
        store_sample_vectors: 240,
        store_duplicates_ratio: 1,
        store_query_divergence: expect.any(Number) as number,
        ann_recall: recall,
      });
      const left = documents.filter(({ fields }) => fields.topic !== 'topic-0');
      await index.remove(
        [...documents, ...copies].map(({ id }) => id).filter((id) => !left.some((one) => one.id === id)),
      );
      const [before, after] = [documents, left].map((some) =>
        takeStoreSnapshot(matrixOf(some.map((one) => one.vector)), 1),
      );
      if (before == null || after == null) throw new Error('the documents have no direction');
      expect(await probe()).toMatchObject({
        store_vectors: 90,
        store_sample_vectors: 90,
        store_duplicates_ratio: 0,
        store_centroid_shift: expect.closeTo(storeShift(before, after)?.centroidCosineDistance ?? NaN, 5) as number,
        ann_recall: recall,
      });
      // The loss of documents is not recorded as a deployment.
      expect(await db.live.deployments.list({ pipeline: pipeline.name, limit: 10 })).toEqual([]);
    },
  );

  describeExplain(database, fill, retriever);
}

const old = { topic: 'a', language: 'v0' };

/** Returns a document for an `IndexWorld`, with its version in the field `language`. */
function indexed(id: string, content = textOf(id)): VectorDocument {
  return { id, vector: vectorOf(content), content, fields: { topic: 'a', language: 'v1' } };
}

/** Returns an `IndexWorld` whose rounds check every document. */
function indexWorld({ pool }: UsedDatabase, store: VectorStore, plan: Partial<IndexPlan> = {}): IndexWorld {
  const world = new IndexWorld(pool, { store, probe: 200, embed: 200, ...plan });
  const { embedder } = world.plan;
  world.plan = {
    ...world.plan,
    retriever: openRetriever({ kind: 'vector_store', timeout_ms: 60_000 }, { embedder, store }),
  };
  return world;
}

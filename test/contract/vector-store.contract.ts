/**
 * Requirements for every vector store; see the docstrings of the port. A test file tells the suite how to create an
 * index, and calls describeVectorStore. The suite runs twice if `RECALLD_TEST_<STORE>_URL` is set: on the local store,
 * and on the live store at that address. In the live store, it creates and drops indexes named `recalld_test_...`.
 */
import { afterAll, afterEach, beforeAll } from 'vitest';
import { topicByTopic } from '../support/vector-documents.ts';
import type { Bench, LargeIndex, StoreAbilities, StoreService, TestIndex } from './vector-store-bench.ts';
import { describeContent } from './vector-store-content.contract.ts';
import { describeDescription } from './vector-store-description.contract.ts';
import { describeOutage } from './vector-store-outage.contract.ts';
import { describeSample } from './vector-store-sample.contract.ts';
import { describeSearch } from './vector-store-search.contract.ts';
import { describeStoreTests } from './vector-store-tests.contract.ts';

export function describeVectorStore(abilities: StoreAbilities, start: () => Promise<StoreService>): void {
  let service: StoreService | undefined;
  const indexes: TestIndex[] = [];
  const cleanups: (() => Promise<void>)[] = [];
  const running = (): StoreService => {
    if (service === undefined) throw new Error('the store has not been started');
    return service;
  };

  beforeAll(async () => {
    service = await start();
  });
  afterEach(async () => {
    for (const clean of cleanups.splice(0).toReversed()) await clean();
  });
  afterAll(async () => {
    for (const index of indexes) await index.drop();
    await service?.stop();
  });

  let large: Promise<LargeIndex> | undefined;
  const fillLarge = async (): Promise<LargeIndex> => {
    const shape = { count: abilities.manyDocuments, dimensions: 64, topics: 40, seed: 2 };
    const documents = topicByTopic(shape);
    return { index: await bench.makeIndex(documents, shape.dimensions), documents, shape };
  };

  const bench: Bench = {
    abilities,
    large: () => (large ??= fillLarge()),
    async makeIndex(documents, dimensions, metric = abilities.metrics[0]) {
      const index = await running().createIndex({ metric, dimensions });
      indexes.push(index);
      await index.add(documents);
      return index;
    },
    open(index, access = {}) {
      const store = index.open({ url: running().url, timeoutMs: 20_000, retries: 0, ...access });
      cleanups.push(() => store.close());
      return store;
    },
    async startOutage() {
      const outage = await running().startOutage();
      cleanups.push(() => outage.close());
      return outage;
    },
  };

  describeStoreTests(bench);
  describeSearch(bench);
  describeSample(bench);
  describeContent(bench);
  describeDescription(bench);
  describeOutage(bench);
}

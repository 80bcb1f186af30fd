/**
 * Runs the contract suite and the monitoring suite against vector stores in their newest versions, and the retriever
 * suite against search engines. RECALLD_TEST_RECORD=1 also replaces the recordings that `npm test` replays.
 */
import { existsSync } from 'node:fs';
import { describe } from 'vitest';
import { describeVectorStore } from '../../contract/vector-store.contract.ts';
import type { StoreService } from '../../contract/vector-store-bench.ts';
import { describeMonitoring } from './monitoring-suite.ts';
import { describeQdrantCollections } from './qdrant/collections-suite.ts';
import { type RealStore, realStores, recordingName } from './real-stores.ts';
import { recordSuite } from './record-suite.ts';
import { describeSearchEngineRetriever } from './retriever-suite.ts';

const here = realStores.filter(({ needs }) => needs === undefined || existsSync(needs));

/** Returns a function that starts a store; stopping the store also stops its server. */
function recordStore(name: string, store: RealStore): () => Promise<StoreService> {
  const start = recordSuite(name, store);
  return async () => {
    const running = await start();
    const service = await store.service(running.url);
    return {
      ...service,
      async stop() {
        await service.stop();
        await running.stop();
      },
    };
  };
}

describe.each(here)('$product $name', (store) => {
  describeVectorStore(store.abilities, recordStore(store.name, store));
});

describe.each(here)('monitoring of $product $name', (store) => {
  describeMonitoring(store.abilities, recordStore(recordingName(store.name, 'monitoring'), store), store.retriever);
});

describe.each(here.filter(({ retriever }) => retriever !== undefined))('the retriever of $product', (store) => {
  const start = recordSuite(recordingName(store.name, 'retriever'), store);
  if (store.retriever !== undefined) describeSearchEngineRetriever(store.retriever, start);
});

describe.each(here.filter(({ hasCollections }) => hasCollections))('collections of $product', (store) => {
  describeQdrantCollections(recordSuite(recordingName(store.name, 'collections'), store));
});

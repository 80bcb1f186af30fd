/**
 * Runs the contract suite against vector stores in their newest versions, and the suite of retrievers against search
 * engines. RECALLD_TEST_RECORD=1 also replaces the recordings that `npm test` replays.
 */
import { existsSync } from 'node:fs';
import { describe } from 'vitest';
import { describeVectorStore } from '../../contract/vector-store.contract.ts';
import { describeQdrantCollections } from './qdrant/collections-suite.ts';
import { collectionsRecording, realStores, retrieverRecording } from './real-stores.ts';
import { recordSuite } from './record-suite.ts';
import { describeSearchEngineRetriever } from './retriever-suite.ts';

const here = realStores.filter(({ needs }) => needs === undefined || existsSync(needs));

describe.each(here)('$product $name', (store) => {
  const start = recordSuite(store.name, store);
  describeVectorStore(store.abilities, async () => {
    const running = await start();
    const service = await store.service(running.url);
    return {
      ...service,
      async stop() {
        await service.stop();
        await running.stop();
      },
    };
  });
});

describe.each(here.filter(({ retriever }) => retriever !== undefined))('the retriever of $product', (store) => {
  const start = recordSuite(retrieverRecording(store.name), store);
  if (store.retriever !== undefined) describeSearchEngineRetriever(store.retriever, start);
});

describe.each(here.filter(({ hasCollections }) => hasCollections))('collections of $product', (store) => {
  describeQdrantCollections(recordSuite(collectionsRecording(store.name), store));
});

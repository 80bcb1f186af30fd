import { describe } from 'vitest';
import { describeVectorStore } from '../../../contract/vector-store.contract.ts';
import type { StoreService } from '../../../contract/vector-store-bench.ts';
import { startFakeWeaviate } from '../../../support/fake-weaviate.ts';
import { weaviateAbilities, weaviateService } from '../../../support/weaviate.ts';

const liveUrl = process.env['RECALLD_TEST_WEAVIATE_URL'];

const services: [string, number, () => Promise<StoreService>][] = [
  [
    'a stand-in with its API',
    2000,
    async () => {
      const server = await startFakeWeaviate();
      return weaviateService(server.url, undefined, () => server.close());
    },
  ],
];
if (liveUrl !== undefined) {
  services.push([
    'at RECALLD_TEST_WEAVIATE_URL',
    20_000,
    async () => weaviateService(liveUrl, process.env['RECALLD_TEST_WEAVIATE_API_KEY'], async () => undefined),
  ]);
}

describe.each(services)('Weaviate, %s', (_, manyDocuments, start) => {
  describeVectorStore({ ...weaviateAbilities, manyDocuments }, start);
});

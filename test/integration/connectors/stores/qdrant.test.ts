import { describe } from 'vitest';
import { describeVectorStore } from '../../../contract/vector-store.contract.ts';
import type { StoreService } from '../../../contract/vector-store-bench.ts';
import { startFakeQdrant } from '../../../support/fake-qdrant.ts';
import { qdrantAbilities, qdrantService } from '../../../support/qdrant.ts';

const liveUrl = process.env['RECALLD_TEST_QDRANT_URL'];

const services: [string, number, () => Promise<StoreService>][] = [
  [
    'a stand-in with its API',
    2000,
    async () => {
      const server = await startFakeQdrant();
      return qdrantService(server.url, undefined, () => server.close());
    },
  ],
];
if (liveUrl !== undefined) {
  services.push([
    'at RECALLD_TEST_QDRANT_URL',
    20_000,
    async () => qdrantService(liveUrl, process.env['RECALLD_TEST_QDRANT_API_KEY'], async () => undefined),
  ]);
}

describe.each(services)('Qdrant, %s', (_, manyDocuments, start) => {
  describeVectorStore({ ...qdrantAbilities, manyDocuments }, start);
});

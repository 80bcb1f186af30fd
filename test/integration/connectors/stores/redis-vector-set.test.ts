import { describe } from 'vitest';
import { describeVectorStore } from '../../../contract/vector-store.contract.ts';
import type { StoreService } from '../../../contract/vector-store-bench.ts';
import { startFakeVectorSets } from '../../../support/fake-vector-set.ts';
import { vectorSetAbilities, vectorSetService } from '../../../support/vector-sets.ts';

const liveUrl = process.env['RECALLD_TEST_REDIS_URL'];

const services = (['8.0', '8.4'] as const).map((version): [string, number, () => Promise<StoreService>] => [
  `a stand-in with the API of ${version}`,
  2000,
  async () => {
    const server = await startFakeVectorSets(version);
    return vectorSetService(server.url, () => server.close());
  },
]);
if (liveUrl !== undefined) {
  services.push(['at RECALLD_TEST_REDIS_URL', 20_000, async () => vectorSetService(liveUrl, async () => undefined)]);
}

describe.each(services)('a vector set of Redis, %s', (_, manyDocuments, start) => {
  describeVectorStore({ ...vectorSetAbilities, manyDocuments }, start);
});

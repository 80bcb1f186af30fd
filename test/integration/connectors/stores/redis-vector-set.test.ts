import { Redis } from 'ioredis';
import { describe } from 'vitest';
import { float32Bytes } from '../../../../src/connectors/stores/redis/connection.ts';
import { describeVectorStore } from '../../../contract/vector-store.contract.ts';
import type { StoreService } from '../../../contract/vector-store-bench.ts';
import { openStore } from '../../../support/connectors.ts';
import { startFakeVectorSets } from '../../../support/fake-vector-set.ts';
import { startTcpOutage } from '../../../support/outage.ts';

const abilities = {
  metrics: ['cosine'],
  exactSearch: true,
  seededSample: true,
  filterValues: 'plain',
} as const;
const liveUrl = process.env['RECALLD_TEST_REDIS_URL'];

function serviceAt(url: string, stop: () => Promise<void>): StoreService {
  const writer = new Redis(url, { protocol: 2, enableReadyCheck: false, disableClientInfo: true });
  let made = 0;
  return {
    url,
    async stop() {
      writer.disconnect();
      await stop();
    },
    startOutage: () => startTcpOutage(url),
    async createIndex() {
      made += 1;
      const key = `recalld_test_${process.pid}_${made}`;
      return {
        async add(documents) {
          await Promise.all(
            documents.map(({ id, vector, content, fields }) => {
              const attributes = JSON.stringify({ text: content, ...fields });
              return writer.call('VADD', key, 'FP32', float32Bytes(vector), id, 'SETATTR', attributes, 'NOQUANT');
            }),
          );
        },
        open: ({ url: address, timeoutMs }) =>
          openStore({
            kind: 'redis_vector_set',
            url: address,
            timeout_ms: timeoutMs,
            key,
            content: 'text',
            version: 'language',
          }),
        drop: async () => void (await writer.call('DEL', key)),
      };
    },
  };
}

const services = (['8.0', '8.4'] as const).map((version): [string, number, () => Promise<StoreService>] => [
  `a stand-in with the API of ${version}`,
  2000,
  async () => {
    const server = await startFakeVectorSets(version);
    return serviceAt(server.url, () => server.close());
  },
]);
if (liveUrl !== undefined) {
  services.push(['at RECALLD_TEST_REDIS_URL', 20_000, async () => serviceAt(liveUrl, async () => undefined)]);
}

describe.each(services)('a vector set of Redis, %s', (_, manyDocuments, start) => {
  describeVectorStore({ ...abilities, manyDocuments }, start);
});

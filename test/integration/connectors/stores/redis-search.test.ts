import { Redis } from 'ioredis';
import { describe } from 'vitest';
import { bytesOfVector } from '../../../../src/platform/postgres/values.ts';
import { describeVectorStore } from '../../../contract/vector-store.contract.ts';
import type { StoreService } from '../../../contract/vector-store-bench.ts';
import { openStore } from '../../../support/connectors.ts';
import { startFakeRedisSearch } from '../../../support/fake-redis-search.ts';
import { startTcpOutage } from '../../../support/outage.ts';

const abilities = { metrics: ['cosine', 'l2', 'dot'], exactSearch: true, seededSample: true } as const;
const distances = { cosine: 'COSINE', l2: 'L2', dot: 'IP' } as const;
const liveUrl = process.env['RECALLD_TEST_REDIS_SEARCH_URL'];

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
    async createIndex({ metric, dimensions }) {
      made += 1;
      const index = `recalld_test_${process.pid}_${made}`;
      const vector = ['TYPE', 'FLOAT32', 'DIM', dimensions, 'DISTANCE_METRIC', distances[metric]];
      const tag = ['TAG', 'SEPARATOR', '\u001f', 'CASESENSITIVE'];
      const schema = ['SCHEMA', 'topic', ...tag, 'language', ...tag, 'embedding', 'VECTOR', 'FLAT', vector.length];
      await writer.call('FT.CREATE', index, 'ON', 'HASH', 'PREFIX', 1, `${index}:`, ...schema, ...vector);
      return {
        async add(documents) {
          await Promise.all(
            documents.map(({ id, vector: numbers, content, fields: { topic, language } }) => {
              const fields = [
                'embedding',
                bytesOfVector(numbers),
                'text',
                content,
                'topic',
                topic,
                'language',
                language,
              ];
              return writer.call('HSET', `${index}:${id}`, ...fields);
            }),
          );
        },
        open: ({ url: address, timeoutMs }) =>
          openStore({
            kind: 'redis_search',
            url: address,
            timeout_ms: timeoutMs,
            index,
            embedding: 'embedding',
            content: 'text',
            version: 'language',
          }),
        drop: async () => void (await writer.call('FT.DROPINDEX', index, 'DD')),
      };
    },
  };
}

const services: [string, number, () => Promise<StoreService>][] = [
  [
    'a stand-in with its API',
    2000,
    async () => {
      const server = await startFakeRedisSearch();
      return serviceAt(server.url, () => server.close());
    },
  ],
];
if (liveUrl !== undefined) {
  services.push(['at RECALLD_TEST_REDIS_SEARCH_URL', 20_000, async () => serviceAt(liveUrl, async () => undefined)]);
}

describe.each(services)('an index of Redis, %s', (_, manyDocuments, start) => {
  describeVectorStore({ ...abilities, manyDocuments }, start);
});

/** Creates and fills vector sets for tests, in Redis or in a stand-in for Redis. */
import { Redis } from 'ioredis';
import { bytesOfVector } from '../../src/platform/postgres/values.ts';
import type { StoreService } from '../contract/vector-store-bench.ts';
import { openStore } from './connectors.ts';
import { startTcpOutage } from './outage.ts';

export const vectorSetAbilities = {
  metrics: ['cosine'],
  exactSearch: true,
  seededSample: true,
  filterValues: 'plain',
  oneChunk: true,
} as const;

export function vectorSetService(url: string, stop: () => Promise<void>): StoreService {
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
              return writer.call('VADD', key, 'FP32', bytesOfVector(vector), id, 'SETATTR', attributes, 'NOQUANT');
            }),
          );
        },
        async remove(ids) {
          await Promise.all(ids.map((id) => writer.call('VREM', key, id)));
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

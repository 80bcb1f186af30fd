/** Fills collections for tests, in Weaviate or in a stand-in for Weaviate. */
import type { StoreService } from '../contract/vector-store-bench.ts';
import { httpService, openStore } from './connectors.ts';
import { prepare } from './fake-vector-index.ts';
import { startHttpOutage } from './outage.ts';

export const weaviateAbilities = { metrics: ['cosine', 'l2', 'dot'], exactSearch: true, seededSample: true } as const;
const distances = { cosine: 'cosine', l2: 'l2-squared', dot: 'dot' } as const;

export function weaviateService(url: string, key: string | undefined, stop: () => Promise<void>): StoreService {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  let made = 0;
  return {
    url,
    stop,
    startOutage: () => startHttpOutage(url),
    async createIndex({ metric }) {
      made += 1;
      const collection = `Recalld_test_${process.pid}_${made}`;
      const properties = ['doc_id', 'text', 'topic', 'language'].map((name) => {
        return { name, dataType: ['text'], tokenization: 'field' };
      });
      const vectorIndexConfig = { distance: distances[metric] };
      const schema = {
        class: collection,
        vectorizer: 'none',
        vectorIndexType: 'flat',
        vectorIndexConfig,
        properties,
      };
      await prepare(url, 'POST', '/v1/schema', schema, headers);
      let written = 0;
      return {
        async add(documents) {
          for (let start = 0; start < documents.length; start += 500) {
            const objects = documents.slice(start, start + 500).map(({ id, vector, content, fields }) => {
              written += 1;
              const uuid = `10000000-0000-4000-8000-${String(written).padStart(12, '0')}`;
              const own = { doc_id: id, text: content, ...fields };
              return { class: collection, id: uuid, vector: [...vector], properties: own };
            });
            await prepare(url, 'POST', '/v1/batch/objects', { objects }, headers);
          }
        },
        async remove(ids) {
          const where = { path: ['doc_id'], operator: 'ContainsAny', valueTextArray: ids };
          await prepare(url, 'DELETE', '/v1/batch/objects', { match: { class: collection, where } }, headers);
        },
        open: (access) =>
          openStore({
            kind: 'weaviate',
            ...httpService(access, headers),
            collection,
            id: 'doc_id',
            content: 'text',
            version: 'language',
          }),
        drop: async () => void (await prepare(url, 'DELETE', `/v1/schema/${collection}`, undefined, headers)),
      };
    },
  };
}

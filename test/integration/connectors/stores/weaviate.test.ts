import { describe } from 'vitest';
import { describeVectorStore } from '../../../contract/vector-store.contract.ts';
import type { StoreService } from '../../../contract/vector-store-bench.ts';
import { httpService, openStore } from '../../../support/connectors.ts';
import { prepare } from '../../../support/fake-vector-index.ts';
import { startFakeWeaviate } from '../../../support/fake-weaviate.ts';
import { startHttpOutage } from '../../../support/outage.ts';

const abilities = { metrics: ['cosine', 'l2', 'dot'], exactSearch: true, seededSample: true } as const;
const distances = { cosine: 'cosine', l2: 'l2-squared', dot: 'dot' } as const;
const liveUrl = process.env['RECALLD_TEST_WEAVIATE_URL'];

function serviceAt(url: string, key: string | undefined, stop: () => Promise<void>): StoreService {
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

const services: [string, number, () => Promise<StoreService>][] = [
  [
    'a stand-in with its API',
    2000,
    async () => {
      const server = await startFakeWeaviate();
      return serviceAt(server.url, undefined, () => server.close());
    },
  ],
];
if (liveUrl !== undefined) {
  services.push([
    'at RECALLD_TEST_WEAVIATE_URL',
    20_000,
    async () => serviceAt(liveUrl, process.env['RECALLD_TEST_WEAVIATE_API_KEY'], async () => undefined),
  ]);
}

describe.each(services)('Weaviate, %s', (_, manyDocuments, start) => {
  describeVectorStore({ ...abilities, manyDocuments }, start);
});

import { describe } from 'vitest';
import { describeVectorStore } from '../../../contract/vector-store.contract.ts';
import type { StoreService } from '../../../contract/vector-store-bench.ts';
import { httpService, openStore } from '../../../support/connectors.ts';
import { startFakeQdrant } from '../../../support/fake-qdrant.ts';
import { prepare } from '../../../support/fake-vector-index.ts';
import { startHttpOutage } from '../../../support/outage.ts';

const abilities = {
  metrics: ['cosine', 'l2', 'dot'],
  exactSearch: true,
  seededSample: false,
} as const;
const distances = { cosine: 'Cosine', l2: 'Euclid', dot: 'Dot' } as const;
const liveUrl = process.env['RECALLD_TEST_QDRANT_URL'];

function serviceAt(url: string, key: string | undefined, stop: () => Promise<void>): StoreService {
  const headers = key === undefined ? {} : { 'api-key': key };
  let made = 0;
  return {
    url,
    stop,
    startOutage: () => startHttpOutage(url),
    async createIndex({ metric, dimensions }) {
      made += 1;
      const collection = `recalld_test_${process.pid}_${made}`;
      const path = `/collections/${collection}`;
      const vectors = { size: dimensions, distance: distances[metric] };
      await prepare(url, 'PUT', path, { vectors }, headers);
      let points = 0;
      return {
        async add(documents) {
          for (let start = 0; start < documents.length; start += 500) {
            const batch = documents.slice(start, start + 500).map(({ id, vector, content, fields }) => {
              points += 1;
              const point = `00000000-0000-4000-8000-${String(points).padStart(12, '0')}`;
              return { id: point, vector: [...vector], payload: { doc_id: id, text: content, ...fields } };
            });
            await prepare(url, 'PUT', `${path}/points?wait=true`, { points: batch }, headers);
          }
        },
        open: (access) =>
          openStore({
            kind: 'qdrant',
            ...httpService(access, headers),
            collection,
            id: 'doc_id',
            content: 'text',
            version: 'language',
          }),
        drop: async () => void (await prepare(url, 'DELETE', path, undefined, headers)),
      };
    },
  };
}

const services: [string, number, () => Promise<StoreService>][] = [
  [
    'a stand-in with its API',
    2000,
    async () => {
      const server = await startFakeQdrant();
      return serviceAt(server.url, undefined, () => server.close());
    },
  ],
];
if (liveUrl !== undefined) {
  services.push([
    'at RECALLD_TEST_QDRANT_URL',
    20_000,
    async () => serviceAt(liveUrl, process.env['RECALLD_TEST_QDRANT_API_KEY'], async () => undefined),
  ]);
}

describe.each(services)('Qdrant, %s', (_, manyDocuments, start) => {
  describeVectorStore({ ...abilities, manyDocuments }, start);
});

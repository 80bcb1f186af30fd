/** Creates and fills collections for tests in Qdrant, or in a stand-in for Qdrant. */
import type { StoreService } from '../contract/vector-store-bench.ts';
import { httpService, openStore } from './connectors.ts';
import { prepare } from './fake-vector-index.ts';
import { startHttpOutage } from './outage.ts';

export const qdrantAbilities = { metrics: ['cosine', 'l2', 'dot'], exactSearch: true, seededSample: false } as const;
const distances = { cosine: 'Cosine', l2: 'Euclid', dot: 'Dot' } as const;

export function qdrantService(url: string, key: string | undefined, stop: () => Promise<void>): StoreService {
  const headers: Record<string, string> = key === undefined ? {} : { 'api-key': key };
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
      let edges = 16;
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
        async remove(ids) {
          const filter = { must: [{ key: 'doc_id', match: { any: ids } }] };
          await prepare(url, 'POST', `${path}/points/delete?wait=true`, { filter }, headers);
        },
        async rebuild() {
          edges += 1;
          await prepare(url, 'PATCH', path, { hnsw_config: { m: edges } }, headers);
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

/** Creates and fills indexes for tests, in Elasticsearch, in OpenSearch, or in a stand-in for either. */
import type { StoreService } from '../contract/vector-store-bench.ts';
import { httpService, openStore } from './connectors.ts';
import { prepare } from './fake-vector-index.ts';
import { startHttpOutage } from './outage.ts';

export const searchEngineAbilities = {
  metrics: ['cosine', 'l2', 'dot'],
  exactSearch: true,
  seededSample: true,
} as const;

export const searchEngines = {
  elasticsearch: {
    name: 'Elasticsearch',
    vector: (metric: keyof typeof similarities, dims: number) => ({
      type: 'dense_vector',
      dims,
      similarity: similarities[metric],
      // By default, the index quantizes vectors: scores are off by up to 0.07, and the order of neighbors changes.
      index_options: { type: 'hnsw' },
    }),
    settings: {},
  },
  opensearch: {
    name: 'OpenSearch',
    vector: (metric: keyof typeof spaces, dimension: number) => ({
      type: 'knn_vector',
      dimension,
      space_type: spaces[metric],
      method: { name: 'hnsw', engine: 'lucene' },
    }),
    settings: { index: { knn: true } },
  },
} as const;
const similarities = { cosine: 'cosine', l2: 'l2_norm', dot: 'max_inner_product' } as const;
const spaces = { cosine: 'cosinesimil', l2: 'l2', dot: 'innerproduct' } as const;

export function searchEngineService(
  kind: keyof typeof searchEngines,
  address: string,
  stop: () => Promise<void>,
): StoreService {
  const { vector, settings } = searchEngines[kind];
  const { origin, username, password } = new URL(address);
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const headers: Record<string, string> =
    username === '' ? {} : { authorization: `Basic ${Buffer.from(login).toString('base64')}` };
  let made = 0;
  return {
    url: origin,
    stop,
    startOutage: () => startHttpOutage(origin),
    async createIndex({ metric, dimensions }) {
      made += 1;
      const index = `recalld_test_${process.pid}_${made}`;
      const keyword = { type: 'keyword' };
      const properties = {
        embedding: vector(metric, dimensions),
        doc_id: keyword,
        topic: keyword,
        language: keyword,
        text: { type: 'text' },
      };
      await prepare(origin, 'PUT', `/${index}`, { settings, mappings: { properties } }, headers);
      /** Document of each chunk. */
      const written: string[] = [];
      const write = (lines: readonly object[]) => {
        const ndjson = { ...headers, 'content-type': 'application/x-ndjson' };
        const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
        return prepare(origin, 'POST', `/${index}/_bulk?refresh=true`, body, ndjson);
      };
      return {
        name: index,
        async add(documents) {
          for (let start = 0; start < documents.length; start += 500) {
            const lines = documents.slice(start, start + 500).flatMap(({ id, vector: embedding, content, fields }) => {
              const source = { embedding: [...embedding], doc_id: id, text: content, ...fields };
              return [{ index: { _id: `chunk-${written.push(id)}` } }, source];
            });
            await write(lines);
          }
        },
        async remove(ids) {
          const chunks = written.flatMap((id, place) => (ids.includes(id) ? [`chunk-${place + 1}`] : []));
          await write(chunks.map((_id) => ({ delete: { _id } })));
        },
        open: (access) =>
          openStore({
            kind,
            ...httpService(access, headers),
            index,
            embedding: 'embedding',
            id: 'doc_id',
            content: 'text',
            version: 'language',
          }),
        drop: async () => void (await prepare(origin, 'DELETE', `/${index}`, undefined, headers)),
      };
    },
  };
}

import { describe } from 'vitest';
import { describeVectorStore } from '../../../contract/vector-store.contract.ts';
import type { StoreService } from '../../../contract/vector-store-bench.ts';
import { httpService, openStore } from '../../../support/connectors.ts';
import { startFakePinecone } from '../../../support/fake-pinecone.ts';
import { prepare } from '../../../support/fake-vector-index.ts';
import { startHttpOutage } from '../../../support/outage.ts';

const metrics = { cosine: 'cosine', l2: 'euclidean', dot: 'dotproduct' } as const;

function serviceAt(url: string, stop: () => Promise<void>): StoreService {
  let made = 0;
  return {
    url,
    stop,
    startOutage: () => startHttpOutage(url),
    async createIndex({ metric, dimensions }) {
      made += 1;
      const path = `/index-${made}`;
      await prepare(url, 'PUT', path, { metric: metrics[metric], dimension: dimensions });
      return {
        async add(documents) {
          const vectors = documents.map(({ id, vector, content, fields }) => {
            return { id, values: [...vector], metadata: { text: content, ...fields } };
          });
          await prepare(url, 'POST', `${path}/vectors/upsert`, { vectors });
        },
        open: (access) =>
          openStore({
            kind: 'pinecone',
            ...httpService({ ...access, url: `${access.url}${path}` }),
            namespace: '',
            content: 'text',
            version: 'language',
          }),
        drop: async () => undefined,
      };
    },
  };
}

// In the real service, each index has a separate host, and vectors become visible seconds after a write, so the suite
// uses only the stand-in.
describe('Pinecone, a stand-in with its API', () => {
  const abilities = { metrics: ['cosine', 'l2', 'dot'], exactSearch: false, seededSample: true } as const;
  describeVectorStore({ ...abilities, manyDocuments: 2000 }, async () => {
    const server = await startFakePinecone();
    return serviceAt(server.url, () => server.close());
  });
});

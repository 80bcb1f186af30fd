import { describe } from 'vitest';
import { describeVectorStore } from '../../../contract/vector-store.contract.ts';
import type { StoreService } from '../../../contract/vector-store-bench.ts';
import { httpService, openStore } from '../../../support/connectors.ts';
import { startFakeMilvus } from '../../../support/fake-milvus.ts';
import { prepare } from '../../../support/fake-vector-index.ts';
import { startHttpOutage } from '../../../support/outage.ts';

const abilities = { metrics: ['cosine', 'l2', 'dot'], exactSearch: true, seededSample: true, lists: false } as const;
const metrics = { cosine: 'COSINE', l2: 'L2', dot: 'IP' } as const;
const liveUrl = process.env['RECALLD_TEST_MILVUS_URL'];

function serviceAt(url: string, token: string | undefined, stop: () => Promise<void>): StoreService {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const send = (action: string, body: object) => prepare(url, 'POST', `/v2/vectordb${action}`, body, headers);
  let made = 0;
  return {
    url,
    stop,
    startOutage: () => startHttpOutage(url),
    async createIndex({ metric, dimensions }) {
      made += 1;
      const collectionName = `recalld_test_${process.pid}_${made}`;
      const text = (fieldName: string) => ({
        fieldName,
        dataType: 'VarChar',
        elementTypeParams: { max_length: '1000' },
      });
      const vector = {
        fieldName: 'embedding',
        dataType: 'FloatVector',
        elementTypeParams: { dim: String(dimensions) },
      };
      const fields = [{ ...text('doc_id'), isPrimary: true }, vector, text('text'), text('topic'), text('language')];
      const indexParams = [
        { fieldName: 'embedding', indexName: 'embedding', metricType: metrics[metric], indexType: 'FLAT' },
      ];
      const params = { consistencyLevel: 'Strong' };
      await send('/collections/create', { collectionName, schema: { fields }, indexParams, params });
      return {
        async add(documents) {
          for (let start = 0; start < documents.length; start += 500) {
            const data = documents.slice(start, start + 500).map(({ id, vector: embedding, content, fields: own }) => {
              return { doc_id: id, embedding: [...embedding], text: content, ...own };
            });
            await send('/entities/upsert', { collectionName, data });
          }
        },
        open: (access) =>
          openStore({
            kind: 'milvus',
            ...httpService(access, headers),
            collection: collectionName,
            embedding: 'embedding',
            id: 'doc_id',
            content: 'text',
            version: 'language',
          }),
        drop: async () => void (await send('/collections/drop', { collectionName })),
      };
    },
  };
}

const services: [string, number, () => Promise<StoreService>][] = [
  [
    'a stand-in with its API',
    2000,
    async () => {
      const server = await startFakeMilvus();
      return serviceAt(server.url, undefined, () => server.close());
    },
  ],
];
if (liveUrl !== undefined) {
  services.push([
    'at RECALLD_TEST_MILVUS_URL',
    20_000,
    async () => serviceAt(liveUrl, process.env['RECALLD_TEST_MILVUS_TOKEN'], async () => undefined),
  ]);
}

describe.each(services)('Milvus, %s', (_, manyDocuments, start) => {
  describeVectorStore({ ...abilities, manyDocuments }, start);
});

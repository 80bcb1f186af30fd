/**
 * The vendor's own client verifies both sides of each contract. The client fills and queries the stand-in, which must
 * respond in a form that the client can read. For each call, our adapter must send the same requests as the client; the
 * client's types check the arguments of the client's call. A wrong stand-in and a wrong adapter therefore both fail.
 */
import { Client as Elasticsearch } from '@elastic/elasticsearch';
import { Client as OpenSearch } from '@opensearch-project/opensearch';
import { Pinecone } from '@pinecone-database/pinecone';
import { QdrantClient } from '@qdrant/js-client-rest';
import { HttpClient as Milvus } from '@zilliz/milvus2-sdk-node';
import { parse, print, visit } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { weaviateV2 } from 'weaviate-client';
import type { VectorStore } from '../../../../src/connectors/stores/vector-store.ts';
import { never, valueOf } from '../../../contract/vector-store-bench.ts';
import { httpService, openStore } from '../../../support/connectors.ts';
import { startFakeMilvus } from '../../../support/fake-milvus.ts';
import { startFakePinecone } from '../../../support/fake-pinecone.ts';
import { startFakeQdrant } from '../../../support/fake-qdrant.ts';
import { startFakeSearchEngine } from '../../../support/fake-search-engine.ts';
import { prepare } from '../../../support/fake-vector-index.ts';
import { startFakeWeaviate } from '../../../support/fake-weaviate.ts';
import type { FaultServer } from '../../../support/fault-server.ts';
import { topicByTopic } from '../../../support/vector-documents.ts';
import { onTheWire, type WireRequest } from '../../../support/wire.ts';

const documents = topicByTopic({ count: 24, dimensions: 8, topics: 3 });
const [first, second] = documents;
if (first === undefined || second === undefined) throw new Error('there are no documents');
const vector = [...first.vector];
const ids = [first.id, second.id];
const uuid = (place: number) => `00000000-0000-4000-8000-${String(place).padStart(12, '0')}`;
const rows = documents.map(({ id, vector: numbers, content, fields }, place) => ({
  uuid: uuid(place),
  numbers: [...numbers],
  fields: { doc_id: id, text: content, ...fields },
}));
const three = { vector: first.vector, k: 3, withContent: true } as const;
const sampleRequest = { n: 24, seed: 1, withContent: false } as const;

/**
 * Calls of the store and of the client that must send the same requests; the client's call receives the store's
 * requests.
 */
type Pair = readonly [
  name: string,
  ours: () => Promise<unknown>,
  theirs: (sent: readonly WireRequest[]) => Promise<unknown>,
];

/** Defines one test per pair. `same` normalizes requests before they are compared. */
function itSendsTheRequestsOfTheClient(
  server: () => FaultServer,
  pairs: readonly Pair[],
  same: (request: WireRequest) => unknown = (request) => request,
): void {
  it.each(pairs)('sends the same requests as the client for %s', async (_, ours, theirs) => {
    const asked = await onTheWire(server(), ours);
    const client = await onTheWire(server(), () => theirs(asked.sent));
    expect(client.sent.length).toBeGreaterThan(0);
    for (const request of client.sent) expect(asked.sent.map(same)).toContainEqual(same(request));
  });
}

const idsOf = async (store: VectorStore) =>
  valueOf(await store.nearest({ ...three, filter: { topic: 'topic-0' }, exact: false }, never)).neighbours.map(
    ({ id }) => id,
  );
/** Returns the ids in the store's requests, so that the client can request the same ids. */
const listedIn = (sent: readonly WireRequest[], read: (body: never) => readonly string[] | undefined) =>
  sent.flatMap(({ body }) => read(body as never) ?? []);

const cleanups: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const clean of cleanups.toReversed()) await clean();
});
async function started(start: () => Promise<FaultServer>): Promise<FaultServer> {
  const server = await start();
  cleanups.push(() => server.close());
  return server;
}
function kept<Store extends VectorStore>(store: Store): Store {
  cleanups.push(() => store.close());
  return store;
}

describe('the Qdrant store, checked against @qdrant/js-client-rest,', () => {
  let server: FaultServer;
  let client: QdrantClient;
  let store: VectorStore;
  const filter = { must: [{ key: 'doc_id', match: { any: ids } }] };
  const plain = { with_vector: false, with_payload: ['doc_id'] };

  beforeAll(async () => {
    server = await started(startFakeQdrant);
    client = new QdrantClient({ url: server.url, checkCompatibility: false });
    await client.createCollection('chunks', { vectors: { size: 8, distance: 'Cosine' } });
    const points = rows.map((row) => ({ id: row.uuid, vector: row.numbers, payload: row.fields }));
    await client.upsert('chunks', { wait: true, points });
    const keys = { collection: 'chunks', id: 'doc_id', content: 'text', version: 'language' };
    store = kept(openStore({ kind: 'qdrant', ...keys, ...httpService({ url: server.url }) }));
  });

  it('returns the same neighbors as the client', async () => {
    const found = await client.query('chunks', {
      query: vector,
      filter: { must: [{ key: 'topic', match: { value: 'topic-0' } }] },
      limit: 3,
      with_payload: true,
    });
    expect(found.points.map(({ payload }) => payload?.['doc_id'])).toEqual(await idsOf(store));
  });

  itSendsTheRequestsOfTheClient(
    () => server,
    [
      [
        'a search',
        () => store.nearest({ ...three, filter: { topic: 'topic-0' }, exact: true }, never),
        () =>
          client.query('chunks', {
            query: vector,
            filter: { must: [{ key: 'topic', match: { value: 'topic-0' } }] },
            params: { exact: true },
            limit: 3,
            with_payload: ['doc_id', 'text'],
            with_vector: false,
          }),
      ],
      [
        'a sample',
        () => store.sample(sampleRequest, never),
        async (sent) => {
          const none = { with_payload: false, with_vector: false };
          await client.query('chunks', { query: { sample: 'random' }, limit: 24, ...none });
          const drawn = listedIn(sent, (body: { ids?: string[] }) => body?.ids);
          await client.retrieve('chunks', { ids: drawn, with_payload: ['doc_id'], with_vector: [''] });
        },
      ],
      ['a description', () => store.describe(never), () => client.getCollection('chunks')],
      ['the aliases', () => store.describe(never), () => client.getAliases()],
      [
        'a check of ids',
        () => store.existing(ids, never),
        () => client.scroll('chunks', { filter, limit: 1000, ...plain }),
      ],
      ['a list of ids', () => store.list(null, never), () => client.scroll('chunks', { limit: 1000, ...plain })],
      [
        'the chunks of documents',
        () => store.chunks(ids, never),
        () =>
          client.scroll('chunks', {
            filter,
            limit: 2000,
            with_payload: ['doc_id', 'text', 'language'],
            with_vector: false,
          }),
      ],
    ],
  );
});

describe('the Elasticsearch store, checked against @elastic/elasticsearch,', () => {
  let server: FaultServer;
  let client: Elasticsearch;
  let store: VectorStore;
  const index = 'chunks';
  const whole = { allow_partial_search_results: false } as const;

  beforeAll(async () => {
    server = await started(() => startFakeSearchEngine('elasticsearch'));
    client = new Elasticsearch({ node: server.url });
    cleanups.push(() => client.close());
    await client.indices.create({
      index,
      mappings: {
        properties: {
          embedding: { type: 'dense_vector', dims: 8, similarity: 'cosine' },
          doc_id: { type: 'keyword' },
          topic: { type: 'keyword' },
        },
      },
    });
    const operations = rows.flatMap((row) => [{ index: { _id: row.uuid } }, { embedding: row.numbers, ...row.fields }]);
    await client.bulk({ index, operations });
    const fields = { index, embedding: 'embedding', id: 'doc_id', content: 'text', version: 'language' };
    store = kept(openStore({ kind: 'elasticsearch', ...fields, ...httpService({ url: server.url }) }));
  });

  it('returns the same neighbors as the client', async () => {
    const found = await client.search<{ doc_id: string }>({
      index,
      knn: {
        field: 'embedding',
        query_vector: vector,
        k: 3,
        num_candidates: 100,
        filter: [{ term: { topic: 'topic-0' } }],
      },
      size: 3,
      _source: { includes: ['doc_id'] },
    });
    expect(found.hits.hits.map(({ _source }) => _source?.doc_id)).toEqual(await idsOf(store));
  });

  itSendsTheRequestsOfTheClient(
    () => server,
    [
      [
        'a search',
        () => store.nearest({ ...three, filter: { topic: 'topic-0' }, exact: false }, never),
        () =>
          client.search({
            index,
            ...whole,
            size: 3,
            knn: {
              field: 'embedding',
              query_vector: vector,
              k: 3,
              num_candidates: 100,
              filter: [{ term: { topic: 'topic-0' } }],
            },
            _source: { includes: ['doc_id', 'text'] },
          }),
      ],
      [
        'an exact search',
        () => store.nearest({ ...three, filter: {}, exact: true }, never),
        () =>
          client.search({
            index,
            ...whole,
            size: 3,
            query: {
              script_score: {
                query: { bool: { filter: [{ exists: { field: 'embedding' } }] } },
                script: {
                  source: "Math.max(0.0, (1.0 + cosineSimilarity(params.query_vector, 'embedding')) / 2.0)",
                  params: { query_vector: vector },
                },
              },
            },
            _source: { includes: ['doc_id', 'text'] },
          }),
      ],
      [
        'a sample',
        () => store.sample(sampleRequest, never),
        async (sent) => {
          await client.search({
            index,
            ...whole,
            size: 24,
            query: {
              function_score: {
                query: { exists: { field: 'embedding' } },
                functions: [{ random_score: { seed: 1, field: '_seq_no' } }],
                boost_mode: 'replace',
              },
            },
            _source: false,
          });
          const values = listedIn(sent, (body: { query?: { ids?: { values: string[] } } }) => body?.query?.ids?.values);
          await client.search({
            index,
            ...whole,
            size: 24,
            query: { ids: { values } },
            _source: { includes: ['doc_id'] },
            fields: ['embedding'],
          });
        },
      ],
      ['the mapping', () => store.describe(never), () => client.indices.getMapping({ index })],
      ['the settings', () => store.describe(never), () => client.indices.getSettings({ index, flat_settings: true })],
      [
        'a count',
        () => store.describe(never),
        () => client.count({ index, query: { exists: { field: 'embedding' } } }),
      ],
      ['the version', () => store.describe(never), () => client.info()],
      [
        'a check of ids',
        () => store.existing(ids, never),
        () =>
          client.search({
            index,
            ...whole,
            size: 0,
            query: { terms: { doc_id: ids } },
            aggs: { ids: { terms: { field: 'doc_id', include: ids, size: 2 } } },
          }),
      ],
      [
        'a list of ids',
        () => store.list('doc-00003', never),
        () =>
          client.search({
            index,
            ...whole,
            size: 0,
            query: { exists: { field: 'embedding' } },
            aggs: {
              ids: {
                composite: {
                  size: 1000,
                  sources: [{ id: { terms: { field: 'doc_id' } } }],
                  after: { id: 'doc-00003' },
                },
              },
            },
          }),
      ],
      [
        'the chunks of documents',
        () => store.chunks(ids, never),
        () =>
          client.search({
            index,
            ...whole,
            size: 2000,
            query: { terms: { doc_id: ids } },
            _source: { includes: ['doc_id', 'text', 'language'] },
          }),
      ],
    ],
  );
});

describe('the OpenSearch store, checked against @opensearch-project/opensearch,', () => {
  let server: FaultServer;
  let client: OpenSearch;
  let store: VectorStore;
  const index = 'chunks';
  const whole = { index, allow_partial_search_results: false } as const;

  beforeAll(async () => {
    server = await started(() => startFakeSearchEngine('opensearch'));
    client = new OpenSearch({ node: server.url });
    cleanups.push(() => client.close());
    await client.indices.create({
      index,
      body: {
        settings: { index: { knn: true } },
        mappings: {
          properties: {
            embedding: { type: 'knn_vector', dimension: 8, space_type: 'cosinesimil' },
            doc_id: { type: 'keyword' },
            topic: { type: 'keyword' },
          },
        },
      },
    });
    const body = rows.flatMap((row) => [{ index: { _id: row.uuid } }, { embedding: row.numbers, ...row.fields }]);
    await client.bulk({ index, body });
    const fields = { index, embedding: 'embedding', id: 'doc_id', content: 'text', version: 'language' };
    store = kept(openStore({ kind: 'opensearch', ...fields, ...httpService({ url: server.url }) }));
  });

  itSendsTheRequestsOfTheClient(
    () => server,
    [
      [
        'a search',
        () => store.nearest({ ...three, filter: { topic: 'topic-0' }, exact: false }, never),
        async () => {
          const found = await client.search({
            ...whole,
            body: {
              size: 3,
              query: {
                knn: {
                  embedding: { vector, k: 3, filter: { bool: { filter: [{ term: { topic: 'topic-0' } }] } } },
                },
              },
              _source: { includes: ['doc_id', 'text'] },
            },
          });
          const hits = found.body.hits.hits.map(({ _source }) => _source?.['doc_id'] as unknown);
          expect(hits).toEqual(await idsOf(store));
        },
      ],
      [
        'an exact search',
        () => store.nearest({ ...three, filter: {}, exact: true }, never),
        () =>
          client.search({
            ...whole,
            body: {
              size: 3,
              query: {
                script_score: {
                  query: { bool: { filter: [{ exists: { field: 'embedding' } }] } },
                  script: {
                    source: 'Math.max(0.0, (1.0 + cosineSimilarity(params.query_value, doc[params.field])) / 2.0)',
                    params: { field: 'embedding', query_value: vector },
                  },
                },
              },
              _source: { includes: ['doc_id', 'text'] },
            },
          }),
      ],
      [
        'a sample',
        () => store.sample(sampleRequest, never),
        () =>
          client.search({
            ...whole,
            body: {
              size: 24,
              query: {
                function_score: {
                  query: { exists: { field: 'embedding' } },
                  functions: [{ random_score: { seed: 1, field: '_seq_no' } }],
                  boost_mode: 'replace',
                },
              },
              _source: false,
            },
          }),
      ],
      ['the mapping', () => store.describe(never), () => client.indices.getMapping({ index })],
      ['the settings', () => store.describe(never), () => client.indices.getSettings({ index, flat_settings: true })],
      [
        'a count',
        () => store.describe(never),
        () => client.count({ index, body: { query: { exists: { field: 'embedding' } } } }),
      ],
      [
        'a check of ids',
        () => store.existing(ids, never),
        () =>
          client.search({
            ...whole,
            body: {
              size: 0,
              query: { terms: { doc_id: ids } },
              // The client's types do not allow a terms aggregation without a field.
              aggs: { ids: { terms: { field: 'doc_id', include: ids, size: 2 } } } as never,
            },
          }),
      ],
    ],
  );
});

describe('the Pinecone store, checked against @pinecone-database/pinecone,', () => {
  let server: FaultServer;
  let store: VectorStore;
  let byKey: VectorStore;
  /** The client also uses this namespace by default. */
  const namespace = '__default__';
  const index = () => new Pinecone({ apiKey: 'key' }).index({ host: `${server.url}/chunks` });

  beforeAll(async () => {
    server = await started(startFakePinecone);
    // Indexes are created by another service, which this stand-in does not replace.
    await prepare(server.url, 'PUT', '/chunks', { dimension: 8, metric: 'cosine' });
    await index().upsert({ records: documents.map(({ id }, place) => record(id, place)) });
    const host = httpService({ url: `${server.url}/chunks` });
    const keys = { kind: 'pinecone' as const, ...host, namespace, content: 'text', version: 'language' };
    store = kept(openStore(keys));
    byKey = kept(openStore({ ...keys, id: 'doc_id' }));
  });

  function record(id: string, place: number) {
    return { id, values: rows[place]?.numbers ?? [], metadata: rows[place]?.fields ?? {} };
  }

  it('uses the same API version as the client', async () => {
    const { requests } = server;
    await store.describe(never);
    const ours = requests.at(-1)?.headers['x-pinecone-api-version'];
    await index().describeIndexStats();
    expect(ours).toBe(requests.at(-1)?.headers['x-pinecone-api-version']);
  });

  itSendsTheRequestsOfTheClient(
    () => server,
    [
      [
        'a search',
        () => store.nearest({ ...three, filter: { topic: 'topic-0' }, exact: false }, never),
        async () => {
          const asked = { vector, topK: 3, filter: { topic: { $eq: 'topic-0' } }, includeMetadata: true };
          const { matches } = await index().query({ ...asked, includeValues: false });
          expect(matches.map(({ id }) => id)).toEqual(await idsOf(store));
        },
      ],
      ['a description', () => store.describe(never), () => index().describeIndexStats()],
      ['a list of ids', () => store.list(null, never), () => index().listPaginated({ limit: 100 })],
      ['a check of ids', () => store.existing(ids, never), () => index().fetch({ ids })],
      [
        'a check of ids by a key',
        () => byKey.existing(ids, never),
        async () => {
          const { records } = await index().fetchByMetadata({ filter: { doc_id: { $in: ids } }, limit: 100 });
          expect(Object.keys(records).toSorted()).toEqual(ids);
        },
      ],
    ],
  );
});

describe('the Milvus store, checked against the HTTP client of @zilliz/milvus2-sdk-node,', () => {
  let server: FaultServer;
  let client: Milvus;
  let store: VectorStore;
  const chunks = { collectionName: 'chunks', dbName: 'default' } as const;

  beforeAll(async () => {
    server = await started(startFakeMilvus);
    client = new Milvus({ endpoint: server.url });
    const text = (fieldName: string) => ({
      fieldName,
      dataType: 'VarChar',
      elementTypeParams: { max_length: 1000 },
    });
    await client.createCollection({
      ...chunks,
      schema: {
        autoID: false,
        fields: [
          { ...text('doc_id'), isPrimary: true },
          { fieldName: 'embedding', dataType: 'FloatVector', elementTypeParams: { dim: 8 } },
          text('text'),
        ],
      },
      indexParams: [{ fieldName: 'embedding', indexName: 'embedding', metricType: 'COSINE', params: {} }] as never,
    });
    await client.upsert({ ...chunks, data: rows.map((row) => ({ embedding: row.numbers, ...row.fields })) });
    const names = { database: 'default', collection: 'chunks', id: 'doc_id', embedding: 'embedding' };
    const texts = { content: 'text', version: 'language' };
    store = kept(openStore({ kind: 'milvus', ...names, ...texts, ...httpService({ url: server.url }) }));
  });

  itSendsTheRequestsOfTheClient(
    () => server,
    [
      [
        'a search',
        () => store.nearest({ ...three, filter: { topic: 'topic-0' }, exact: true }, never),
        async () => {
          const found = await client.search({
            ...chunks,
            data: [vector],
            annsField: 'embedding',
            limit: 3,
            filter: 'topic == "topic-0"',
            outputFields: ['doc_id', 'text'],
          });
          expect(found.data.map((row) => (row as { doc_id: string }).doc_id)).toEqual(await idsOf(store));
        },
      ],
      [
        'a count',
        () => store.describe(never),
        () => client.query({ ...chunks, filter: '', outputFields: ['count(*)'] }),
      ],
      ['a description', () => store.describe(never), () => client.describeCollection({ ...chunks })],
      ['the index', () => store.describe(never), () => client.describeIndex({ ...chunks, indexName: 'embedding' })],
      [
        'a check of ids',
        () => store.existing(ids, never),
        (sent) =>
          client.query({
            ...chunks,
            filter: `doc_id in ["${ids.join('","')}"]`,
            limit: (sent.at(-1)?.body as { limit: number } | undefined)?.limit ?? 0,
            outputFields: ['doc_id'],
          }),
      ],
      [
        'the chunks of documents',
        () => store.chunks(ids, never),
        () =>
          client.query({
            ...chunks,
            filter: `doc_id in ["${ids.join('","')}"]`,
            limit: 2000,
            outputFields: ['doc_id', 'text', 'language'],
          }),
      ],
    ],
  );
});

describe('the Weaviate store, checked against the version 2 client (REST and GraphQL) of weaviate-client,', () => {
  let server: FaultServer;
  let store: VectorStore;
  let client: ReturnType<typeof weaviateV2.client>;
  const get = (fields: string) => client.graphql.get().withClassName('Chunks').withFields(fields);

  beforeAll(async () => {
    server = await started(startFakeWeaviate);
    // The client requests the version once.
    client = weaviateV2.client({ scheme: 'http', host: new URL(server.url).host });
    await client.misc.metaGetter().do();
    const properties = ['doc_id', 'text', 'topic', 'language'].map((name) => ({
      name,
      dataType: ['text'],
      tokenization: 'field',
    }));
    await client.schema
      .classCreator()
      .withClass({ class: 'Chunks', vectorizer: 'none', vectorIndexConfig: { distance: 'cosine' }, properties })
      .do();
    const batch = client.batch.objectsBatcher();
    for (const row of rows) {
      batch.withObject({ class: 'Chunks', id: row.uuid, vector: row.numbers, properties: row.fields });
    }
    await batch.do();
    const names = { collection: 'chunks', id: 'doc_id', content: 'text', version: 'language' };
    store = kept(openStore({ kind: 'weaviate', ...names, ...httpService({ url: server.url }) }));
  });

  /** The order of arguments and object fields is irrelevant in GraphQL. */
  const same = (request: WireRequest): unknown => {
    const { query } = (request.body ?? {}) as { query?: string };
    if (query === undefined) return request;
    const byName = (a: { name: { value: string } }, b: { name: { value: string } }) =>
      a.name.value < b.name.value ? -1 : 1;
    const ordered = visit(parse(query), {
      Field: { leave: (node) => ({ ...node, arguments: node.arguments?.toSorted(byName) ?? [] }) },
      ObjectValue: { leave: (node) => ({ ...node, fields: node.fields.toSorted(byName) }) },
    });
    return { ...request, body: print(ordered) };
  };

  itSendsTheRequestsOfTheClient(
    () => server,
    [
      [
        'a search',
        () => store.nearest({ ...three, filter: { topic: 'topic-0' }, exact: false }, never),
        async () => {
          const found = await get('doc_id text _additional { id distance }')
            .withNearVector({ vector })
            .withLimit(3)
            .withWhere({ path: ['topic'], operator: 'Equal', valueText: 'topic-0' })
            .do();
          const objects = found.data.Get.Chunks as { doc_id: string }[];
          expect(objects.map(({ doc_id }) => doc_id)).toEqual(await idsOf(store));
        },
      ],
      [
        'a count',
        () => store.describe(never),
        () => client.graphql.aggregate().withClassName('Chunks').withFields('meta { count }').do(),
      ],
      ['the schema', () => store.describe(never), () => client.schema.classGetter().withClassName('Chunks').do()],
      ['the version', () => store.describe(never), () => client.misc.metaGetter().do()],
      [
        'a list of ids',
        () => store.list(uuid(3), never),
        () => get('doc_id _additional { id }').withLimit(1000).withAfter(uuid(3)).do(),
      ],
      [
        'the chunks of documents',
        () => store.chunks(ids, never),
        () =>
          get('doc_id text language _additional { id }')
            .withLimit(2000)
            .withWhere({ path: ['doc_id'], operator: 'ContainsAny', valueTextArray: ids })
            .do(),
      ],
    ],
    same,
  );
});

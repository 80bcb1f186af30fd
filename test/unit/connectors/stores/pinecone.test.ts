/**
 * Requests and responses of Pinecone's API, version 2026-04. Source: the types generated from its OpenAPI description
 * (QueryRequest, ScoredVector, IndexDescription, ListResponse, FetchResponse, FetchByMetadataRequest),
 * src/pinecone-generated-ts-fetch/db_data in github.com/pinecone-io/pinecone-ts-client, as of 2026-07-30.
 */
import { describe, expect, it } from 'vitest';
import type { StoreConfigOf } from '../../../../src/connectors/stores/config.ts';
import type { VectorStore } from '../../../../src/connectors/stores/vector-store.ts';
import { httpService, openStore } from '../../../support/connectors.ts';
import { status } from '../../../support/fault-server.ts';
import { type RecordedApi, replay } from '../../../support/recorded-api.ts';

const never = new AbortController().signal;
const request = { vector: Float32Array.of(1, 0, 0.5), k: 2, filter: {}, exact: false, withContent: false };

function stats(changes = {}) {
  const namespaces = { docs: { vectorCount: 70 }, __default__: { vectorCount: 5 } };
  return {
    namespaces,
    dimension: 3,
    indexFullness: 0,
    totalVectorCount: 75,
    metric: 'cosine',
    vectorType: 'dense',
    ...changes,
  };
}

function storeAt(api: RecordedApi, changes: Partial<StoreConfigOf<'pinecone'>> = {}): VectorStore {
  const service = httpService(api, { 'api-key': 'a-secret' });
  return openStore({ kind: 'pinecone', ...service, namespace: 'docs', ...changes });
}

describe('a search in Pinecone', () => {
  it('sends the documented request, with a version of the API', async () => {
    const matches = [
      { id: 'vec1', score: 0.9, values: [], metadata: { doc: 'd-1', text: 'One' } },
      { id: 'vec2', score: -0.1, values: [], metadata: { doc: 'd-2' } },
    ];
    const api = await replay(stats(), { matches, namespace: 'docs', usage: { readUnits: 6 } });
    const store = storeAt(api, { id: 'doc', content: 'text' });
    expect(await store.nearest({ ...request, filter: { lang: 'de' }, withContent: true }, never)).toMatchObject({
      value: {
        neighbours: [
          { id: 'd-1', similarity: 0.9, scoreKind: 'cosine', content: 'One' },
          { id: 'd-2', similarity: -0.1, content: null },
        ],
        isShort: false,
      },
    });
    expect(api.calls).toEqual([
      { call: 'POST /describe_index_stats', body: {} },
      {
        call: 'POST /query',
        body: {
          namespace: 'docs',
          vector: [1, 0, 0.5],
          topK: 2,
          filter: { lang: { $eq: 'de' } },
          includeMetadata: true,
          includeValues: false,
        },
      },
    ]);
    expect(api.headers).toMatchObject({ 'api-key': 'a-secret', 'x-pinecone-api-version': '2026-04' });
  });

  it.each([
    ['euclidean', 'squared_l2'],
    ['dotproduct', 'dot'],
  ])('over %s computes the cosine from the vectors', async (metric, scoreKind) => {
    const matches = [{ id: 'vec1', score: 1.25, values: [2, 0, 1] }];
    const api = await replay(stats({ metric }), { matches });
    expect(await storeAt(api).nearest(request, never)).toMatchObject({
      value: { neighbours: [{ id: 'vec1', score: 1.25, scoreKind, similarity: 1 }], isShort: true },
    });
    expect(api.calls[1]?.body).toMatchObject({ includeValues: true, includeMetadata: false });
  });

  it('does not support exact mode', async () => {
    const api = await replay(stats());
    expect(await storeAt(api).nearest({ ...request, exact: true }, never)).toMatchObject({
      kind: 'unsupported',
    });
  });
});

describe('a sample of Pinecone', () => {
  it('is drawn from the list of all ids, and fetched by id', async () => {
    const vectors = { 'a&b': { id: 'a&b', values: [1, 2, 3], metadata: { text: 'A' } } };
    const api = await replay(
      stats(),
      { vectors: [{ id: 'a&b' }], pagination: { next: 'dG9rZW4=' }, namespace: 'docs' },
      { vectors: [], namespace: 'docs' },
      { vectors, namespace: 'docs' },
    );
    const outcome = await storeAt(api, { content: 'text' }).sample({ n: 5, seed: 1, withContent: true }, never);
    expect(outcome).toMatchObject({ value: { ids: ['a&b'], contents: ['A'], isSeeded: true } });
    expect(api.calls.slice(1).map(({ call }) => call)).toEqual([
      'GET /vectors/list?namespace=docs&limit=100',
      'GET /vectors/list?namespace=docs&limit=100&paginationToken=dG9rZW4%3D',
      'GET /vectors/fetch?ids=a%26b&namespace=docs',
    ]);
  });

  it('is not supported if there are too many ids to read', async () => {
    const api = await replay(stats({ namespaces: { docs: { vectorCount: 1_000_001 } } }));
    expect(await storeAt(api).sample({ n: 5, seed: 1, withContent: false }, never)).toMatchObject({
      kind: 'unsupported',
    });
    expect(api.calls).toHaveLength(1);
  });
});

describe('the description of a Pinecone index', () => {
  it.each([
    ['docs', 70, '3'],
    ['', 5, '1'],
    ['other', 0, 'empty'],
  ])('counts the vectors of the namespace "%s"', async (namespace, count, size) => {
    const api = await replay(stats());
    expect(await storeAt(api, { namespace }).describe(never)).toMatchObject({
      value: {
        count,
        isExactCount: false,
        dimensions: 3,
        metric: 'cosine',
        traits: { namespace, size_class: size },
      },
    });
  });

  it('is not supported for sparse vectors', async () => {
    const api = await replay(stats({ vectorType: 'sparse', metric: 'dotproduct', dimension: undefined }));
    expect(await storeAt(api).describe(never)).toMatchObject({ kind: 'unsupported' });
  });
});

describe('ids in Pinecone', () => {
  it('are fetched with URLs of limited length', async () => {
    const ids = Array.from({ length: 150 }, (_, number) => `${'x'.repeat(60)}${number}`);
    const [first = '', last = ''] = [ids[0], ids.at(-1)];
    const answers = [{ vectors: { [first]: { id: first } } }, { vectors: {} }, { vectors: { [last]: { id: last } } }];
    const api = await replay(...answers);
    expect(await storeAt(api).existing([...ids, ''], never)).toMatchObject({ value: new Set([first, last]) });
    expect(api.calls).toHaveLength(3);
    expect(Math.max(...api.calls.map(({ call }) => call.length))).toBeLessThan(4100);
  });

  it('in the metadata are fetched by a filter', async () => {
    const api = await replay({
      vectors: { v1: { id: 'v1', values: [1], metadata: { doc: 'a' } } },
      namespace: 'docs',
    });
    expect(await storeAt(api, { id: 'doc' }).existing(['a', 'b'], never)).toMatchObject({
      value: new Set(['a']),
    });
    expect(api.calls).toEqual([
      {
        call: 'POST /vectors/fetch_by_metadata',
        body: { namespace: 'docs', filter: { doc: { $in: ['a', 'b'] } }, limit: 100 },
      },
    ]);
  });
});

describe('a rejected request to Pinecone', () => {
  it.each([
    ['a wrong key', status(401), 'http_401', /check .*vector_store\.api_key; read permission/],
    ['a wrong host', status(404), 'collection_missing', /no such index; set .*\.url to the host of the index\.$/],
    ['an older API', stats({ metric: undefined }), 'unexpected_answer', /the response has no metric/],
  ])('is reported with a fix and without a secret: %s', async (_, answer, code, message) => {
    const outcome = await storeAt(await replay(answer)).describe(never);
    expect(outcome).toMatchObject({
      kind: 'failed',
      code,
      message: expect.stringMatching(message) as unknown,
    });
    expect(JSON.stringify(outcome)).not.toContain('a-secret');
  });
});

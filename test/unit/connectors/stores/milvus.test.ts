/**
 * Requests and responses as Milvus documents them: API_Reference_MDX/milvus-restful/v2.6.x/v2 ("Describe Collection",
 * "Describe Index", "Search", "Query") and the page "Random sampling" of github.com/milvus-io/web-content, seen on
 * 2026-08-06; codes from pkg/util/merr of github.com/milvus-io/milvus.
 */
import { describe, expect, it } from 'vitest';
import type { StoreConfigOf } from '../../../../src/connectors/stores/config.ts';
import type { VectorStore } from '../../../../src/connectors/stores/vector-store.ts';
import { httpService, openStore } from '../../../support/connectors.ts';
import { status } from '../../../support/fault-server.ts';
import { type RecordedApi, replay } from '../../../support/recorded-api.ts';

const never = new AbortController().signal;
const request = { vector: Float32Array.of(1, 0, 0.5), k: 2, filter: {}, exact: false, withContent: false };
const ok = (data: unknown) => ({ code: 0, cost: 0, data });

function collection(metricType = 'COSINE', type = 'FloatVector') {
  const field = (name: string, own: object) => ({
    autoId: false,
    description: '',
    name,
    partitionKey: false,
    primaryKey: false,
    ...own,
  });
  return ok({
    aliases: [],
    collectionID: 448707763883002000,
    collectionName: 'quick_setup',
    consistencyLevel: 'Bounded',
    enableDynamicField: true,
    fields: [
      field('id', { primaryKey: true, type: 'Int64' }),
      field('vector', { type, params: [{ key: 'dim', value: '3' }] }),
      field('color', { type: 'VarChar' }),
      field('hot', { type: 'Bool' }),
      field('price', { type: 'Double' }),
    ],
    indexes: [{ fieldName: 'vector', indexName: 'vector_index', metricType }],
    load: 'LoadStateLoaded',
    shardsNum: 1,
  });
}
const index = (indexType = 'HNSW', rows = 3) =>
  ok([
    {
      failReason: '',
      fieldName: 'vector',
      indexName: 'vector_index',
      indexState: 'Finished',
      indexType,
      indexedRows: rows,
      metricType: 'COSINE',
      pendingRows: 0,
      totalRows: rows,
    },
  ]);
const counted = (rows: number) => ok([{ 'count(*)': rows }]);

function storeAt(api: RecordedApi, changes: Partial<StoreConfigOf<'milvus'>> = {}): VectorStore {
  const headers = { authorization: 'Bearer root:a-secret' };
  const settings = { collection: 'quick_setup', embedding: 'vector', id: 'id' };
  return openStore({ kind: 'milvus', ...httpService(api, headers), ...settings, ...changes });
}

describe('a search in Milvus', () => {
  it('sends the documented request, with filters by the type of each field', async () => {
    const found = ok([{ color: 'red', distance: 0.9353201, id: 1 }]);
    const api = await replay(collection(), index(), found);
    const store = storeAt(api, { database: 'db', content: 'color' });
    const filter = { color: 're"d', hot: 'true', price: '7.50', id: '12', other: 'x' };
    expect(await store.nearest({ ...request, filter, withContent: true }, never)).toMatchObject({
      value: {
        neighbours: [{ id: '1', similarity: 0.9353201, scoreKind: 'cosine', content: 'red' }],
        isShort: true,
      },
    });
    expect(api.calls).toEqual([
      {
        call: 'POST /v2/vectordb/collections/describe',
        body: { dbName: 'db', collectionName: 'quick_setup' },
      },
      {
        call: 'POST /v2/vectordb/indexes/describe',
        body: { dbName: 'db', collectionName: 'quick_setup', indexName: 'vector_index' },
      },
      {
        call: 'POST /v2/vectordb/entities/search',
        body: {
          dbName: 'db',
          collectionName: 'quick_setup',
          data: [[1, 0, 0.5]],
          annsField: 'vector',
          limit: 2,
          filter: String.raw`color == "re\"d" and hot == true and price == 7.5 and id == 12 and other == "x"`,
          outputFields: ['id', 'color'],
        },
      },
    ]);
    expect(api.headers.authorization).toBe('Bearer root:a-secret');
  });

  it('finds nothing for a value that a field cannot have, and rejects a field with an invalid name', async () => {
    const store = storeAt(await replay(collection(), index()));
    expect(await store.nearest({ ...request, filter: { hot: 'maybe' } }, never)).toMatchObject({
      value: { neighbours: [] },
    });
    expect(await store.nearest({ ...request, filter: { 'a == 1 or b': 'x' } }, never)).toMatchObject({
      kind: 'unsupported',
    });
  });

  it.each([
    ['L2', 'squared_l2'],
    ['IP', 'dot'],
  ])('over %s computes the cosine from the vectors, since Milvus returns a distance', async (metric, scoreKind) => {
    const api = await replay(collection(metric), index(), ok([{ id: 1, distance: 1.25, vector: [2, 0, 1] }]));
    expect(await storeAt(api).nearest(request, never)).toMatchObject({
      value: { neighbours: [{ id: '1', score: 1.25, scoreKind, similarity: 1 }] },
    });
    expect(api.calls[2]?.body).toMatchObject({ outputFields: ['id', 'vector'] });
  });

  it('can be exact only over an index of type FLAT', async () => {
    const exact = { ...request, exact: true };
    expect(await storeAt(await replay(collection(), index('FLAT'), ok([]))).nearest(exact, never)).toMatchObject({
      kind: 'ok',
    });
    expect(await storeAt(await replay(collection(), index())).nearest(exact, never)).toMatchObject({
      kind: 'unsupported',
    });
  });

  it.each([
    ['sparse vectors', collection('COSINE', 'SparseFloatVector')],
    ['a metric without a cosine', collection('HAMMING')],
  ])('is not supported for %s', async (_, described) => {
    expect(await storeAt(await replay(described, index())).nearest(request, never)).toMatchObject({
      kind: 'unsupported',
    });
  });
});

describe('a sample of Milvus', () => {
  it('of a small collection is drawn from all keys, including long keys', async () => {
    const long = '448300048035776801';
    const stored = ok([{ id: long, color: 'red', vector: [1, 2, 3] }]);
    const api = await replay(collection(), index(), counted(1), ok([{ id: long }]), stored);
    expect(await storeAt(api, { content: 'color' }).sample({ n: 5, seed: 1, withContent: true }, never)).toMatchObject({
      value: { ids: [long], contents: ['red'], isSeeded: true },
    });
    expect(api.calls.slice(2).map(({ body }) => body)).toEqual([
      { collectionName: 'quick_setup', filter: '', outputFields: ['count(*)'] },
      { collectionName: 'quick_setup', filter: '', limit: 16_383, outputFields: ['id'] },
      {
        collectionName: 'quick_setup',
        filter: `id in [${long}]`,
        limit: 1,
        outputFields: ['id', 'vector', 'color'],
      },
    ]);
  });

  it('of a large collection is drawn by the server, with a few spare documents, until it is complete', async () => {
    const draws = [ok([{ id: 1 }, { id: 2 }]), ok([{ id: 2 }, { id: 3 }])];
    const stored = ok([1, 2, 3].map((id) => ({ id, vector: [id, 0, 0] })));
    const api = await replay(collection(), index(), counted(1_000_000), ...draws, stored);
    const outcome = await storeAt(api).sample({ n: 3, seed: 1, withContent: false }, never);
    expect(outcome.kind === 'ok' && outcome.value.ids.toSorted()).toEqual(['1', '2', '3']);
    expect(outcome).toMatchObject({ value: { isSeeded: false } });
    expect(api.calls.slice(3, 5).map(({ body }) => body)).toEqual(
      Array.from({ length: 2 }, () => ({
        collectionName: 'quick_setup',
        filter: 'RANDOM_SAMPLE(0.000054000)',
        limit: 16_383,
        outputFields: ['id'],
      })),
    );
  });

  it('of a large collection needs Milvus 2.6, and must fit in one response', async () => {
    const older = await replay(collection(), index(), counted(1_000_000), {
      code: 1100,
      message: 'cannot parse expression',
    });
    expect(await storeAt(older).sample({ n: 3, seed: 1, withContent: false }, never)).toMatchObject({
      kind: 'unsupported',
      reason: expect.stringContaining('Milvus 2.6') as unknown,
    });
    const many = await replay(collection(), index(), counted(1_000_000));
    expect(await storeAt(many).sample({ n: 12_000, seed: 1, withContent: false }, never)).toMatchObject({
      kind: 'unsupported',
    });
  });
});

describe('the description of a Milvus collection', () => {
  it('does not change when documents are indexed, but changes with the index type', async () => {
    const traitsOf = async (described: unknown, rows = 70) => {
      const outcome = await storeAt(await replay(collection(), described, counted(rows))).describe(never);
      return outcome.kind === 'ok' ? outcome.value : outcome;
    };
    const first = await traitsOf(index('HNSW', 3));
    expect(first).toMatchObject({
      count: 70,
      isExactCount: true,
      dimensions: 3,
      metric: 'cosine',
      traits: { collection_id: '448707763883002000', index_type: 'HNSW', metric: 'COSINE', size_class: '3' },
    });
    expect(await traitsOf(index('HNSW', 9))).toEqual(first);
    expect(await traitsOf(index('DISKANN', 3))).not.toEqual(first);
  });
});

describe('ids in Milvus', () => {
  it('are found by a filter; text that is not an integer is not an id of an integer field', async () => {
    const api = await replay(collection(), index(), ok([{ id: 7 }]));
    expect(await storeAt(api).existing(['7', 'x'], never)).toMatchObject({ value: new Set(['7']) });
    expect(api.calls[2]?.body).toEqual({
      collectionName: 'quick_setup',
      filter: 'id in [7]',
      limit: 16_383,
      outputFields: ['id'],
    });
  });
});

describe('a rejected request to Milvus', () => {
  it.each([
    [
      { code: 100, message: 'collection not found' },
      'collection_missing',
      /no such collection; check .*\.collection\.$/,
    ],
    [{ code: 1800, message: "User hasn't authenticated" }, 'http_401', /the token is rejected; check .*\.token\.$/],
    [{ code: 101, message: 'not loaded' }, 'not_loaded', /is not loaded; load it/],
    [{ code: 8, message: 'rate' }, 'rate_limited', /max_per_second\.$/],
    [{ code: 65535, message: 'a-secret in it' }, 'request_refused', /it returned code 65535/],
    [{ detail: 'Not Found' }, 'unexpected_answer', /has no code/],
    [status(401), 'http_401', /check .*vector_store\.token; read permission/],
  ])('with %o is reported with a fix', async (answer, code, message) => {
    const outcome = await storeAt(await replay(answer)).describe(never);
    expect(outcome).toMatchObject({
      kind: 'failed',
      code,
      message: expect.stringMatching(message) as unknown,
    });
    expect(JSON.stringify(outcome)).not.toContain('a-secret');
  });
});

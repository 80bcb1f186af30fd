/**
 * Requests and responses as documented by Qdrant in docs/redoc/master/openapi.json of github.com/qdrant/qdrant, read on
 * 2026-08-04 (QueryRequest, ScoredPoint, CollectionInfo, ScrollRequest, PointRequest).
 */
import { describe, expect, it } from 'vitest';
import type { StoreConfigOf } from '../../../../src/connectors/stores/config.ts';
import type { VectorStore } from '../../../../src/connectors/stores/vector-store.ts';
import { httpService, openStore } from '../../../support/connectors.ts';
import { hang, status } from '../../../support/fault-server.ts';
import { type RecordedApi, replay } from '../../../support/recorded-api.ts';

const never = new AbortController().signal;
const version = { title: 'qdrant - vector search engine', version: '1.18.2', commit: 'abc' };
const aliases = {
  result: { aliases: [{ alias_name: 'docs', collection_name: 'docs_v3' }] },
  status: 'ok',
  time: 0.1,
};

function collection(vectors: unknown, params = {}, points = 5, indexes: Readonly<Record<string, string>> = {}) {
  const result = {
    status: 'green',
    optimizer_status: 'ok',
    indexed_vectors_count: 5,
    points_count: points,
    segments_count: 2,
    config: {
      params: { vectors, shard_number: 1, replication_factor: 1, ...params },
      hnsw_config: { m: 16, ef_construct: 100, full_scan_threshold: 10000 },
      optimizer_config: { deleted_threshold: 0.2 },
      quantization_config: null,
    },
    payload_schema: Object.fromEntries(
      Object.entries(indexes).map(([key, type]) => [key, { data_type: type, points }]),
    ),
  };
  return { result, status: 'ok', time: 0.001 };
}

const cosine = collection({ size: 3, distance: 'Cosine' });

function storeAt(api: RecordedApi, changes: Partial<StoreConfigOf<'qdrant'>> = {}): VectorStore {
  const service = httpService(api, { 'api-key': 'a-secret' });
  return openStore({ kind: 'qdrant', ...service, collection: 'docs', ...changes });
}

const request = { vector: Float32Array.of(1, 0, 0.5), k: 2, filter: {}, exact: false, withContent: false };

describe('a search in Qdrant', () => {
  it('sends the documented request, and returns the cosine as the score', async () => {
    const points = [
      { id: 42, version: 3, score: 0.75 },
      { id: '550e8400-e29b-41d4-a716-446655440000', version: 1, score: 0.5 },
    ];
    const api = await replay(cosine, version, aliases, { result: { points }, status: 'ok', time: 0.001 });
    expect(await storeAt(api).nearest(request, never)).toMatchObject({
      kind: 'ok',
      value: {
        neighbours: [
          { id: '42', similarity: 0.75, score: 0.75, scoreKind: 'cosine', content: null },
          { id: '550e8400-e29b-41d4-a716-446655440000', similarity: 0.5 },
        ],
        isShort: false,
      },
    });
    expect(api.calls.map(({ call }) => call)).toEqual([
      'GET /collections/docs',
      'GET /',
      'GET /aliases',
      'POST /collections/docs/points/query',
    ]);
    expect(api.calls[3]?.body).toEqual({
      query: [1, 0, 0.5],
      limit: 2,
      with_payload: false,
      with_vector: false,
    });
    expect(api.headers).toMatchObject({ 'api-key': 'a-secret', 'content-type': 'application/json' });
  });

  it('can name the vector, filter, be exact, and read ids and texts from the payload', async () => {
    const named = collection({ text: { size: 3, distance: 'Euclid' }, image: { size: 8, distance: 'Dot' } });
    const points = [
      {
        id: 1,
        version: 1,
        score: 1.118,
        payload: { meta: { doc: 'd-1' }, body: 'Text' },
        vector: { text: [0, 0, 0.5] },
      },
    ];
    const api = await replay(named, version, aliases, { result: { points }, status: 'ok', time: 0.001 });
    const store = storeAt(api, { vector_name: 'text', id: 'meta.doc', content: 'body' });
    const outcome = await store.nearest({ ...request, filter: { lang: 'de' }, exact: true, withContent: true }, never);
    expect(outcome).toMatchObject({
      value: { neighbours: [{ id: 'd-1', score: 1.118, scoreKind: 'l2', content: 'Text' }], isShort: true },
    });
    expect(outcome.kind === 'ok' && outcome.value.neighbours[0]?.similarity).toBeCloseTo(0.5 / Math.sqrt(1.25), 6);
    expect(api.calls[3]?.body).toEqual({
      query: [1, 0, 0.5],
      using: 'text',
      filter: { must: [{ key: 'lang', match: { value: 'de' } }] },
      params: { exact: true },
      limit: 2,
      with_payload: ['meta.doc', 'body'],
      with_vector: ['text'],
    });
  });

  it.each([
    ['text', 'de', 'keyword', { match: { value: 'de' } }],
    ['text that looks like a number', '2024', 'keyword', { match: { value: '2024' } }],
    ['integer', '2024', 'integer', { match: { value: 2024 } }],
    ['decimal', '0.5', 'float', { range: { gte: 0.5, lte: 0.5 } }],
    ['boolean', 'true', 'bool', { match: { value: true } }],
    ['text in an index of integers', 'de', 'integer', { match: { value: 'de' } }],
  ])('filters by the type of the payload index: %s', async (_, value, type, condition) => {
    const indexed = collection({ size: 3, distance: 'Cosine' }, {}, 5, { 'meta."the key"': type });
    const api = await replay(indexed, version, aliases, { result: { points: [] }, status: 'ok', time: 0 });
    await storeAt(api).nearest({ ...request, filter: { 'meta.the key': value } }, never);
    expect(api.calls[3]?.body).toMatchObject({ filter: { must: [{ key: 'meta."the key"', ...condition }] } });
  });

  it.each([
    ['7', [{ match: { value: '7' } }, { range: { gte: 7, lte: 7 } }]],
    ['-0.5', [{ match: { value: '-0.5' } }, { range: { gte: -0.5, lte: -0.5 } }]],
    ['false', [{ match: { value: 'false' } }, { match: { value: false } }]],
  ])('filters by %s as every possible type if the payload key has no index', async (value, readings) => {
    const api = await replay(cosine, version, aliases, { result: { points: [] }, status: 'ok', time: 0 });
    await storeAt(api).nearest({ ...request, filter: { tag: value } }, never);
    const should = readings.map((reading) => ({ key: 'tag', ...reading }));
    expect(api.calls[3]?.body).toMatchObject({ filter: { must: [{ should }] } });
  });

  it.each(['007', '1e3', '+7', ' 7', '7.', 'de'])('filters by %j only as text', async (value) => {
    const api = await replay(cosine, version, aliases, { result: { points: [] }, status: 'ok', time: 0 });
    await storeAt(api).nearest({ ...request, filter: { tag: value } }, never);
    expect(api.calls[3]?.body).toMatchObject({ filter: { must: [{ key: 'tag', match: { value } }] } });
  });

  it('filters by an integer beyond 2^53 with all its digits', async () => {
    const api = await replay(cosine, version, aliases, { result: { points: [] }, status: 'ok', time: 0 });
    await storeAt(api).nearest({ ...request, filter: { tag: '9007199254740993' } }, never);
    expect(api.texts[3]).toContain('{"key":"tag","match":{"value":9007199254740993}}');
  });

  it('reads the collection settings once, and again after the collection was recreated under the same name', async () => {
    const empty = { result: { points: [] }, status: 'ok', time: 0 };
    const grown = collection({ size: 4, distance: 'Cosine' });
    const api = await replay(cosine, version, aliases, empty, empty, status(400), grown, version, aliases);
    const store = storeAt(api);
    await store.nearest(request, never);
    await store.nearest(request, never);
    expect(api.calls).toHaveLength(5);
    expect(await store.nearest(request, never)).toMatchObject({
      kind: 'failed',
      code: 'dimension_mismatch',
      message:
        'Qdrant received a query vector with 3 numbers, but its vectors have 4; the config must name the embedding model that computed the stored vectors.',
    });
  });
});

describe('a sample of Qdrant', () => {
  it('is drawn by the server, and the vectors are fetched by id, including long ids', async () => {
    const drawn = [{ id: 7 }, { id: '@long' }].map((point) => ({ ...point, version: 1, score: 0 }));
    const text = JSON.stringify({ result: { points: drawn }, status: 'ok', time: 0 });
    const long = text.replace('"@long"', '9007199254740993');
    const records = [
      { id: 7, payload: { body: 'Seven' }, vector: [1, 0, 0] },
      { id: 8, payload: {}, vector: [0, 1, 0] },
    ];
    const raw = (_request: unknown, response: { end(text: string): void }) => response.end(long);
    const api = await replay(cosine, version, aliases, raw, { result: records, status: 'ok', time: 0 });
    const outcome = await storeAt(api, { content: 'body' }).sample({ n: 2, seed: 1, withContent: true }, never);
    expect(outcome).toMatchObject({
      kind: 'ok',
      value: {
        ids: ['7', '8'],
        contents: ['Seven', null],
        isSeeded: false,
        vectors: { rows: 2, columns: 3 },
      },
    });
    expect(api.calls[3]).toEqual({
      call: 'POST /collections/docs/points/query',
      body: { query: { sample: 'random' }, limit: 2, with_payload: false, with_vector: false },
    });
    expect(api.calls[4]?.call).toBe('POST /collections/docs/points');
    expect(api.texts[4]).toBe('{"ids":[7,9007199254740993],"with_payload":["body"],"with_vector":[""]}');
  });

  it('over custom shards is drawn by recalld from all ids, since these shards differ in size', async () => {
    const custom = collection({ size: 3, distance: 'Cosine' }, { sharding_method: 'custom' });
    const first = { result: { points: [{ id: 1 }, { id: 2 }], next_page_offset: 3 }, status: 'ok', time: 0 };
    const last = { result: { points: [{ id: 3 }], next_page_offset: null }, status: 'ok', time: 0 };
    const records = { result: [{ id: 2, vector: [0, 1, 0] }], status: 'ok', time: 0 };
    const api = await replay(custom, version, aliases, first, last, records);
    const outcome = await storeAt(api).sample({ n: 1, seed: 1, withContent: false }, never);
    expect(outcome).toMatchObject({ kind: 'ok', value: { isSeeded: true } });
    expect(api.calls.slice(3, 5)).toEqual([
      {
        call: 'POST /collections/docs/points/scroll',
        body: { limit: 1000, with_payload: false, with_vector: false },
      },
      {
        call: 'POST /collections/docs/points/scroll',
        body: { limit: 1000, offset: 3, with_payload: false, with_vector: false },
      },
    ]);
  });

  it('over custom shards is not supported if there are too many ids to read', async () => {
    const huge = collection({ size: 3, distance: 'Cosine' }, { sharding_method: 'custom' }, 5_000_001);
    const api = await replay(huge, version, aliases);
    const outcome = await storeAt(api).sample({ n: 1, seed: 1, withContent: false }, never);
    expect(outcome).toMatchObject({
      kind: 'unsupported',
      reason: expect.stringContaining('5000001') as unknown,
    });
  });
});

describe('the description of a Qdrant collection', () => {
  it('names version, settings and the collection behind an alias', async () => {
    const api = await replay(cosine, version, aliases);
    const outcome = await storeAt(api).describe(never);
    expect(outcome).toMatchObject({
      value: {
        count: 5,
        isExactCount: false,
        dimensions: 3,
        metric: 'cosine',
        traits: {
          version: '1.18.2',
          collection: 'docs_v3',
          distance: 'Cosine',
          dimensions: '3',
          size_class: '1',
        },
      },
    });
  });

  it('omits properties that an API key for one collection may not read', async () => {
    const api = await replay(cosine, status(403), status(403));
    expect(await storeAt(api).describe(never)).toMatchObject({
      kind: 'ok',
      value: { traits: { version: 'hidden', collection: 'docs' } },
    });
  });

  it.each([
    ['named vectors only', { a: { size: 3, distance: 'Dot' } }, 'vector_unknown', /set .*vector_name to one of: a\.$/],
  ])('fails with the missing setting for %s', async (_, vectors, code, message) => {
    const api = await replay(collection(vectors));
    expect(await storeAt(api).describe(never)).toMatchObject({
      kind: 'failed',
      code,
      message: expect.stringMatching(message) as unknown,
    });
  });

  it('is not supported for the Manhattan distance, or for several vectors per point', async () => {
    const manhattan = await replay(collection({ size: 3, distance: 'Manhattan' }));
    expect(await storeAt(manhattan).describe(never)).toMatchObject({ kind: 'unsupported' });
    const several = { size: 3, distance: 'Cosine', multivector_config: { comparator: 'max_sim' } };
    expect(await storeAt(await replay(collection(several))).describe(never)).toMatchObject({
      kind: 'unsupported',
    });
  });
});

describe('ids in Qdrant', () => {
  it('that are point ids are requested as numbers and UUIDs; other texts are not ids', async () => {
    const uuid = '550E8400E29B41D4A716446655440000';
    const found = [{ id: 42 }, { id: '550e8400-e29b-41d4-a716-446655440000' }];
    const api = await replay({ result: found, status: 'ok', time: 0 });
    expect(await storeAt(api).existing(['42', 'doc-1', uuid, '43', '007'], never)).toMatchObject({
      value: new Set(['42', uuid]),
    });
    expect(api.calls).toEqual([
      {
        call: 'POST /collections/docs/points',
        body: { ids: [42, uuid, 43], with_payload: false, with_vector: false },
      },
    ]);
  });

  it('in the payload are searched as the type of their index, or as text and integers without an index', async () => {
    const found = { result: { points: [{ id: 1, payload: { doc: 7 } }] }, status: 'ok', time: 0 };
    const text = { key: 'doc', match: { any: ['7', 'x'] } };
    const integer = { key: 'doc', match: { any: [7] } };
    const cases = [
      [{}, { should: [text, integer] }],
      [{ doc: 'integer' }, integer],
      [{ doc: 'keyword' }, text],
    ] as const;
    for (const [indexes, condition] of cases) {
      const described = collection({ size: 3, distance: 'Cosine' }, {}, 5, indexes);
      const api = await replay(described, version, aliases, found);
      const outcome = await storeAt(api, { id: 'doc' }).existing(['7', 'x'], never);
      expect(outcome).toMatchObject({ value: new Set(['7']) });
      expect(api.calls[3]?.body).toMatchObject({ filter: { must: [condition] } });
    }
  });

  it('in the payload are searched page by page, even if many chunks share one id', async () => {
    const page = Array.from({ length: 1000 }, (_, id) => ({ id, payload: { doc: 'a' } }));
    const rest = [{ id: 2000, payload: { doc: 'b' } }];
    const api = await replay({ result: { points: page } }, { result: { points: rest } });
    const outcome = await storeAt(api, { id: 'doc' }).existing(['a', 'b', 'c'], never);
    expect(outcome).toMatchObject({ value: new Set(['a', 'b']) });
    expect(api.calls.map(({ body }) => body)).toEqual([
      {
        filter: { must: [{ key: 'doc', match: { any: ['a', 'b', 'c'] } }] },
        limit: 1000,
        with_payload: ['doc'],
        with_vector: false,
      },
      {
        filter: { must: [{ key: 'doc', match: { any: ['b', 'c'] } }] },
        limit: 1000,
        with_payload: ['doc'],
        with_vector: false,
      },
    ]);
  });
});

describe('a rejected request to Qdrant', () => {
  it.each([
    [
      'a wrong key',
      status(401),
      'http_401',
      /returned 401 Unauthorized; check pipelines\[0\]\.vector_store\.api_key; .*read/,
    ],
    ['a missing collection', status(404), 'collection_missing', /there is no collection docs; check .*\.collection\.$/],
    ['an answer of another service', { hits: [] }, 'unexpected_answer', /check that .*\.url is the address of Qdrant/],
    ['no answer', hang(), 'timeout', /timeout_ms/],
  ])('is reported with a fix and without a secret: %s', async (_, answer, code, message) => {
    const api = await replay(answer);
    const store = storeAt(api, { timeout_ms: 200 });
    const outcome = await store.nearest(request, never);
    expect(outcome).toMatchObject({
      kind: 'failed',
      code,
      message: expect.stringMatching(message) as unknown,
    });
    expect(JSON.stringify(outcome)).not.toContain('a-secret');
  });
});

describe('the timeout of a request to Qdrant', () => {
  it.each([
    ['an exact search', (store: VectorStore) => store.nearest({ ...request, exact: true }, never), 3000],
    ['a sample', (store: VectorStore) => store.sample({ n: 2, seed: 1, withContent: false }, never), 3000],
    ['an index search', (store: VectorStore) => store.nearest(request, never), 100],
  ])('depends on the kind of request: %s', async (_, ask, limit) => {
    const api = await replay(cosine, version, aliases, hang());
    const store = storeAt(api, { timeout_ms: 100 });
    expect(await ask(store)).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining(`did not respond within ${limit} ms`) as unknown,
    });
  });
});

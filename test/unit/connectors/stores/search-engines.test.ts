/**
 * Requests and answers as Elasticsearch and OpenSearch document them: github.com/elastic/elasticsearch-specification,
 * seen on 2026-08-20 (specification/_types/Knn.ts, _global/search/_types/SourceFilter.ts, query_dsl/compound.ts,
 * query_dsl/specialized.ts, _types/mapping/DenseVectorProperty.ts, _global/info/examples/response), the page "Dense
 * vector field type" of www.elastic.co/docs/reference, and github.com/opensearch-project/documentation-website, seen
 * on 2026-08-21 (_query-dsl/specialized/k-nn/index.md, _mappings/supported-field-types/knn-spaces.md,
 * _vector-search/vector-search-techniques/painless-functions.md, _query-dsl/compound/function-score.md).
 */

import { describe, expect, it } from 'vitest';
import type { StoreConfigOf } from '../../../../src/connectors/stores/config.ts';
import type { VectorStore } from '../../../../src/connectors/stores/vector-store.ts';
import { httpService, openStore } from '../../../support/connectors.ts';
import { status } from '../../../support/fault-server.ts';
import { type RecordedApi, replay } from '../../../support/recorded-api.ts';

const never = new AbortController().signal;
const defaults = { index: 'docs', embedding: 'embedding', id: '_id' };
const request = { vector: Float32Array.of(1, 0, 0.5), k: 2, filter: {}, exact: false, withContent: false };

function mappingOf(vector: unknown, properties = {}) {
  return { 'docs-000001': { mappings: { properties: { embedding: vector, ...properties } } } };
}
function settingsOf(settings = {}) {
  return {
    'docs-000001': { settings: { 'index.uuid': 'b1Xn2', 'index.number_of_shards': '1', ...settings } },
  };
}
function hits(...found: readonly unknown[]) {
  const total = { value: found.length, relation: 'eq' };
  return {
    took: 5,
    timed_out: false,
    _shards: { total: 1, successful: 1, failed: 0 },
    hits: { total, hits: found },
  };
}
function elasticsearch(api: RecordedApi, changes: Partial<StoreConfigOf<'elasticsearch'>> = {}): VectorStore {
  const headers = { authorization: 'ApiKey a-secret' };
  return openStore({ kind: 'elasticsearch', ...httpService(api, headers), ...defaults, ...changes });
}
function opensearch(api: RecordedApi, changes: Partial<StoreConfigOf<'opensearch'>> = {}): VectorStore {
  return openStore({ kind: 'opensearch', ...httpService(api), ...defaults, ...changes });
}

const dense = { type: 'dense_vector', dims: 3, similarity: 'cosine' };
const knn = { type: 'knn_vector', dimension: 3, space_type: 'cosinesimil' };
const knnSettings = settingsOf({ 'index.knn': 'true' });
const SEARCH = 'POST /docs/_search?allow_partial_search_results=false';

describe('a search in Elasticsearch', () => {
  it('sends the documented kNN search, whose score is (1 + cosine) / 2', async () => {
    const found = [
      { _index: 'docs-000001', _id: 'a', _score: 0.9 },
      { _index: 'docs-000001', _id: 'b', _score: 0.25 },
    ];
    const api = await replay(mappingOf(dense), settingsOf(), hits(...found));
    const outcome = await elasticsearch(api).nearest(request, never);
    expect(outcome).toMatchObject({
      kind: 'ok',
      value: {
        neighbours: [
          { id: 'a', score: 0.9, scoreKind: 'shifted_cosine' },
          { id: 'b', similarity: -0.5 },
        ],
      },
    });
    expect(outcome.kind === 'ok' && outcome.value.neighbours[0]?.similarity).toBeCloseTo(0.8, 12);
    expect(api.calls).toEqual([
      { call: 'GET /docs/_mapping', body: null },
      { call: 'GET /docs/_settings?flat_settings=true', body: null },
      {
        call: SEARCH,
        body: {
          size: 2,
          knn: { field: 'embedding', query_vector: [1, 0, 0.5], k: 2, num_candidates: 100 },
          _source: false,
        },
      },
    ]);
    expect(api.headers.authorization).toBe('ApiKey a-secret');
  });

  it('filters by the keyword field of a text, and requests vectors in a way that version 9.2 supports', async () => {
    const l2 = { ...dense, similarity: 'l2_norm' };
    const lang = { type: 'text', fields: { keyword: { type: 'keyword' } } };
    const hit = {
      _index: 'docs-000001',
      _id: 'x',
      _score: 0.5,
      _source: { doc: 'd-1', body: 'Text' },
      fields: { embedding: [1, 0, 1.5] },
    };
    const api = await replay(mappingOf(l2, { lang }), settingsOf(), hits(hit));
    const store = elasticsearch(api, { id: 'doc', content: 'body', num_candidates: 500 });
    expect(await store.nearest({ ...request, filter: { lang: 'de' }, withContent: true }, never)).toMatchObject({
      value: { neighbours: [{ id: 'd-1', content: 'Text', score: 0.5, scoreKind: 'inverse_squared_l2' }] },
    });
    expect(api.calls[2]?.body).toEqual({
      size: 2,
      knn: {
        field: 'embedding',
        query_vector: [1, 0, 0.5],
        k: 2,
        num_candidates: 500,
        filter: [{ term: { 'lang.keyword': 'de' } }],
      },
      _source: { includes: ['doc', 'body'] },
      fields: ['embedding'],
    });
  });

  it('compares every vector by script_score in exact mode, on the same scale', async () => {
    const api = await replay(mappingOf(dense), settingsOf(), hits());
    await elasticsearch(api).nearest({ ...request, exact: true, filter: { lang: 'de' } }, never);
    expect(api.calls[2]?.body).toEqual({
      size: 2,
      query: {
        script_score: {
          query: { bool: { filter: [{ exists: { field: 'embedding' } }, { term: { lang: 'de' } }] } },
          script: {
            source: "Math.max(0.0, (1.0 + cosineSimilarity(params.query_vector, 'embedding')) / 2.0)",
            params: { query_vector: [1, 0, 0.5] },
          },
        },
      },
      _source: false,
    });
  });

  it.each([
    ['l2_norm', "1.0 / (1.0 + Math.pow(l2norm(params.query_vector, 'embedding'), 2))"],
    [
      'max_inner_product',
      "double dot = dotProduct(params.query_vector, 'embedding'); return dot < 0 ? 1.0 / (1.0 - dot) : dot + 1.0;",
    ],
  ])('has a script for exact mode with %s', async (similarity, source) => {
    const api = await replay(mappingOf({ ...dense, similarity }), settingsOf(), hits());
    await elasticsearch(api).nearest({ ...request, exact: true }, never);
    expect(api.calls[2]?.body).toMatchObject({ query: { script_score: { script: { source } } } });
  });

  it.each([
    ['a field that is not a vector', { type: 'keyword' }],
    ['vectors of bits', { ...dense, element_type: 'bit' }],
    ['a field without an index', { ...dense, index: false }],
  ])('is not supported for %s', async (_, mapping) => {
    const api = await replay(mappingOf(mapping), settingsOf());
    expect(await elasticsearch(api).nearest(request, never)).toMatchObject({ kind: 'unsupported' });
  });

  it('names a vector field that does not exist', async () => {
    const api = await replay({ d: { mappings: { properties: {} } } }, settingsOf());
    expect(await elasticsearch(api).nearest(request, never)).toMatchObject({
      code: 'vector_unknown',
      message: 'Elasticsearch index d has no field embedding; check pipelines[0].vector_store.embedding.',
    });
  });
});

describe('a search in OpenSearch', () => {
  it('sends the documented k-NN query, with the filter inside the query', async () => {
    const api = await replay(mappingOf(knn), knnSettings, hits({ _index: 'docs-000001', _id: 'a', _score: 1 }));
    expect(await opensearch(api).nearest({ ...request, filter: { color: 'BLUE' } }, never)).toMatchObject({
      value: { neighbours: [{ id: 'a', similarity: 1, scoreKind: 'shifted_cosine' }], isShort: true },
    });
    expect(api.calls[2]).toEqual({
      call: SEARCH,
      body: {
        size: 2,
        query: {
          knn: {
            embedding: {
              vector: [1, 0, 0.5],
              k: 2,
              filter: { bool: { filter: [{ term: { color: 'BLUE' } }] } },
            },
          },
        },
        _source: false,
      },
    });
  });

  it.each([
    ['the field', { ...knn, space_type: 'innerproduct' }, 'shifted_dot'],
    ['its method', { type: 'knn_vector', dimension: 3, method: { space_type: 'l2' } }, 'inverse_squared_l2'],
    ['the default (l2)', { type: 'knn_vector', dimension: 3 }, 'inverse_squared_l2'],
  ])(
    'reads the space type from %s, keeps the score, and reads vectors from the source',
    async (_, mapping, scoreKind) => {
      const hit = { _index: 'docs-000001', _id: 'a', _score: 2, _source: { embedding: [1, 0, 0] } };
      const api = await replay(mappingOf(mapping), knnSettings, hits(hit));
      expect(await opensearch(api).nearest(request, never)).toMatchObject({
        value: { neighbours: [{ score: 2, scoreKind }] },
      });
      expect(api.calls[2]?.body).toMatchObject({ _source: { includes: ['embedding'] } });
    },
  );

  it('compares every vector with Painless functions in exact mode', async () => {
    const api = await replay(mappingOf(knn), knnSettings, hits());
    await opensearch(api).nearest({ ...request, exact: true }, never);
    expect(api.calls[2]?.body).toMatchObject({
      query: {
        script_score: {
          script: {
            source: 'Math.max(0.0, (1.0 + cosineSimilarity(params.query_value, doc[params.field])) / 2.0)',
            params: { field: 'embedding', query_value: [1, 0, 0.5] },
          },
        },
      },
    });
  });

  it.each([
    ['a space without a cosine', { ...knn, space_type: 'l1' }],
    ['vectors of bits', { ...knn, data_type: 'binary' }],
    ['vectors in a nested field', { type: 'nested', properties: {} }],
  ])('is not supported for %s', async (_, mapping) => {
    const nested = mapping.type === 'nested';
    const api = await replay(
      nested ? { d: { mappings: { properties: { a: mapping } } } } : mappingOf(mapping),
      knnSettings,
    );
    const store = opensearch(api, nested ? { embedding: 'a.embedding' } : {});
    expect(await store.nearest(request, never)).toMatchObject({ kind: 'unsupported' });
  });
});

describe('a sample of a search engine', () => {
  it('is drawn by random_score with the seed, then fetched with vectors in that order', async () => {
    const drawn = ['b', 'a'].map((_id) => ({ _index: 'docs-000001', _id, _score: 0.7 }));
    const stored = ['a', 'b'].map((_id) => ({
      _index: 'docs-000001',
      _id,
      _score: 1,
      _source: { body: `Text ${_id}` },
      fields: { embedding: [1, 2, 3] },
    }));
    const api = await replay(mappingOf(dense), settingsOf(), hits(...drawn), hits(...stored));
    const store = elasticsearch(api, { content: 'body' });
    expect(await store.sample({ n: 2, seed: 7, withContent: true }, never)).toMatchObject({
      value: { ids: ['b', 'a'], contents: ['Text b', 'Text a'], isSeeded: true },
    });
    expect(api.calls.slice(2).map(({ body }) => body)).toEqual([
      {
        size: 2,
        query: {
          function_score: {
            query: { exists: { field: 'embedding' } },
            functions: [{ random_score: { seed: 7, field: '_seq_no' } }],
            boost_mode: 'replace',
          },
        },
        _source: false,
      },
      {
        size: 2,
        query: { ids: { values: ['b', 'a'] } },
        _source: { includes: ['body'] },
        fields: ['embedding'],
      },
    ]);
  });

  it('is not supported beyond the maximum result window', async () => {
    const window = settingsOf({ 'index.max_result_window': '500' });
    const api = await replay(mappingOf(dense), window, { count: 501 });
    expect(await elasticsearch(api).sample({ n: 600, seed: 7, withContent: false }, never)).toMatchObject({
      kind: 'unsupported',
      reason: 'Elasticsearch samples at most 500 documents at a time (max_result_window).',
    });
  });
});

describe('the description of a search engine', () => {
  const info = {
    name: 'instance-0',
    cluster_name: 'c',
    version: { number: '9.1.0' },
    tagline: 'You Know, for Search',
  };

  it('contains the version, and the name and UUID of the index behind an alias', async () => {
    const api = await replay(mappingOf(dense), settingsOf(), info, { count: 70, _shards: { failed: 0 } });
    expect(await elasticsearch(api).describe(never)).toMatchObject({
      value: {
        count: 70,
        isExactCount: true,
        dimensions: 3,
        metric: 'cosine',
        traits: { version: '9.1.0', index: 'docs-000001', index_uuid: 'b1Xn2', size_class: '3' },
      },
    });
    expect(api.calls[3]).toEqual({
      call: 'POST /docs/_count',
      body: { query: { exists: { field: 'embedding' } } },
    });
  });

  it('does not change when a document adds a field, but changes with the vector field', async () => {
    const traitsOf = async (vector: unknown, properties = {}) => {
      const api = await replay(mappingOf(vector, properties), settingsOf(), status(403), { count: 70 });
      const outcome = await elasticsearch(api).describe(never);
      return outcome.kind === 'ok' ? outcome.value.traits : outcome;
    };
    const traits = await traitsOf(dense);
    expect(traits).toMatchObject({ version: 'hidden' });
    expect(await traitsOf(dense, { author: { type: 'text' } })).toEqual(traits);
    expect(await traitsOf({ ...dense, index_options: { type: 'int8_hnsw' } })).not.toEqual(traits);
  });
});

describe('ids in a search engine', () => {
  it('are looked up as document ids, or as values of a field with one bucket for each id', async () => {
    const api = await replay(mappingOf(dense), settingsOf(), hits({ _id: 'a' }));
    expect(await elasticsearch(api).existing(['a', 'b', ''], never)).toMatchObject({ value: new Set(['a']) });
    expect(api.calls[2]?.body).toEqual({ size: 2, query: { ids: { values: ['a', 'b'] } }, _source: false });

    const buckets = [{ key: 'd-1', doc_count: 12 }];
    const byField = await replay(mappingOf(knn), knnSettings, {
      hits: { hits: [] },
      aggregations: { ids: { buckets } },
    });
    const store = opensearch(byField, { id: 'doc' });
    expect(await store.existing(['d-1', 'd-2'], never)).toMatchObject({ value: new Set(['d-1']) });
    expect(byField.calls[2]?.body).toEqual({
      size: 0,
      query: { terms: { doc: ['d-1', 'd-2'] } },
      aggs: { ids: { terms: { field: 'doc', include: ['d-1', 'd-2'], size: 2 } } },
    });
  });
});

describe('a rejected request to a search engine', () => {
  it.each([
    ['a missing index', status(404), 'collection_missing', /there is no index or alias docs; check .*\.index\.$/],
    ['a wrong key', status(403), 'http_403', /check .*vector_store\.api_key; read permission is enough\.$/],
    ['an answer of another service', {}, 'unexpected_answer', /the response has no mappings/],
  ])('is reported with a fix and without a secret: %s', async (_, answer, code, message) => {
    const outcome = await elasticsearch(await replay(answer, answer)).describe(never);
    expect(outcome).toMatchObject({
      kind: 'failed',
      code,
      message: expect.stringMatching(message) as unknown,
    });
    expect(JSON.stringify(outcome)).not.toContain('a-secret');
  });
});

/**
 * Requests and answers as Weaviate documents them: openapi-specs/schema.json of github.com/weaviate/weaviate, seen on
 * 2026-08-20 (Class, VectorConfig, GraphQLQuery, GraphQLResponse), and the pages "Vector similarity search", "Read all
 * objects" and "Filters" of docs.weaviate.io.
 */
import { describe, expect, it } from 'vitest';
import type { StoreConfigOf } from '../../../../src/connectors/stores/config.ts';
import type { VectorStore } from '../../../../src/connectors/stores/vector-store.ts';
import { httpService, openStore } from '../../../support/connectors.ts';
import { status } from '../../../support/fault-server.ts';
import { type RecordedApi, replay } from '../../../support/recorded-api.ts';

const never = new AbortController().signal;
const request = { vector: Float32Array.of(1, 0, 0.5), k: 2, filter: {}, exact: false, withContent: false };
const UUID = '36ddd591-2dee-4e7e-a3cc-eb86d30a4303';

function schema(changes: object = {}) {
  const text = (name: string, tokenization: string) => ({ name, dataType: ['text'], tokenization });
  return {
    class: 'Docs',
    vectorizer: 'none',
    vectorIndexType: 'hnsw',
    vectorIndexConfig: { distance: 'cosine', ef: -1, maxConnections: 32 },
    properties: [
      text('doc', 'field'),
      text('body', 'word'),
      { name: 'year', dataType: ['int'] },
      { name: 'price', dataType: ['number'] },
      { name: 'hot', dataType: ['boolean'] },
    ],
    shardingConfig: { desiredCount: 1, actualCount: 1 },
    ...changes,
  };
}
const got = (...objects: readonly object[]) => ({ data: { Get: { Docs: objects } } });
const object = (additional: object, properties = {}) => ({
  ...properties,
  _additional: { id: UUID, ...additional },
});
const first = got(object({ vector: [1, 2, 3] }));
const counted = (count: number) => ({ data: { Aggregate: { Docs: [{ meta: { count } }] } } });

function storeAt(api: RecordedApi, changes: Partial<StoreConfigOf<'weaviate'>> = {}): VectorStore {
  const headers = { authorization: 'Bearer a-secret' };
  return openStore({ kind: 'weaviate', ...httpService(api, headers), collection: 'docs', ...changes });
}
const queryOf = (api: RecordedApi, call: number) => (api.calls[call]?.body as { query: string } | undefined)?.query;

describe('a search in Weaviate', () => {
  it('uses nearVector in GraphQL, with filters by the type of each property', async () => {
    const found = got(object({ distance: 0.25 }, { doc: 'd-1', body: 'Text' }));
    const api = await replay(schema(), first, found);
    const store = storeAt(api, { id: 'doc', content: 'body', tenant: 'acme' });
    const filter = { doc: 'a"b', year: '2024', price: '1.5', hot: 'true' };
    expect(await store.nearest({ ...request, filter, withContent: true }, never)).toMatchObject({
      value: {
        neighbours: [{ id: 'd-1', similarity: 0.75, score: 0.25, scoreKind: 'cosine_distance', content: 'Text' }],
        isShort: true,
      },
    });
    expect(api.calls.map(({ call }) => call)).toEqual(['GET /v1/schema/Docs', 'POST /v1/graphql', 'POST /v1/graphql']);
    expect(queryOf(api, 1)).toBe('{ Get { Docs(limit: 1, tenant: "acme") { _additional { id vector } } } }');
    const operands = [
      String.raw`{ path: ["doc"], operator: Equal, valueText: "a\"b" }`,
      '{ path: ["year"], operator: Equal, valueInt: 2024 }',
      '{ path: ["price"], operator: Equal, valueNumber: 1.5 }',
      '{ path: ["hot"], operator: Equal, valueBoolean: true }',
    ];
    expect(queryOf(api, 2)).toBe(
      `{ Get { Docs(nearVector: { vector: [1,0,0.5] }, limit: 2, where: { operator: And, operands: [${operands.join(', ')}] }, tenant: "acme") { doc body _additional { id distance } } } }`,
    );
    expect(api.headers.authorization).toBe('Bearer a-secret');
  });

  it.each([
    ['l2-squared', 'squared_l2'],
    ['dot', 'negative_dot'],
  ])('over %s of a named vector computes the cosine from the vectors', async (distance, scoreKind) => {
    const vectorConfig = {
      title: { vectorizer: { none: {} }, vectorIndexType: 'hnsw', vectorIndexConfig: { distance } },
    };
    const named = { vectorIndexType: undefined, vectorIndexConfig: undefined, vectorConfig };
    const found = got(object({ distance: -1.25, vectors: { title: [2, 0, 1] } }));
    const api = await replay(schema(named), got(object({ vectors: { title: [1, 2, 3] } })), found);
    expect(await storeAt(api, { vector_name: 'title' }).nearest(request, never)).toMatchObject({
      value: { neighbours: [{ id: UUID, score: -1.25, scoreKind, similarity: 1 }] },
    });
    expect(queryOf(api, 2)).toBe(
      '{ Get { Docs(nearVector: { vector: [1,0,0.5], targetVectors: ["title"] }, limit: 2) { _additional { id distance vectors { title } } } } }',
    );
  });

  it('can be exact only over a flat index', async () => {
    const exact = { ...request, exact: true };
    const flat = await replay(schema({ vectorIndexType: 'flat' }), first, got());
    expect(await storeAt(flat).nearest(exact, never)).toMatchObject({ kind: 'ok' });
    expect(await storeAt(await replay(schema(), first)).nearest(exact, never)).toMatchObject({
      kind: 'unsupported',
    });
  });

  it('finds nothing for a value that a property cannot have, and rejects filters on tokenized or unknown properties', async () => {
    const store = storeAt(await replay(schema(), first));
    expect(await store.nearest({ ...request, filter: { year: 'soon' } }, never)).toMatchObject({
      value: { neighbours: [] },
    });
    expect(await store.nearest({ ...request, filter: { hot: 'yes' } }, never)).toMatchObject({
      value: { neighbours: [] },
    });
    for (const filter of [{ body: 'x' }, { unknown: 'x' }]) {
      expect(await store.nearest({ ...request, filter }, never)).toMatchObject({ kind: 'unsupported' });
    }
  });

  it('rejects a collection name that is not a GraphQL name', async () => {
    const api = await replay(schema(), first);
    expect(await storeAt(api, { collection: 'Docs { x }' }).nearest(request, never)).toMatchObject({
      kind: 'unsupported',
    });
    expect(api.calls).toHaveLength(0);
  });

  it.each([
    ['a metric without a cosine', schema({ vectorIndexConfig: { distance: 'hamming' } }), 'unsupported'],
    ['several named vectors without a choice', schema({ vectorConfig: { a: {}, b: {} } }), 'failed'],
  ])('is not possible for %s', async (_, described, kind) => {
    expect(await storeAt(await replay(described, first)).nearest(request, never)).toMatchObject({ kind });
  });
});

describe('a sample of Weaviate', () => {
  it('is drawn from the UUIDs of all objects, read by the cursor, then fetched by UUID', async () => {
    const page = Array.from({ length: 1000 }, (_, number) => {
      return { _additional: { id: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}` } };
    });
    const api = await replay(schema(), first, counted(1001), got(...page), got(object({})), first);
    const outcome = await storeAt(api, { content: 'body' }).sample({ n: 1, seed: 1, withContent: true }, never);
    expect(outcome).toMatchObject({ kind: 'ok', value: { isSeeded: true } });
    expect(queryOf(api, 2)).toBe('{ Aggregate { Docs { meta { count } } } }');
    expect(queryOf(api, 3)).toBe(
      '{ Get { Docs(limit: 1000, after: "00000000-0000-0000-0000-000000000000") { _additional { id } } } }',
    );
    expect(queryOf(api, 4)).toBe(
      '{ Get { Docs(limit: 1000, after: "00000000-0000-4000-8000-000000000999") { _additional { id } } } }',
    );
    expect(queryOf(api, 5)).toMatch(
      /^\{ Get \{ Docs\(limit: 1, where: \{ operator: Or, operands: \[\{ path: \["id"\], operator: Equal, valueText: "[0-9a-f-]{36}" \}\] \}\) \{ body _additional \{ id vector \} \} \} \}$/,
    );
  });

  it('is not supported if there are too many objects to read', async () => {
    const api = await replay(schema(), first, counted(1_000_001));
    expect(await storeAt(api).sample({ n: 1, seed: 1, withContent: false }, never)).toMatchObject({
      kind: 'unsupported',
    });
  });
});

describe('the description of a Weaviate collection', () => {
  it('does not change when a document adds a property, but changes with the index', async () => {
    const traitsOf = async (described: unknown) => {
      const meta = { version: '1.33.1', hostname: 'http://[::]:8080', modules: {} };
      const outcome = await storeAt(await replay(described, first, counted(70), meta)).describe(never);
      return outcome.kind === 'ok' ? outcome.value : outcome;
    };
    const before = await traitsOf(schema());
    expect(before).toMatchObject({
      count: 70,
      isExactCount: true,
      dimensions: 3,
      metric: 'cosine',
      traits: { version: '1.33.1', collection: 'Docs', index: 'hnsw', metric: 'cosine', size_class: '3' },
    });
    expect(await traitsOf(schema({ properties: [] }))).toEqual(before);
    expect(await traitsOf(schema({ vectorIndexConfig: { distance: 'cosine', ef: 64 } }))).not.toEqual(before);
  });
});

describe('ids in Weaviate', () => {
  it('can be UUIDs or values of a property', async () => {
    const api = await replay(got(object({})));
    expect(await storeAt(api).existing([UUID.toUpperCase(), 'doc-1'], never)).toMatchObject({
      value: new Set([UUID.toUpperCase()]),
    });
    expect(queryOf(api, 0)).toContain(`operands: [{ path: ["id"], operator: Equal, valueText: "${UUID}" }]`);

    const byProperty = await replay(schema(), first, got(object({}, { doc: 'a' })));
    expect(await storeAt(byProperty, { id: 'doc' }).existing(['a', 'b'], never)).toMatchObject({
      value: new Set(['a']),
    });
    expect(queryOf(byProperty, 2)).toBe(
      '{ Get { Docs(limit: 1000, where: { path: ["doc"], operator: ContainsAny, valueText: ["a","b"] }) { doc _additional { id } } } }',
    );
  });
});

describe('a rejected request to Weaviate', () => {
  it.each([
    ['a missing collection', status(404), 'collection_missing', /there is no collection Docs; check .*\.collection\.$/],
    ['a wrong key', status(401), 'http_401', /check .*vector_store\.api_key; read permission/],
  ])('is reported with a fix: %s', async (_, answer, code, message) => {
    const outcome = await storeAt(await replay(answer)).describe(never);
    expect(outcome).toMatchObject({
      kind: 'failed',
      code,
      message: expect.stringMatching(message) as unknown,
    });
  });

  it('does not repeat the error text of GraphQL', async () => {
    const api = await replay(schema(), { data: null, errors: [{ message: 'near 0.123456 of a-secret' }] });
    const outcome = await storeAt(api).describe(never);
    expect(outcome).toMatchObject({ kind: 'failed', code: 'request_refused' });
    expect(JSON.stringify(outcome)).not.toMatch(/a-secret|0\.1234/);
  });
});

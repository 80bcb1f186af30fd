import { afterEach, describe, expect, it } from 'vitest';
import { vectorStoreSchema } from '../../../../src/connectors/stores/config.ts';
import { createVectorStore } from '../../../../src/connectors/stores/open-store.ts';
import type { VectorStore } from '../../../../src/connectors/stores/vector-store.ts';
import { type FaultServer, json, startFaultServer, status, when } from '../../../support/fault-server.ts';

const never = new AbortController().signal;
const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

function open(config: unknown): VectorStore {
  const store = createVectorStore(vectorStoreSchema.parse(config), 'pipelines[0].vector_store');
  cleanups.push(() => store.close());
  return store;
}

async function serve(...[responder]: Parameters<typeof startFaultServer>): Promise<FaultServer> {
  const server = await startFaultServer(responder);
  cleanups.push(() => server.close());
  return server;
}

describe('the vector store of a pipeline', () => {
  it('can be Chroma, which is queried with its key in the configured database', async () => {
    const server = await serve(
      when(({ target }) => target.endsWith('/get'), json({ ids: ['a'] }), json({ id: 'c-1' })),
    );
    const store = open({
      kind: 'chroma',
      url: server.url,
      api_key: 'k-1',
      headers: { 'x-team': 'search' },
      tenant: 'acme co',
      database: 'prod/eu',
      collection: 'chunks',
    });
    expect(await store.existing(['a', 'b'], never)).toMatchObject({ kind: 'ok', value: new Set(['a']) });
    const collections = '/api/v2/tenants/acme%20co/databases/prod%2Feu/collections';
    expect(server.requests.map(({ method, target }) => [method, target])).toEqual([
      ['GET', `${collections}/chunks`],
      ['POST', `${collections}/c-1/get`],
    ]);
    for (const { headers } of server.requests) {
      expect(headers).toMatchObject({ 'x-chroma-token': 'k-1', 'x-team': 'search' });
    }
  });

  it('can be pgvector, which connects only when the store is used', async () => {
    const store = open({ kind: 'pgvector', url: 'postgres://reader:p@127.0.0.1:1/rag', table: 'chunks' });
    expect(store.kind).toBe('pgvector');
    expect(await store.describe(never)).toMatchObject({ kind: 'failed', code: 'connection_refused' });
  });

  it.each([
    ['qdrant', { collection: 'c', api_key: 'k-1' }, { 'api-key': 'k-1' }, 'GET /collections/c'],
    ['elasticsearch', { index: 'i', api_key: 'k-1' }, { authorization: 'ApiKey k-1' }, 'GET /i/_mapping'],
    [
      'opensearch',
      { index: 'i', username: 'reader', password: 'p' },
      { authorization: `Basic ${Buffer.from('reader:p').toString('base64')}` },
      'GET /i/_mapping',
    ],
    ['weaviate', { collection: 'docs', api_key: 'k-1' }, { authorization: 'Bearer k-1' }, 'GET /v1/schema/Docs'],
    [
      'milvus',
      { collection: 'c', token: 'root:Milvus' },
      { authorization: 'Bearer root:Milvus' },
      'POST /v2/vectordb/collections/describe',
    ],
    ['pinecone', { api_key: 'k-1' }, { 'api-key': 'k-1' }, 'POST /describe_index_stats'],
  ])('can be %s, which is queried with its key', async (kind, fields, headers, call) => {
    const server = await serve(status(404));
    const store = open({ kind, url: server.url, ...fields });
    expect(store.kind).toBe(kind);
    expect(await store.describe(never)).toMatchObject({ kind: 'failed' });
    const [first] = server.requests;
    expect(`${first?.method} ${first?.target}`).toBe(call);
    expect(first?.headers).toMatchObject(headers);
  });

  it.each([
    ['redis_vector_set', { key: 'chunks' }],
    ['redis_search', { index: 'chunks' }],
  ])('can be %s, which connects only when the store is used', async (kind, fields) => {
    const store = open({ kind, url: 'redis://127.0.0.1:1', ...fields });
    expect(store.kind).toBe(kind);
    expect(await store.describe(never)).toMatchObject({ kind: 'failed', code: 'connection_refused' });
  });

  it('that cannot be created is rejected in one sentence without a secret', () => {
    const refused = (config: unknown): unknown => {
      try {
        return open(config);
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(refused({ kind: 'pgvector', url: 'host=db password=hunter2', table: 'chunks' })).toBe(
      'pipelines[0].vector_store.url: not a postgres:// URL.',
    );
    expect(refused({ kind: 'chroma', url: 'chroma:8000', collection: 'c' })).toBe(
      'pipelines[0].vector_store.url: the scheme chroma: is not supported; use http: or https:.',
    );
  });

  it.each([
    ['chroma', { api_key: 'k-secret', collection: 'chunks' }, 'api_key'],
    ['qdrant', { collection: 'chunks' }, 'api_key'],
    ['milvus', { collection: 'chunks', token: 'k-secret' }, 'token'],
    ['elasticsearch', { index: 'chunks', api_key: 'k-secret' }, 'api_key'],
    ['opensearch', { index: 'chunks', username: 'reader', password: 'k-secret' }, 'password'],
  ])('that rejects its key is reported with the config key: %s', async (kind, fields, key) => {
    const server = await serve(status(401));
    const outcome = await open({ kind, url: server.url, ...fields }).describe(never);
    expect(outcome).toMatchObject({
      kind: 'failed',
      code: 'http_401',
      message: expect.stringContaining(`check pipelines[0].vector_store.${key}; read permission`) as unknown,
    });
    expect(JSON.stringify(outcome)).not.toContain('k-secret');
  });
});

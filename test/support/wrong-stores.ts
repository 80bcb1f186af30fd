/**
 * Stores in which some documents are wrong: pgvector, Chroma, a stand-in for a Redis index and, if
 * RECALLD_TEST_REDIS_URL is the URL of a Redis 8 server, a vector set on that server.
 */

import { Redis } from 'ioredis';
import { Pool } from 'pg';
import type { VectorStore } from '../../src/connectors/stores/vector-store.ts';
import { type PgvectorServer, startPglite } from '../../src/demo/rag/store.ts';
import { bytesOfVector } from '../../src/platform/postgres/values.ts';
import { addRecords, createCollection, dropCollection, openChroma, startChroma } from './chroma.ts';
import { openStore } from './connectors.ts';
import { startFakeRedisSearch } from './fake-redis-search.ts';
import { type Line, textOf, vectorOf } from './index-world.ts';
import { openPgvector } from './pgvector.ts';

/**
 * Faults of a document: it is only in the manifest (`missing`) or only in the store (`orphaned`), the store also has an
 * old chunk of it (`superseded`), or its vector is from another model (`other_model`).
 */
export const wrongWays = ['missing', 'orphaned', 'superseded', 'other_model'] as const;

export type WrongWay = (typeof wrongWays)[number];

export interface StoredRow {
  readonly key: string;
  readonly doc: string;
  readonly version: string;
  readonly text: string;
  readonly vector: Float32Array;
}

export function rowOf(doc: string): StoredRow {
  const text = textOf(doc);
  return { key: `${doc}#1`, doc, version: 'v1', text, vector: vectorOf(text) };
}

/** @param ways the fault of each document; null for a correct document */
export function wrongRows(ways: readonly (WrongWay | null)[]): StoredRow[] {
  return ways.flatMap((way, id) => {
    if (way === 'missing') return [];
    const doc = `doc-${id}`;
    const row = rowOf(doc);
    if (way === 'other_model') return [{ ...row, vector: vectorOf(row.text, 7) }];
    const old = `Before. ${row.text}`;
    return way === 'superseded'
      ? [row, { key: `${doc}#0`, doc, version: 'v0', text: old, vector: vectorOf(old) }]
      : [row];
  });
}

export function manifestOf(ways: readonly (WrongWay | null)[]): Line[] {
  return ways.flatMap((way, id) =>
    way === 'orphaned' ? [] : [{ id: `doc-${id}`, hash: 'v1', updated_at: '2025-03-01T00:00:00Z' }],
  );
}

/** A store that a test may fill. */
export interface FillableStore {
  readonly store: VectorStore;
  /** True if a document can have more than one chunk; if false, the caller omits old chunks. */
  readonly hasChunks: boolean;
  readonly add: (rows: readonly StoredRow[]) => Promise<void>;
  /** Removes everything. */
  readonly empty: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const DIMENSIONS = 16;
const MAX_AT_ONCE = 1000;

async function inPortionsOf(rows: readonly StoredRow[], add: (rows: readonly StoredRow[]) => Promise<unknown>) {
  for (let from = 0; from < rows.length; from += MAX_AT_ONCE) await add(rows.slice(from, from + MAX_AT_ONCE));
}

export async function fillablePgvector(): Promise<FillableStore> {
  const url = process.env['RECALLD_TEST_PGVECTOR_URL'];
  const server: PgvectorServer = url === undefined ? await startPglite() : { url, stop: async () => undefined };
  const table = `recalld_test_wrong_${process.pid}`;
  const pool = new Pool({ connectionString: server.url, max: 1 });
  pool.on('error', () => undefined);
  await pool.query('create extension if not exists vector');
  await pool.query(`create table ${table} (doc text, version text, body text, embedding vector(${DIMENSIONS}))`);
  const store = openPgvector({ url: server.url, table, id: 'doc', version: 'version' });
  return {
    store,
    hasChunks: true,
    add: (rows) =>
      inPortionsOf(rows, (some) =>
        pool.query(
          `insert into ${table} select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]::vector[])`,
          [
            some.map(({ doc }) => doc),
            some.map(({ version }) => version),
            some.map(({ text }) => text),
            some.map(({ vector }) => `[${vector.join()}]`),
          ],
        ),
      ),
    async empty() {
      await pool.query(`truncate ${table}`);
    },
    async close() {
      await store.close();
      await pool.query(`drop table ${table}`);
      await pool.end();
      await server.stop();
    },
  };
}

export async function fillableChroma(): Promise<FillableStore> {
  const server = await startChroma();
  const create = () => createCollection(server, 'chunks', { hnsw: { space: 'cosine' } });
  await create();
  const store = openChroma(server, 'chunks', { url: server.url, timeoutMs: 20_000, retries: 0 }, 'doc');
  return {
    store,
    hasChunks: true,
    add: (rows) =>
      inPortionsOf(rows, (some) =>
        addRecords(server, 'chunks', {
          ids: some.map(({ key }) => key),
          embeddings: some.map(({ vector }) => [...vector]),
          documents: some.map(({ text }) => text),
          metadatas: some.map(({ doc, version }) => ({ doc, language: version })),
        }),
      ),
    async empty() {
      await dropCollection(server, 'chunks');
      await create();
    },
    async close() {
      await store.close();
      await server.stop();
    },
  };
}

const withoutOld = (rows: readonly StoredRow[]): readonly StoredRow[] => rows.filter(({ version }) => version === 'v1');

/** A stand-in for Redis with RediSearch. A document is a single key, so no document has two chunks. */
export async function fillableRedisIndex(): Promise<FillableStore> {
  const server = await startFakeRedisSearch();
  const writer = new Redis(server.url, { protocol: 2, enableReadyCheck: false, disableClientInfo: true });
  const vector = ['TYPE', 'FLOAT32', 'DIM', DIMENSIONS, 'DISTANCE_METRIC', 'COSINE'];
  const schema = ['SCHEMA', 'topic', 'TAG', 'language', 'TAG', 'embedding', 'VECTOR', 'FLAT', vector.length, ...vector];
  await writer.call('FT.CREATE', 'chunks', 'ON', 'HASH', 'PREFIX', 1, 'chunks:', ...schema);
  const keys = new Set<string>();
  const store = openStore({
    kind: 'redis_search',
    url: server.url,
    timeout_ms: 20_000,
    index: 'chunks',
    embedding: 'embedding',
    content: 'text',
    version: 'language',
  });
  return {
    store,
    hasChunks: false,
    async add(rows) {
      for (const { doc, text, version, vector: numbers } of withoutOld(rows)) {
        keys.add(`chunks:${doc}`);
        const fields = ['embedding', bytesOfVector(numbers), 'text', text, 'language', version];
        await writer.call('HSET', `chunks:${doc}`, ...fields);
      }
    },
    async empty() {
      for (const key of keys) await writer.del(key);
      keys.clear();
    },
    async close() {
      await store.close();
      writer.disconnect();
      await server.close();
    },
  };
}

/** A document is a single element, so no document has two chunks. @param url URL of a Redis 8 server */
export async function fillableVectorSet(url: string): Promise<FillableStore> {
  const writer = new Redis(url, { protocol: 2, enableReadyCheck: false, disableClientInfo: true });
  const key = `recalld_test_index_${process.pid}`;
  const store = openStore({
    kind: 'redis_vector_set',
    url,
    timeout_ms: 20_000,
    key,
    content: 'text',
    version: 'language',
  });
  return {
    store,
    hasChunks: false,
    add: (rows) =>
      inPortionsOf(withoutOld(rows), (some) =>
        Promise.all(
          some.map(({ doc, text, version, vector }) => {
            const attributes = JSON.stringify({ text, language: version });
            return writer.call('VADD', key, 'FP32', bytesOfVector(vector), doc, 'NOQUANT', 'SETATTR', attributes);
          }),
        ),
      ),
    async empty() {
      await writer.del(key);
    },
    async close() {
      await store.close();
      await writer.del(key);
      writer.disconnect();
    },
  };
}

/**
 * The five ways in which an index is wrong, on stores as they are: pgvector, Chroma, the API of a Redis index, and the
 * vector set of a Redis 8 where RECALLD_TEST_REDIS_URL names one.
 */
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { Retriever } from '../../../src/retrievers/retriever.ts';
import { vectorText } from '../../../src/stores/pgvector/rows.ts';
import { createPgvectorStore } from '../../../src/stores/pgvector/store.ts';
import { float32Bytes } from '../../../src/stores/redis/connection.ts';
import { createRedisSearchStore } from '../../../src/stores/redis/search.ts';
import { createRedisVectorSetStore } from '../../../src/stores/redis/vector-set.ts';
import type { VectorStore } from '../../../src/stores/vector-store.ts';
import { addRecords, createCollection, openChroma, startChroma } from '../../support/chroma.ts';
import { useDatabase } from '../../support/database.ts';
import { startFakeRedisSearch } from '../../support/fake-redis-search.ts';
import { IndexWorld, textOf, vectorOf } from '../../support/index-world.ts';
import { pgvectorSettings, startPglite } from '../../support/pgvector.ts';

const DOCUMENTS = 1000;
/** One of so many documents is gone, one withdrawn at the source, one has an old chunk, one is embedded by another model. */
type Period = 200 | 50 | 10;
const isOf = (id: number, way: number, period: Period): boolean => id % period === way;

interface StoredRow {
  readonly key: string;
  readonly doc: string;
  readonly version: string;
  readonly text: string;
  readonly vector: Float32Array;
}

function rowOf(doc: string): StoredRow {
  const text = textOf(doc);
  return { key: `${doc}#1`, doc, version: 'v1', text, vector: vectorOf(text) };
}

/** Asks the store for what is nearest to the vector of the question. */
function searching(store: VectorStore): Pick<Retriever, 'retrieve'> {
  return {
    async retrieve({ text, k }, signal) {
      const found = await store.nearest(
        { vector: vectorOf(text), k, filter: {}, exact: false, withContent: false },
        signal,
      );
      if (found.kind !== 'ok') throw new Error(JSON.stringify(found));
      const documents = found.value.neighbours.map(({ id, score }) => ({ id, score }));
      return { kind: 'documents', documents, latencyMs: 1, attempts: 1 };
    },
  };
}

function brokenRows(period: Period): StoredRow[] {
  return Array.from({ length: DOCUMENTS }, (_, id) => id).flatMap((id) => {
    if (isOf(id, 0, period)) return [];
    const doc = `doc-${id}`;
    const whole = rowOf(doc);
    const row = isOf(id, 3, period) ? { ...whole, vector: vectorOf(whole.text, 7) } : whole;
    const old = `Before. ${row.text}`;
    return isOf(id, 2, period)
      ? [row, { key: `${doc}#0`, doc, version: 'v0', text: old, vector: vectorOf(old) }]
      : [row];
  });
}

interface Opened {
  readonly store: VectorStore;
  add(rows: readonly StoredRow[]): Promise<void>;
  close(): Promise<void>;
}

let pglite: Awaited<ReturnType<typeof startPglite>> | null = null;
afterAll(() => pglite?.stop());

async function inPgvector(): Promise<Opened> {
  pglite ??= await startPglite();
  const server = pglite;
  const pool = new Pool({ connectionString: server.url, max: 1 });
  pool.on('error', () => undefined);
  await pool.query('create extension if not exists vector');
  await pool.query('drop table if exists chunks');
  await pool.query('create table chunks (doc text, version text, body text, embedding vector(16))');
  const store = createPgvectorStore(pgvectorSettings({ url: server.url, id: 'doc', version: 'version' }));
  return {
    store,
    async add(rows) {
      await pool.query(
        'insert into chunks select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]::vector[])',
        [
          rows.map(({ doc }) => doc),
          rows.map(({ version }) => version),
          rows.map(({ text }) => text),
          rows.map(({ vector }) => vectorText(vector)),
        ],
      );
    },
    async close() {
      await store.close();
      await pool.end();
    },
  };
}

async function inChroma(): Promise<Opened> {
  const server = await startChroma();
  await createCollection(server, 'chunks', { hnsw: { space: 'cosine' } });
  const store = openChroma(server, 'chunks', { url: server.url, timeoutMs: 20_000, retries: 0 }, 'doc');
  return {
    store,
    add: (rows) =>
      addRecords(server, 'chunks', {
        ids: rows.map(({ key }) => key),
        embeddings: rows.map(({ vector }) => [...vector]),
        documents: rows.map(({ text }) => text),
        metadatas: rows.map(({ doc, version }) => ({ doc, language: version })),
      }),
    async close() {
      await store.close();
      await server.stop();
    },
  };
}

/** A document is a key here, so that none has two chunks. */
async function inRedis(): Promise<Opened> {
  const server = await startFakeRedisSearch();
  const writer = new Redis(server.url, { protocol: 2, enableReadyCheck: false, disableClientInfo: true });
  const vector = ['TYPE', 'FLOAT32', 'DIM', 16, 'DISTANCE_METRIC', 'COSINE'];
  const schema = ['SCHEMA', 'topic', 'TAG', 'language', 'TAG', 'embedding', 'VECTOR', 'FLAT', vector.length, ...vector];
  await writer.call('FT.CREATE', 'chunks', 'ON', 'HASH', 'PREFIX', 1, 'chunks:', ...schema);
  const store = createRedisSearchStore({
    redis: { url: server.url, timeoutMs: 20_000, configField: 'pipelines[0].vector_store' },
    index: 'chunks',
    embedding: 'embedding',
    content: 'text',
    version: 'language',
  });
  return {
    store,
    async add(rows) {
      for (const { doc, text, version, vector: numbers } of rows.filter((row) => row.version === 'v1')) {
        const fields = ['embedding', float32Bytes(numbers), 'text', text, 'language', version];
        await writer.call('HSET', `chunks:${doc}`, ...fields);
      }
    },
    async close() {
      await store.close();
      writer.disconnect();
      await server.close();
    },
  };
}

const redisUrl = process.env['RECALLD_TEST_REDIS_URL'];

/** A document is an element here, so that none has two chunks. */
async function inVectorSet(): Promise<Opened> {
  const url = redisUrl ?? '';
  const writer = new Redis(url, { protocol: 2, enableReadyCheck: false, disableClientInfo: true });
  const key = `recalld_test_index_${process.pid}`;
  const store = createRedisVectorSetStore({
    redis: { url, timeoutMs: 20_000, configField: 'pipelines[0].vector_store' },
    key,
    content: 'text',
    version: 'language',
  });
  return {
    store,
    async add(rows) {
      for (const { doc, text, version, vector } of rows.filter((row) => row.version === 'v1')) {
        const attributes = JSON.stringify({ text, language: version });
        await writer.call('VADD', key, 'FP32', float32Bytes(vector), doc, 'NOQUANT', 'SETATTR', attributes);
      }
    },
    async close() {
      await store.close();
      await writer.del(key);
      writer.disconnect();
    },
  };
}

const database = useDatabase();
beforeEach(async () => {
  await database.pool.query(
    'truncate index_documents, index_arrivals, index_rounds, index_tallies, index_findings, index_suspects, latest_measurements, measurement_gaps, measurements',
  );
});

describe.each([
  ['pgvector', inPgvector, [200, 50, 10], true],
  ['Chroma', inChroma, [200, 50, 10], true],
  // It stands in for Redis with RediSearch, which is not to be had here: one share is enough to see it asked right.
  ['a stand-in for an index of Redis', inRedis, [50], false],
  ...(redisUrl === undefined ? [] : [['a vector set of Redis', inVectorSet, [200, 50, 10], false] as const]),
] as const)('%s', (_, open, periods, hasChunks) => {
  it.each(periods)('of which one in %i documents is wrong in each way says so in the first round', async (period) => {
    const [gone, withdrawn, old, mixed] = [0, 1, 2, 3].map(
      (way) => (id: string) => isOf(Number(id.slice(4)), way, period),
    );
    const wrong = DOCUMENTS / period;
    const rows = brokenRows(period);
    const opened = await open();
    const { store } = opened;
    try {
      await opened.add(rows);
      // Of 300 of a thousand, that chance finds none of the twenty has a probability of 0.1 %.
      const world = new IndexWorld(database.pool, { store, retriever: searching(store), probe: 300, embed: 300 });
      world.lines = Array.from({ length: DOCUMENTS }, (__, id) => `doc-${id}`)
        .filter((id) => withdrawn?.(id) === false)
        .map((id) => ({ id, hash: 'v1', updated_at: '2025-03-01T00:00:00Z' }));
      const named = DOCUMENTS - wrong;
      expect(await world.round()).toBe('done');
      expect(await world.value('index_missing_ratio')).toMatchObject({ value: wrong / named, n: named });
      expect((await world.found('missing')).every((id) => gone?.(id))).toBe(true);
      expect(await world.value('index_orphaned_ratio')).toMatchObject({ value: wrong / named, n: named });
      const orphaned = await world.found('orphaned');
      expect(orphaned).toHaveLength(wrong);
      expect(orphaned.every((id) => withdrawn?.(id))).toBe(true);
      const superseded = await world.value('index_superseded_ratio');
      const oldShare = hasChunks ? wrong / (named - wrong) : 0;
      expect(superseded?.ciLow).toBeLessThanOrEqual(oldShare);
      expect(superseded?.ciHigh).toBeGreaterThanOrEqual(oldShare);
      expect((await world.found('superseded')).every((id) => old?.(id))).toBe(true);
      const otherModel = await world.value('index_other_model_ratio');
      const chunks = hasChunks ? rows.length : rows.length - wrong;
      expect(otherModel?.n).toBeGreaterThanOrEqual(300);
      expect(otherModel?.ciLow).toBeLessThanOrEqual(wrong / chunks);
      expect(otherModel?.ciHigh).toBeGreaterThanOrEqual(wrong / chunks);
      expect((await world.found('other_model')).every((id) => mixed?.(id))).toBe(true);
      expect((await world.value('index_not_retrievable_ratio'))?.n).toBe(20);
      // What has the vector of another model is what its own text does not find.
      expect((await world.found('unretrievable')).every((id) => mixed?.(id))).toBe(true);
      if (period !== 50) return;
      const updated = world.clock.now().toISOString();
      const late = Array.from({ length: 40 }, (__, place) => `late-${place}`);
      world.lines.push(...late.map((id) => ({ id, hash: 'v1', updated_at: updated })));
      await world.round();
      await opened.add(late.slice(0, 30).map(rowOf));
      await world.round();
      // Thirty of the forty came between the two looks.
      const bounds = { value: 1800, ciLow: 900, ciHigh: 1800 };
      expect(await world.value('index_lag_median_seconds')).toMatchObject({ ...bounds, n: 40 });
      expect(await world.value('index_lag_seconds')).toMatchObject({ details: { is_at_least: true, waiting: 10 } });
    } finally {
      await opened.close();
    }
  });
});

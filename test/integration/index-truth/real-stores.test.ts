/** The five ways in which an index is wrong, on stores as they are: pgvector, Chroma, and the API of a Redis index. */
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { vectorText } from '../../../src/stores/pgvector/rows.ts';
import { createPgvectorStore } from '../../../src/stores/pgvector/store.ts';
import { float32Bytes } from '../../../src/stores/redis/connection.ts';
import { createRedisSearchStore } from '../../../src/stores/redis/search.ts';
import type { VectorStore } from '../../../src/stores/vector-store.ts';
import { addRecords, createCollection, openChroma, startChroma } from '../../support/chroma.ts';
import { useDatabase } from '../../support/database.ts';
import { startFakeRedisSearch } from '../../support/fake-redis-search.ts';
import { IndexWorld, textOf, vectorOf } from '../../support/index-world.ts';
import { pgvectorSettings, startPglite } from '../../support/pgvector.ts';

const DOCUMENTS = 1000;
/** Of 50 documents each: gone, withdrawn at the source, with an old chunk, embedded by another model. */
const isOf = (id: number, way: number): boolean => id % 50 === way;

interface StoredRow {
  readonly key: string;
  readonly doc: string;
  readonly version: string;
  readonly text: string;
  readonly vector: Float32Array;
}

function brokenRows(): StoredRow[] {
  return Array.from({ length: DOCUMENTS }, (_, id) => id).flatMap((id) => {
    if (isOf(id, 0)) return [];
    const doc = `doc-${id}`;
    const text = textOf(doc);
    const row = { key: `${doc}#1`, doc, version: 'v1', text, vector: vectorOf(text, isOf(id, 3) ? 7 : 0) };
    const old = `Before. ${text}`;
    return isOf(id, 2) ? [row, { key: `${doc}#0`, doc, version: 'v0', text: old, vector: vectorOf(old) }] : [row];
  });
}

interface Filled {
  readonly store: VectorStore;
  close(): Promise<void>;
}

async function inPgvector(rows: readonly StoredRow[]): Promise<Filled> {
  const server = await startPglite();
  const pool = new Pool({ connectionString: server.url, max: 1 });
  pool.on('error', () => undefined);
  await pool.query('create extension vector');
  await pool.query('create table chunks (doc text, version text, body text, embedding vector(16))');
  await pool.query(
    'insert into chunks select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]::vector[])',
    [
      rows.map(({ doc }) => doc),
      rows.map(({ version }) => version),
      rows.map(({ text }) => text),
      rows.map(({ vector }) => vectorText(vector)),
    ],
  );
  await pool.end();
  const store = createPgvectorStore(pgvectorSettings({ url: server.url, id: 'doc', version: 'version' }));
  return {
    store,
    async close() {
      await store.close();
      await server.stop();
    },
  };
}

async function inChroma(rows: readonly StoredRow[]): Promise<Filled> {
  const server = await startChroma();
  await createCollection(server, 'chunks', { hnsw: { space: 'cosine' } });
  await addRecords(server, 'chunks', {
    ids: rows.map(({ key }) => key),
    embeddings: rows.map(({ vector }) => [...vector]),
    documents: rows.map(({ text }) => text),
    metadatas: rows.map(({ doc, version }) => ({ doc, language: version })),
  });
  const store = openChroma(server, 'chunks', { url: server.url, timeoutMs: 20_000, retries: 0 }, 'doc');
  return {
    store,
    async close() {
      await store.close();
      await server.stop();
    },
  };
}

/** A document is a key here, so that none has two chunks. */
async function inRedis(rows: readonly StoredRow[]): Promise<Filled> {
  const server = await startFakeRedisSearch();
  const writer = new Redis(server.url, { protocol: 2, enableReadyCheck: false, disableClientInfo: true });
  const vector = ['TYPE', 'FLOAT32', 'DIM', 16, 'DISTANCE_METRIC', 'COSINE'];
  const schema = ['SCHEMA', 'topic', 'TAG', 'language', 'TAG', 'embedding', 'VECTOR', 'FLAT', vector.length, ...vector];
  await writer.call('FT.CREATE', 'chunks', 'ON', 'HASH', 'PREFIX', 1, 'chunks:', ...schema);
  for (const { doc, text, version, vector: numbers } of rows.filter((row) => row.version === 'v1'))
    await writer.call('HSET', `chunks:${doc}`, 'embedding', float32Bytes(numbers), 'text', text, 'language', version);
  const store = createRedisSearchStore({
    redis: { url: server.url, timeoutMs: 20_000, configField: 'pipelines[0].vector_store' },
    index: 'chunks',
    embedding: 'embedding',
    content: 'text',
    version: 'language',
  });
  return {
    store,
    async close() {
      await store.close();
      writer.disconnect();
      await server.close();
    },
  };
}

const database = useDatabase();
beforeEach(async () => {
  await database.pool.query(
    'truncate index_documents, index_rounds, index_tallies, index_findings, index_suspects, latest_measurements, measurement_gaps, measurements',
  );
});

describe.each([
  ['pgvector', inPgvector, true],
  ['Chroma', inChroma, true],
  ['an index of Redis', inRedis, false],
] as const)('%s', (_, fill, hasChunks) => {
  it('is told by each of the ways in which it is wrong, in the first round', async () => {
    const filled = await fill(brokenRows());
    try {
      const world = new IndexWorld(database.pool, { store: filled.store, retrieve: 0, embed: 200 });
      world.lines = Array.from({ length: DOCUMENTS }, (__, id) => id)
        .filter((id) => !isOf(id, 1))
        .map((id) => ({ id: `doc-${id}`, hash: 'v1', updated_at: '2025-03-01T00:00:00Z' }));
      expect(await world.round()).toBe('done');
      expect(await world.value('index_missing_ratio')).toMatchObject({ value: 20 / 980, n: 980 });
      expect((await world.found('missing')).every((id) => isOf(Number(id.slice(4)), 0))).toBe(true);
      const orphaned = await world.found('orphaned');
      expect(orphaned).toHaveLength(20);
      expect(orphaned.every((id) => isOf(Number(id.slice(4)), 1))).toBe(true);
      const superseded = await world.value('index_superseded_ratio');
      expect(superseded?.ciLow).toBeLessThanOrEqual(hasChunks ? 20 / 960 : 0);
      expect(superseded?.ciHigh).toBeGreaterThanOrEqual(hasChunks ? 20 / 960 : 0);
      expect((await world.found('superseded')).every((id) => isOf(Number(id.slice(4)), 2))).toBe(true);
      const mixed = await world.value('index_other_model_ratio');
      expect(mixed?.n).toBeGreaterThanOrEqual(200);
      expect((await world.found('other_model')).every((id) => isOf(Number(id.slice(4)), 3))).toBe(true);
    } finally {
      await filled.close();
    }
  });
});

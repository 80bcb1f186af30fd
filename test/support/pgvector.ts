/** PostgreSQL with pgvector, filled for tests: in this process (PGlite), or on a live server at a given address. */

import { Pool } from 'pg';
import type { z } from 'zod';
import type { vectorStoreSchema } from '../../src/connectors/stores/config.ts';
import type { VectorMetric, VectorStore } from '../../src/connectors/stores/vector-store.ts';
import type { PgvectorServer } from '../../src/demo/rag/store.ts';
import type { StoreService, TestIndex } from '../contract/vector-store-bench.ts';
import { openStore } from './connectors.ts';
import { startTcpOutage } from './outage.ts';
import type { VectorDocument } from './vector-documents.ts';

const operatorClasses = { cosine: 'vector_cosine_ops', l2: 'vector_l2_ops', dot: 'vector_ip_ops' } as const;

let tables = 0;

/** Creates tables in the database of `server`, each with an HNSW index, and drops them. */
export async function pgvectorService(server: PgvectorServer): Promise<StoreService> {
  const pool = new Pool({ connectionString: server.url, max: 1 });
  pool.on('error', () => undefined);
  await pool.query('create extension if not exists vector');
  return {
    url: server.url,
    async createIndex({ metric, dimensions }) {
      const table = `recalld_test_${process.pid}_${(tables += 1)}`;
      await pool.query(
        `create table ${table} (key text primary key, embedding vector(${dimensions}), body text, topic text, language text)`,
      );
      return tableIndex(pool, table, metric);
    },
    startOutage: () => startTcpOutage(server.url),
    async stop() {
      await pool.end();
      await server.stop();
    },
  };
}

function tableIndex(pool: Pool, table: string, metric: VectorMetric): TestIndex {
  return {
    async add(documents) {
      await insert(pool, table, documents);
      // The index is built after the first documents are inserted, because inserting into an existing index is slower.
      await pool.query(
        `create index if not exists ${table}_hnsw on ${table} using hnsw (embedding ${operatorClasses[metric]})`,
      );
      await pool.query(`analyze ${table}`);
    },
    async remove(ids) {
      await pool.query(`delete from ${table} where key = any($1::text[])`, [ids]);
      await pool.query(`analyze ${table}`);
    },
    async rebuild() {
      await pool.query(`reindex index ${table}_hnsw`);
    },
    open: ({ url, timeoutMs }) => openPgvector({ url, table, metric, timeout_ms: timeoutMs, version: 'language' }),
    async drop() {
      await pool.query(`drop table ${table}`);
    },
  };
}

export type PgvectorConfig = Extract<z.input<typeof vectorStoreSchema>, { kind: 'pgvector' }>;

export function openPgvector(changes: Partial<PgvectorConfig>): VectorStore {
  const url = 'postgres://127.0.0.1/postgres';
  return openStore({
    kind: 'pgvector',
    url,
    table: 'chunks',
    id: 'key',
    content: 'body',
    timeout_ms: 20_000,
    ...changes,
  });
}

async function insert(pool: Pool, table: string, documents: readonly VectorDocument[]): Promise<void> {
  const batch = 2000;
  for (let start = 0; start < documents.length; start += batch) {
    const some = documents.slice(start, start + batch);
    const client = await pool.connect();
    // PGlite keeps one client's packets together only inside a transaction.
    await client.query('begin');
    await client.query(
      `insert into ${table} (key, embedding, body, topic, language)
       select key, embedding::vector, body, topic, language
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
         as new (key, embedding, body, topic, language)`,
      [
        some.map(({ id }) => id),
        some.map((each) => `[${each.vector.join(',')}]`),
        some.map(({ content }) => content),
        some.map(({ fields }) => fields.topic),
        some.map(({ fields }) => fields.language),
      ],
    );
    await client.query('commit');
    client.release();
  }
}

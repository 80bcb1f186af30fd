/** Stores with a few thousand chunks, in which a test causes one fault in one document at a time. */
import { Pool } from 'pg';
import type { VectorStore } from '../../src/connectors/stores/vector-store.ts';
import { startPglite } from '../../src/demo/rag/store.ts';
import { addRecords, createCollection, deleteRecords, openChroma, startChroma, updateRecords } from './chroma.ts';
import { openPgvector } from './pgvector.ts';

export interface Chunk {
  readonly id: string;
  readonly vector: readonly number[];
  readonly body: string;
}

/** A store that a test may write to. */
export interface BreakableStore {
  readonly store: VectorStore;
  insert(chunks: readonly Chunk[]): Promise<void>;
  rewrite(id: string, body: string): Promise<void>;
  /** Changes the chunk so that the filter `language: en` excludes it. */
  hide(id: string): Promise<void>;
  remove(id: string): Promise<void>;
  /** Gives the chunk another vector. */
  readonly revector: (id: string, vector: readonly number[]) => Promise<void>;
  /** Removes the chunk's vector; null if the store does not allow that. */
  readonly unvector: ((id: string) => Promise<void>) | null;
  stop(): Promise<void>;
}

const MAX_AT_ONCE = 1000;

/**
 * The index searches one of a hundred lists, so a query at the border of its list misses chunks in neighboring lists.
 */
export async function breakablePgvector(dimensions: number, chunks: readonly Chunk[]): Promise<BreakableStore> {
  const server = await startPglite();
  const pool = new Pool({ connectionString: server.url, max: 1 });
  pool.on('error', () => undefined);
  const run = (sql: string, values: readonly unknown[] = []) => pool.query(sql, [...values]);
  const insert = async (added: readonly Chunk[]): Promise<void> => {
    await run(
      `insert into chunks (key, embedding, body)
       select key, embedding::vector, body from unnest($1::text[], $2::text[], $3::text[]) as new (key, embedding, body)`,
      [added.map(({ id }) => id), added.map(({ vector }) => `[${vector.join(',')}]`), added.map(({ body }) => body)],
    );
  };
  await run('create extension if not exists vector');
  await run(
    `create table chunks (key text primary key, embedding vector(${dimensions}), body text, language text default 'en')`,
  );
  await insert(chunks);
  await run('create index on chunks using ivfflat (embedding vector_cosine_ops) with (lists = 100)');
  await run('analyze chunks');
  const store = openPgvector({ url: server.url });
  return {
    store,
    insert,
    rewrite: async (id, body) => void (await run('update chunks set body = $2 where key = $1', [id, body])),
    hide: async (id) => void (await run(`update chunks set language = 'xx' where key = $1`, [id])),
    remove: async (id) => void (await run('delete from chunks where key = $1', [id])),
    revector: async (id, vector) =>
      void (await run('update chunks set embedding = $2::text::vector where key = $1', [id, `[${vector.join(',')}]`])),
    unvector: async (id) => void (await run('update chunks set embedding = null where key = $1', [id])),
    async stop() {
      await store.close();
      await pool.end();
      await server.stop();
    },
  };
}

/**
 * The graph has few edges and searches are narrow, so a search for few neighbors misses some neighbors that a search
 * for many neighbors finds.
 */
export async function breakableChroma(_dimensions: number, chunks: readonly Chunk[]): Promise<BreakableStore> {
  const server = await startChroma();
  const name = 'broken';
  const hnsw = { space: 'cosine', max_neighbors: 8, ef_construction: 100, ef_search: 10 };
  await createCollection(server, name, { hnsw });
  const insert = async (added: readonly Chunk[]): Promise<void> => {
    for (let from = 0; from < added.length; from += MAX_AT_ONCE) {
      const part = added.slice(from, from + MAX_AT_ONCE);
      await addRecords(server, name, {
        ids: part.map(({ id }) => id),
        embeddings: part.map(({ vector }) => vector),
        documents: part.map(({ body }) => body),
        metadatas: part.map(() => ({ language: 'en' })),
      });
    }
  };
  await insert(chunks);
  const store = openChroma(server, name, { ...server, timeoutMs: 20_000, retries: 0 });
  return {
    store,
    insert,
    rewrite: (id, body) => updateRecords(server, name, { ids: [id], documents: [body] }),
    hide: (id) => updateRecords(server, name, { ids: [id], metadatas: [{ language: 'xx' }] }),
    remove: (id) => deleteRecords(server, name, [id]),
    revector: (id, vector) => updateRecords(server, name, { ids: [id], embeddings: [vector] }),
    unvector: null,
    async stop() {
      await store.close();
      await server.stop();
    },
  };
}

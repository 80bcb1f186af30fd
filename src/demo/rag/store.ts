import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { dataDir } from '@electric-sql/pglite-prepopulatedfs';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { Pool } from 'pg';
import { vectorBytes } from '../../connectors/stores/pgvector/rows.ts';
import { inTransaction } from '../../platform/postgres/transaction.ts';
import { combineCalls } from '../../platform/threads/combine-calls.ts';
import type { DemoDocument } from './corpus.ts';

export interface Chunk extends DemoDocument {
  readonly embedding: Float32Array;
}

export type PgvectorServer = Awaited<ReturnType<typeof startPglite>>;

/** The demo's vector store, which is the table `chunks`. */
export type ChunkStore = Awaited<ReturnType<typeof startChunkStore>>;

/**
 * `storage plain` keeps the vectors in the table. By default, PostgreSQL would store most vectors in a separate (TOAST)
 * table, because a row with its text is larger than 2 kB. Every search would then look up each vector there.
 */
const schema = (dimensions: number) => `
  create extension vector;
  create table chunks (
    id text primary key,
    title text not null,
    body text not null,
    embedding vector(${dimensions}) storage plain not null
  );`;

/**
 * Starts PostgreSQL compiled to WebAssembly (PGlite) with pgvector in memory, on a free loopback port.
 *
 * PGlite has one backend for all clients: they share session settings and named prepared statements, and a client in a
 * transaction blocks all others. PGlite may interleave the messages of different clients outside transactions, so
 * writes of more than one packet need a transaction.
 *
 * @param settings lines of postgresql.conf
 */
export async function startPglite(settings: string[] = []) {
  const database = await PGlite.create({
    extensions: { vector },
    // Loads the stored result of initdb, because running initdb would take longer than the rest of the startup.
    loadDataDir: await dataDir(),
    postgresqlconf: settings,
  });
  // Works around a bug that pglite-socket 0.2.17 fixes: if a connection ends while the server is closing, the socket
  // calls this function on a closed database, and the resulting error would end the process.
  const isInTransaction = database.isInTransaction.bind(database);
  database.isInTransaction = () => !database.closed && isInTransaction();
  // Versions of pglite-socket before 0.2.15 keep counting connections that were reset, so any limit would eventually be
  // exceeded.
  const socket = new PGLiteSocketServer({ db: database, host: '127.0.0.1', port: 0, maxConnections: Infinity });
  await socket.start();
  return {
    /** `postgres://` URL for any PostgreSQL client, within the limits described at `startPglite`. */
    url: `postgres://postgres@${socket.getServerConn()}/postgres`,
    /** Stops the server; its data is lost. */
    async stop(): Promise<void> {
      await socket.stop();
      await database.close();
    },
  };
}

/** @param options.onError called if an idle connection fails */
export async function startChunkStore(options: { dimensions: number; onError: (error: Error) => void }) {
  // The corpus needs about 1 MB, but by default PostgreSQL would allocate 128 MB immediately.
  const server = await startPglite(['shared_buffers = 8MB']);
  const pool = new Pool({
    connectionString: server.url,
    // All connections share one backend, so additional connections would only wait. No connection timeout is set,
    // because a slow machine would exceed it while this process embeds the corpus.
    max: 1,
  });
  pool.on('error', options.onError);
  await pool.query(schema(options.dimensions));

  return {
    url: server.url,
    /** Adds chunks in one transaction; existing ids are unchanged. */
    insert: (chunks: readonly Chunk[]) =>
      inTransaction(pool, (client) =>
        client.query(
          `insert into chunks (id, title, body, embedding)
           select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]::vector[])
           on conflict (id) do nothing`,
          [
            chunks.map((chunk) => chunk.id),
            chunks.map((chunk) => chunk.title),
            chunks.map((chunk) => chunk.text),
            chunks.map((chunk) => vectorLiteral(chunk.embedding)),
          ],
        ),
      ),
    async remove(ids: readonly string[]): Promise<void> {
      await pool.query('delete from chunks where id = any($1::text[])', [ids]);
    },
    async count(): Promise<number> {
      const { rows } = await pool.query<{ count: number }>('select count(*)::int as count from chunks');
      return rows[0]?.count ?? 0;
    },
    /** Searches that start together use one statement. */
    search: combineCalls((searches: readonly Search[]) => searchChunks(pool, searches)),
    async stop(): Promise<void> {
      await pool.end();
      await server.stop();
    },
  };
}

interface Search {
  /** Must not be the zero vector. */
  readonly embedding: Float32Array;
  readonly k: number;
}

/**
 * Returns the nearest chunks of each search, ordered by cosine distance, then by id. The score is the cosine similarity
 * to the query, from -1 to 1.
 */
async function searchChunks(pool: Pool, searches: readonly Search[]) {
  const { rows } = await pool.query<{ place: number; id: string; score: number }>(
    `select place, id, 1 - distance as score
     from (values ${searches.map((_, at) => `(${at}, $${2 * at + 1}::vector, $${2 * at + 2}::int)`).join(', ')}) as search (place, query, k)
     cross join lateral (
       select id, embedding <=> query as distance from chunks order by embedding <=> query, id limit k
     ) as nearest
     order by place, distance, id`,
    searches.flatMap(({ embedding, k }) => [vectorBytes(embedding), k]),
  );
  return searches.map((_, at) => rows.filter(({ place }) => place === at).map(({ id, score }) => ({ id, score })));
}

/** Returns a vector in pgvector's text format; nine significant digits represent a float32 exactly. */
function vectorLiteral(embedding: Float32Array): string {
  return `[${Array.from(embedding, (value) => Number(value.toPrecision(9))).join(',')}]`;
}

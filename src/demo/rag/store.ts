import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { dataDir } from '@electric-sql/pglite-prepopulatedfs';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { Pool } from 'pg';
import { vectorBytes } from '../../connectors/stores/pgvector/rows.ts';
import type { DemoDocument } from './corpus.ts';

/** A document with the vector under which it is found. */
export interface Chunk extends DemoDocument {
  readonly embedding: Float32Array;
}

/** A document as a search found it; `score` is the cosine similarity to the query, -1 to 1. */
export interface FoundDocument extends DemoDocument {
  readonly score: number;
}

/** PostgreSQL with pgvector. */
export type PgvectorServer = Awaited<ReturnType<typeof startPglite>>;

/** The vector store of the demo: the table `chunks`. */
export interface ChunkStore extends PgvectorServer {
  /** Adds the chunks in one transaction; those whose id is there already stay as they are. */
  insert(chunks: readonly Chunk[]): Promise<void>;
  /** Removes the chunks of these ids; unknown ids are no error. */
  remove(ids: readonly string[]): Promise<void>;
  count(): Promise<number>;
  /** The k nearest by cosine distance, nearest first, ties by id. `embedding` must not be the zero vector. */
  search(embedding: Float32Array, k: number): Promise<FoundDocument[]>;
}

const schema = (dimensions: number) => `
  create extension vector;
  create table chunks (
    id text primary key,
    title text not null,
    body text not null,
    embedding vector(${dimensions}) not null
  );`;

/**
 * Starts PostgreSQL compiled to WebAssembly (PGlite) with pgvector in memory, on a free loopback port.
 *
 * PGlite has one backend for all clients: session settings and named prepared statements are shared, and a client
 * that stays in a transaction blocks the others. It also keeps the messages of one client together only inside a
 * transaction, so writes of more than one packet run in one.
 *
 * @param settings lines of postgresql.conf
 */
export async function startPglite(settings: string[] = []) {
  const database = await PGlite.create({
    extensions: { vector },
    // What initdb comes to, which takes longer than all else of the start.
    loadDataDir: await dataDir(),
    postgresqlconf: settings,
  });
  // A connection that ends while the database is closed asks for this afterwards, and its error would end the process;
  // from pglite-socket 0.2.17 on it does not.
  const isInTransaction = database.isInTransaction.bind(database);
  database.isInTransaction = () => !database.closed && isInTransaction();
  // Those that were reset count for ever before pglite-socket 0.2.15, so that any limit would be reached.
  const socket = new PGLiteSocketServer({ db: database, host: '127.0.0.1', port: 0, maxConnections: Infinity });
  await socket.start();
  return {
    /** `postgres://` address, for any PostgreSQL client; see startPglite for what one in this process can take. */
    url: `postgres://postgres@${socket.getServerConn()}/postgres`,
    /** The data of one in this process are gone. */
    async stop(): Promise<void> {
      await socket.stop();
      await database.close();
    },
  };
}

/** `onError` hears of connections that break while nobody uses them. */
export async function startChunkStore(options: {
  dimensions: number;
  onError: (error: Error) => void;
}): Promise<ChunkStore> {
  // The corpus takes about 1 MB, and the default of 128 MB is allocated at once.
  const server = await startPglite(['shared_buffers = 8MB']);
  const pool = new Pool({
    connectionString: server.url,
    // One backend serves all connections, so a second one would add waiting and no speed. It is of this process, which
    // embeds the corpus meanwhile: a limit of time would tell of a slow machine alone.
    max: 1,
  });
  pool.on('error', options.onError);
  await pool.query(schema(options.dimensions));

  return {
    url: server.url,
    insert: (chunks) => insertChunks(pool, chunks),
    async remove(ids) {
      await pool.query('delete from chunks where id = any($1::text[])', [ids]);
    },
    async count() {
      const { rows } = await pool.query<{ count: number }>('select count(*)::int as count from chunks');
      return rows[0]?.count ?? 0;
    },
    search: (embedding, k) => searchChunks(pool, embedding, k),
    async stop() {
      await pool.end();
      await server.stop();
    },
  };
}

async function insertChunks(pool: Pool, chunks: readonly Chunk[]): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(
      `insert into chunks (id, title, body, embedding)
       select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]::vector[])
       on conflict (id) do nothing`,
      [
        chunks.map((chunk) => chunk.id),
        chunks.map((chunk) => chunk.title),
        chunks.map((chunk) => chunk.text),
        chunks.map((chunk) => vectorLiteral(chunk.embedding)),
      ],
    );
    await client.query('commit');
    client.release();
  } catch (error) {
    // Closing the connection rolls the transaction back.
    client.release(true);
    throw error;
  }
}

async function searchChunks(pool: Pool, embedding: Float32Array, k: number): Promise<FoundDocument[]> {
  const { rows } = await pool.query<FoundDocument>(
    `select id, title, body as text, 1 - (embedding <=> $1::vector) as score
     from chunks
     order by embedding <=> $1::vector, id
     limit $2::int`,
    [vectorBytes(embedding), k],
  );
  return rows;
}

/** pgvector's text form; nine significant digits name a float32 exactly. */
function vectorLiteral(embedding: Float32Array): string {
  return `[${Array.from(embedding, (value) => Number(value.toPrecision(9))).join(',')}]`;
}

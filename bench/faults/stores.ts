/** The vector stores of the monitored service, in this process: PostgreSQL with pgvector, and LanceDB. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, type Table } from '@lancedb/lancedb';
import { Pool } from 'pg';
import { startPglite } from '../../src/demo/rag/store.ts';
import type { Row, Shape } from './shape.ts';
import { encoders } from './vectors.ts';

export interface ServiceStore {
  /** `vector_store` in the config of recalld. */
  readonly config: object;
  /** Replaces the contents of the store with these rows. */
  fill(rows: readonly Row[]): Promise<void>;
}

export interface Stores {
  /**
   * Returns the store of a shape. Every call returns the same store, so that its address in the config does not change.
   */
  open(shape: Shape): Promise<ServiceStore>;
  stop(): Promise<void>;
}

function isSame(a: Row, b: Row | undefined): boolean {
  return b !== undefined && a.vector === b.vector && a.text === b.text && a.version === b.version;
}

/** Returns the rows that were removed and the rows that were added. Compares ids, vectors and versions. */
function difference(before: ReadonlyMap<string, Row>, after: ReadonlyMap<string, Row>) {
  return {
    gone: [...before.values()].filter((row) => !isSame(row, after.get(row.id))),
    added: [...after.values()].filter((row) => !isSame(row, before.get(row.id))),
  };
}

function byId(rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}

export async function startStores(): Promise<Stores> {
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-faults-'));
  const opened = new Map<string, Promise<ServiceStore>>();
  let pglite: ReturnType<typeof openPglite> | null = null;
  const open = async ({ store, encoder, corpus }: Shape): Promise<ServiceStore> => {
    const table = `${corpus}_${encoder}`.replaceAll('-', '_');
    if (store === 'lancedb') return openLance(path.join(folder, table), encoders[encoder]);
    pglite ??= openPglite();
    return (await pglite).table(table, encoders[encoder]);
  };
  return {
    open(shape) {
      const key = [shape.store, shape.corpus, shape.encoder].join(' ');
      const known = opened.get(key) ?? open(shape);
      opened.set(key, known);
      return known;
    },
    async stop() {
      await (await pglite)?.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

async function openPglite() {
  const server = await startPglite(['shared_buffers = 16MB']);
  const pool = new Pool({ connectionString: server.url, max: 1 });
  pool.on('error', () => undefined);
  await pool.query('create extension if not exists vector');
  return {
    async table(name: string, dimensions: number): Promise<ServiceStore> {
      await pool.query(
        `create table ${name} (id text primary key, source text, language text, topic text, body text, version text, embedding vector(${dimensions}))`,
      );
      let held: ReadonlyMap<string, Row> = new Map();
      return {
        config: { kind: 'pgvector', url: server.url, table: name, content: 'body', version: 'version' },
        async fill(rows) {
          const wanted = byId(rows);
          const { gone, added } = difference(held, wanted);
          const client = await pool.connect();
          try {
            await client.query('begin');
            await client.query(`delete from ${name} where id = any($1::text[])`, [gone.map(({ id }) => id)]);
            await client.query(
              `insert into ${name} (id, source, language, topic, body, version, embedding)
               select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]::vector[])`,
              [
                added.map(({ id }) => id),
                added.map(({ source }) => source),
                added.map(({ language }) => language),
                added.map(({ topic }) => topic),
                added.map(({ text }) => text),
                added.map(({ version }) => version),
                added.map(({ vector }) => `[${Array.from(vector, (value) => value.toPrecision(9)).join(',')}]`),
              ],
            );
            await client.query('commit');
          } finally {
            client.release();
          }
          held = wanted;
        },
      };
    },
    async stop() {
      await pool.end();
      await server.stop();
    },
  };
}

const TABLE = 'chunks';

function toRecords(rows: readonly Row[]): Record<string, unknown>[] {
  return rows.map(({ id, source, language, topic, text, version, vector }) => ({
    id,
    source,
    language,
    topic,
    text,
    version,
    vector: Array.from(vector),
  }));
}

async function openLance(uri: string, dimensions: number): Promise<ServiceStore> {
  const connection = await connect(uri);
  let held: ReadonlyMap<string, Row> = new Map();
  let table: Table | null = null;
  return {
    config: { kind: 'lancedb', uri, table: TABLE, content: 'text', version: 'version' },
    async fill(rows) {
      const wanted = byId(rows);
      const { gone, added } = difference(held, wanted);
      if (table === null) {
        if (rows.some(({ vector }) => vector.length !== dimensions)) throw new Error('A vector has another length.');
        table = await connection.createTable(TABLE, toRecords(rows));
      } else {
        const ids = gone.map(({ id }) => `'${id.replaceAll("'", "''")}'`);
        if (ids.length > 0) await table.delete(`id in (${ids.join(', ')})`);
        if (added.length > 0) await table.add(toRecords(added));
        await table.optimize();
      }
      held = wanted;
    },
  };
}

import type { Pool } from 'pg';
import type { EmbeddingCanaries } from '../../../ports/embedding-canaries.ts';
import { bytesOfVector, vectorOfBytes } from '../vector-bytes.ts';

/** Canary vectors in PostgreSQL. */
export function createEmbeddingCanaries(pool: Pool): EmbeddingCanaries {
  return {
    async load(pipeline, embedder) {
      const { rows } = await pool.query<{ vector: Buffer }>(
        'select vector from embedding_canaries where pipeline = $1::text and embedder = $2::text order by position',
        [pipeline, embedder],
      );
      return rows.length === 0 ? null : rows.map(({ vector }) => vectorOfBytes(vector));
    },

    async keep(pipeline, embedder, vectors, now) {
      await pool.query(
        `insert into embedding_canaries (pipeline, embedder, position, vector, stored_at)
         select $1::text, $2::text, position - 1, vector, $4::timestamptz
           from unnest($3::bytea[]) with ordinality as canary (vector, position)
         on conflict do nothing`,
        [pipeline, embedder, vectors.map(bytesOfVector), now],
      );
    },

    async forget(pipeline) {
      await pool.query('delete from embedding_canaries where pipeline = $1::text', [pipeline]);
    },
  };
}

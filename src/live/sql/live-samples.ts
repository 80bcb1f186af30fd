import type { Pool } from 'pg';
import { vectorOfBytes } from '../../postgres/values.ts';
import type { LiveSamples } from '../ports/live-samples.ts';

interface SampleRow {
  id: string;
  text: string | null;
  embedding: Buffer | null;
  probability: number;
  session_hash: string;
}

/** Random samples of live queries in PostgreSQL. */
export function createLiveSamples(pool: Pool): LiveSamples {
  return {
    async draw({ pipeline, since, limit }) {
      // Ids are drawn before the vectors are read, which are most of the bytes.
      const { rows } = await pool.query<SampleRow>(
        `with drawn as (
           select received_on, id from live_queries
            where pipeline = $1::text and received_at >= $2::timestamptz and received_on >= ($2::timestamptz at time zone 'utc')::date
              and (text is not null or embedding is not null)
            order by random() limit $3::integer)
         select id, text, embedding, probability, session_hash from live_queries join drawn using (received_on, id) where pipeline = $1::text`,
        [pipeline, since, limit],
      );
      return rows.map(({ id, text, embedding, probability, session_hash: sessionHash }) => ({
        id,
        text,
        embedding: embedding === null ? null : vectorOfBytes(embedding),
        probability,
        sessionHash,
      }));
    },
  };
}

import type { Pool } from 'pg';
import { wellFormed } from '../../postgres/values.ts';
import type { GoldenDocuments } from '../ports/golden-documents.ts';

const LONGEST_TEXT = 20_000;

/** Texts of judged documents in PostgreSQL. */
export function createGoldenDocuments(pool: Pool): GoldenDocuments {
  return {
    async record(pipeline, documents, now) {
      const latest = new Map(documents.map(({ documentId, content }) => [documentId, content]));
      await pool.query(
        `insert into golden_documents (pipeline, document_id, content, seen_at)
         select $1::text, d.id, d.content, $4::timestamptz from unnest($2::text[], $3::text[]) as d (id, content)
         on conflict (pipeline, document_id) do update set content = excluded.content, seen_at = excluded.seen_at`,
        [
          pipeline,
          [...latest.keys()],
          [...latest.values()].map((text) => wellFormed(text.slice(0, LONGEST_TEXT).replaceAll('\0', ''))),
          now,
        ],
      );
    },

    async texts(pipeline, ids) {
      const { rows } = await pool.query<{ id: string; content: string }>(
        `select document_id as id, content from golden_documents
          where pipeline = $1::text and document_id = any($2::text[])`,
        [pipeline, ids],
      );
      return new Map(rows.map(({ id, content }) => [id, content]));
    },
  };
}

/**
 * What the judged documents of a pipeline said while they were in its store, so that a document that was cut anew can
 * be found again. A text longer than 20,000 characters is kept up to there.
 */
import type { Pool } from 'pg';
import { wellFormed } from '../../postgres/values.ts';

/** A judged document with the text that it had. */
export interface SeenDocument {
  readonly documentId: string;
  readonly content: string;
}

const MAX_TEXT = 20_000;

export type GoldenDocuments = ReturnType<typeof createGoldenDocuments>;

export function createGoldenDocuments(pool: Pool) {
  return {
    /** Stores texts; a document that is there gets the newer one. */
    async record(pipeline: string, documents: readonly SeenDocument[], now: Date): Promise<void> {
      const latest = new Map(documents.map(({ documentId, content }) => [documentId, content]));
      await pool.query(
        `insert into golden_documents (pipeline, document_id, content, seen_at)
         select $1::text, d.id, d.content, $4::timestamptz from unnest($2::text[], $3::text[]) as d (id, content)
         on conflict (pipeline, document_id) do update set content = excluded.content, seen_at = excluded.seen_at`,
        [
          pipeline,
          [...latest.keys()],
          [...latest.values()].map((text) => wellFormed(text.slice(0, MAX_TEXT).replaceAll('\0', ''))),
          now,
        ],
      );
    },

    /** What those of the documents said that were seen, and when last, by id. */
    async seen(
      pipeline: string,
      ids: readonly string[],
    ): Promise<ReadonlyMap<string, { readonly content: string; readonly seenAt: Date }>> {
      const { rows } = await pool.query<{ id: string; content: string; seenAt: Date }>(
        `select document_id as id, content, seen_at as "seenAt" from golden_documents
          where pipeline = $1::text and document_id = any($2::text[])`,
        [pipeline, ids],
      );
      return new Map(rows.map(({ id, ...one }) => [id, one]));
    },
  };
}

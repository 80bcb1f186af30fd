/** What people are to grade: drawn queries with their documents, without the grades of the model. */
import { hash } from 'node:crypto';
import type { Pool } from 'pg';

export interface ReviewedDocument {
  readonly id: string;
  /** Null when the document has gone, or its text is not known. */
  readonly text: string | null;
  /** What a person gave before; null for none. */
  readonly grade: number | null;
}

export interface ReviewedQuery {
  readonly id: string;
  readonly askedAt: Date;
  readonly text: string;
  /** In an order that says nothing of ranks, the same each time. */
  readonly documents: readonly ReviewedDocument[];
}

export interface ReviewProgress {
  /** Drawn for people, with something to read. */
  readonly drawn: number;
  readonly graded: number;
}

/** A stored judgment, as it is listed. */
export interface ListedJudgment {
  readonly queryId: string;
  readonly documentId: string;
  readonly judge: 'model' | 'person';
  readonly grade: number | null;
  readonly problem: string | null;
  readonly isFlagged: boolean;
  readonly judgedAt: Date;
}

interface ReviewRow {
  query_id: string;
  received_at: Date;
  text: string;
  documents: { id: string; text: string | null; grade: number | null }[];
}

/** Queries of people that can be read: `j` with its live query `q`. */
const readable = `
  judged_queries j join live_queries q on q.received_on = j.received_on and q.pipeline = j.pipeline and q.id = j.query_id
 where j.pipeline = $1::text and j.is_for_people and j.outcome = 'ok' and q.text is not null
   and exists (select from jsonb_array_elements(j.documents) d where d ->> 1 is not null)`;

/** Whether a document that can be read has no grade of a person yet. */
const isOpen = `
  exists (select from jsonb_array_elements(j.documents) d
           where d ->> 1 is not null
             and not exists (select from judgments p
                              where (p.pipeline, p.query_id, p.document_id, p.judge) = (j.pipeline, j.query_id, d ->> 0, 'person')))`;

const documents = `
  (select jsonb_agg(jsonb_build_object('id', d ->> 0, 'text', c.content, 'grade', p.grade))
     from jsonb_array_elements(j.documents) d
     left join judged_documents c on c.pipeline = j.pipeline and c.content_hash = d ->> 1
     left join judgments p on (p.pipeline, p.query_id, p.document_id, p.judge) = (j.pipeline, j.query_id, d ->> 0, 'person'))`;

export type ReviewQueue = ReturnType<typeof createReviewQueue>;

export function createReviewQueue(pool: Pool) {
  const read = async (condition: string, values: readonly unknown[]): Promise<ReviewedQuery[]> => {
    const { rows } = await pool.query<ReviewRow>(
      `select j.query_id, j.received_at, q.text, ${documents} as documents from ${readable} ${condition}`,
      [...values],
    );
    return rows.map(toReviewed);
  };
  return {
    /**
     * The next that people have not graded whole, in the random order of their draw, so that those who stop early have
     * graded a random part.
     *
     * @param skipped ids that are left for later
     */
    next: (pipeline: string, limit: number, skipped: readonly string[] = []): Promise<ReviewedQuery[]> =>
      read(
        `and ${isOpen} and j.query_id <> all($2::text[]) order by j.people_draw, j.received_at, j.query_id limit $3::integer`,
        [pipeline, skipped, limit],
      ),

    /** One query that was drawn for people, graded or not; null when it is none. */
    async find(pipeline: string, id: string): Promise<ReviewedQuery | null> {
      const [found] = await read('and j.query_id = $2::text', [pipeline, id]);
      return found ?? null;
    },

    async progress(pipeline: string): Promise<ReviewProgress> {
      const { rows } = await pool.query<{ drawn: number; open: number }>(
        `select count(*)::integer as drawn, count(*) filter (where ${isOpen})::integer as open from ${readable}`,
        [pipeline],
      );
      const { drawn = 0, open = 0 } = rows[0] ?? {};
      return { drawn, graded: drawn - open };
    },

    /** Judgments of a pipeline, newest first, from the place `offset` on. */
    async list(pipeline: string, limit: number, offset: number): Promise<ListedJudgment[]> {
      const { rows } = await pool.query<{
        query_id: string;
        document_id: string;
        judge: 'model' | 'person';
        grade: number | null;
        problem: string | null;
        is_flagged: boolean;
        judged_at: Date;
      }>(
        `select query_id, document_id, judge, grade, problem, is_flagged, judged_at from judgments
          where pipeline = $1::text order by judged_at desc, query_id, document_id, judge limit $2::integer offset $3::bigint`,
        [pipeline, limit, offset],
      );
      return rows.map((row) => ({
        queryId: row.query_id,
        documentId: row.document_id,
        judge: row.judge,
        grade: row.grade,
        problem: row.problem,
        isFlagged: row.is_flagged,
        judgedAt: row.judged_at,
      }));
    },
  };
}

function toReviewed({ query_id: id, received_at: askedAt, text, documents }: ReviewRow): ReviewedQuery {
  const place = ({ id: document }: ReviewedDocument): string => hash('sha256', JSON.stringify([id, document]), 'hex');
  return { id, askedAt, text, documents: documents.toSorted((a, b) => (place(a) < place(b) ? -1 : 1)) };
}

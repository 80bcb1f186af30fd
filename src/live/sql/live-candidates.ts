import type { Pool } from 'pg';
import type { CandidateFeedback } from '../../golden/rules/promotion.ts';
import type { LiveCandidates } from '../ports/live-candidates.ts';

interface CandidateRow {
  id: string;
  text: string;
  occurred_at: Date;
  probability: number;
  user_hash: string | null;
  segments: Record<string, string>;
  results: [string, number | null][];
  feedback: CandidateFeedback[] | null;
}

/** Live queries with their feedback, as questions to judge, in PostgreSQL. */
export function createLiveCandidates(pool: Pool): LiveCandidates {
  return {
    async read({ pipeline, since, limit }) {
      const { rows } = await pool.query<CandidateRow>(
        `with opinions as (
           select query_id, kind, sentiment, document_id, count(*)::integer as count from feedback
            where pipeline = $1::text and received_on >= ($2::timestamptz at time zone 'utc')::date and counted
            group by query_id, kind, sentiment, document_id),
         tallies as (
           select query_id, jsonb_agg(jsonb_build_object(
                    'kind', kind, 'sentiment', sentiment, 'documentId', document_id, 'count', count)) as feedback
             from opinions group by query_id)
         select q.id, q.text, q.occurred_at, q.probability, q.user_hash, q.segments, q.results, t.feedback
           from live_queries q left join tallies t on t.query_id = q.id
          where q.pipeline = $1::text and q.received_at >= $2::timestamptz
            and q.received_on >= ($2::timestamptz at time zone 'utc')::date and q.text is not null
          order by (t.feedback is null), random() limit $3::integer`,
        [pipeline, since, limit],
      );
      return rows.map((row) => ({
        id: row.id,
        text: row.text,
        tags: row.segments,
        askedAt: row.occurred_at,
        probability: row.probability,
        userHash: row.user_hash,
        results: row.results.map(([id, score]) => ({ id, score })),
        feedback: row.feedback ?? [],
      }));
    },
  };
}

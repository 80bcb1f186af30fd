import type { Pool } from 'pg';
import type { CandidateFeedback, CandidateGrade, CandidateQuery } from '../../golden/rules/promotion.ts';
import { vectorOfBytes } from '../../postgres/values.ts';

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

/** A sample as probes of the store need it. */
export interface DrawnSample {
  readonly id: string;
  /** As it was stored; null in hash mode. */
  readonly text: string | null;
  readonly embedding: Float32Array | null;
  /** Inclusion probability: the sample stands for 1 / probability live queries. */
  readonly probability: number;
  /** Names what was sampled as a whole. */
  readonly sessionHash: string;
}

export interface LiveSamples {
  /** At most `limit` samples that arrived since then and have a text or a vector, drawn at random. */
  draw(request: {
    readonly pipeline: string;
    readonly since: Date;
    readonly limit: number;
  }): Promise<readonly DrawnSample[]>;
}

interface CandidateRow {
  id: string;
  text: string;
  occurred_at: Date;
  probability: number;
  user_hash: string | null;
  segments: Record<string, string>;
  results: [string, number | null][];
  feedback: CandidateFeedback[] | null;
  grades: CandidateGrade[] | null;
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
             from opinions group by query_id),
         judged as (
           select query_id, jsonb_agg(jsonb_build_object('documentId', document_id, 'grade', grade, 'judge', judge)) as grades
             from judgments where pipeline = $1::text and grade is not null and judge <> 'second' group by query_id)
         select q.id, q.text, q.occurred_at, q.probability, q.user_hash, q.segments, q.results, t.feedback, j.grades
           from live_queries q left join tallies t on t.query_id = q.id left join judged j on j.query_id = q.id
          where q.pipeline = $1::text and q.received_at >= $2::timestamptz
            and q.received_on >= ($2::timestamptz at time zone 'utc')::date and q.text is not null
          order by (t.feedback is null and j.grades is null), random() limit $3::integer`,
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
        grades: row.grades ?? [],
      }));
    },
  };
}

/** Live queries that may become golden ones. */
export interface LiveCandidates {
  /**
   * At most `limit` samples that arrived since then and have a text, with their feedback and grades; those with
   * either come first, in random order.
   */
  read(request: {
    readonly pipeline: string;
    readonly since: Date;
    readonly limit: number;
  }): Promise<readonly CandidateQuery[]>;
}

/** Queries for people to grade. The model grades of these queries are hidden. */
import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import { DAY_MS } from '../core/time.ts';
import { durationMs } from '../platform/config/times.ts';
import { queryRows } from '../platform/postgres/rows.ts';
import { LONGEST_WINDOW } from './config.ts';
import type { FlaggedGrades } from './rules/flagged-grades.ts';

export interface ReviewedDocument {
  readonly id: string;
  /** Text of the document; null if the document was deleted, or if the text is unknown. */
  readonly text: string | null;
  /**
   * Grade that a person has already given or, if the query needs two people, that the current person has already given.
   * Null if there is no such grade.
   */
  readonly grade: number | null;
  readonly isOpen: boolean;
  /** True if the query or the document may contain a prompt injection: text that addresses the grading model. */
  readonly isFlagged: boolean;
}

export interface ReviewedQuery {
  readonly id: string;
  readonly askedAt: Date;
  readonly text: string;
  /** Documents in a fixed order that does not reveal their ranks. */
  readonly documents: readonly ReviewedDocument[];
}

/** `second`: the independent judgment of a second person. */
export const listedJudges = ['model', 'person', 'second'] as const;

export interface ListedJudgment {
  readonly queryId: string;
  readonly documentId: string;
  readonly judge: (typeof listedJudges)[number];
  readonly grade: number | null;
  readonly problem: string | null;
  readonly isFlagged: boolean;
  readonly judgedAt: Date;
}

/**
 * Readable queries that were selected for human grading: `j` is the selected query and `q` its live query. Queries
 * received before $3, the start of the longest window, are no longer part of any score.
 */
const readable = `
  judged_queries j
 cross join lateral (
   select text from live_queries
    where received_on = j.received_on and received_on >= ($3::timestamptz at time zone 'utc')::date and pipeline = j.pipeline and id = j.query_id and text is not null limit 1) q
 where j.pipeline = $1::text and j.needs_human and j.outcome = 'ok' and j.received_at >= $3::timestamptz
   and exists (select from jsonb_array_elements(j.documents) d where d ->> 1 is not null)`;

const grades = `
  left join judgments p on (p.pipeline, p.query_id, p.document_id, p.judge) = (j.pipeline, j.query_id, d ->> 0, 'person')
  left join judgments s on (s.pipeline, s.query_id, s.document_id, s.judge) = (j.pipeline, j.query_id, d ->> 0, 'second')`;

/** True if person $2 gives the second judgment and must not see the first; $2 is null if the person is unknown. */
const isSecond = `(j.needs_second_human and p.graded_by <> $2::text)`;

const isAsked = `(d ->> 1 is not null and (p.grade is null or (${isSecond} and s.grade is null)))`;

const isOpen = `exists (select from jsonb_array_elements(j.documents) d ${grades} where ${isAsked})`;

const documents = `
  (select jsonb_agg(jsonb_build_object(
            'id', d ->> 0, 'text', c.content, 'isOpen', coalesce(${isAsked}, false), 'isFlagged', coalesce(m.is_flagged, false),
            'grade', case when ${isSecond} then case when s.graded_by = $2::text then s.grade end else p.grade end))
     from jsonb_array_elements(j.documents) d
     left join judged_documents c on c.pipeline = j.pipeline and c.content_hash = d ->> 1
     left join judgments m on (m.pipeline, m.query_id, m.document_id, m.judge) = (j.pipeline, j.query_id, d ->> 0, 'model')
     ${grades})`;

/** `person` is the grader. */
export interface Review {
  readonly pipeline: string;
  readonly person: string;
  readonly now: Date;
}

const windowStart = (now: Date): Date => new Date(now.getTime() - durationMs(LONGEST_WINDOW));

export function createReviewQueue(pool: Pool) {
  const read = async ({ pipeline, person, now }: Review, condition: string, ...values: readonly unknown[]) => {
    const found = await queryRows<ReviewedQuery>(
      pool,
      `select j.query_id as id, j.received_at as asked_at, q.text, ${documents} as documents from ${readable} ${condition}`,
      [pipeline, person, windowStart(now), ...values],
    );
    return found.map(shuffled);
  };
  return {
    /**
     * Returns the next queries to grade. Their order is random, so that a person who stops early has graded a random
     * subset.
     *
     * @param skipped ids of queries that this person postponed
     */
    next: (review: Review, limit: number, skipped: readonly string[] = []): Promise<ReviewedQuery[]> =>
      read(
        review,
        `and ${isOpen} and j.query_id <> all($4::text[]) order by j.human_draw, j.received_at, j.query_id limit $5::integer`,
        skipped,
        limit,
      ),

    /** Finds a query that was selected for human grading, whether graded or not; null if it was not selected. */
    async find(review: Review, id: string): Promise<ReviewedQuery | null> {
      return (await read(review, 'and j.query_id = $4::text', id))[0] ?? null;
    },

    /** @param person the grader; null to count only first judgments */
    async progress(pipeline: string, person: string | null, now: Date) {
      const { rows } = await pool.query<{ drawn: number; open: number; lately: number }>(
        `select count(*)::integer as drawn, count(*) filter (where ${isOpen})::integer as open,
                (select count(distinct query_id)::integer from judgments
                  where pipeline = $1::text and judge <> 'model' and judged_at > $4::timestamptz) as lately
           from ${readable}`,
        [pipeline, person, windowStart(now), new Date(now.getTime() - DAY_MS)],
      );
      const { drawn = 0, open = 0, lately = 0 } = rows[0] ?? {};
      return {
        /** Number of queries that were selected for human grading and have a readable document. */
        drawn,
        /** Number of selected queries with no document left for this person to grade. */
        graded: drawn - open,
        /** Number of queries that people graded in the last 24 hours. */
        lately,
      };
    },

    async flagged(pipeline: string, since: Date): Promise<FlaggedGrades> {
      const rows = await queryRows<FlaggedGrades>(
        pool,
        `select count(*)::integer as graded, count(*) filter (where is_flagged)::integer as flagged
           from judgments where pipeline = $1::text and judge = 'model' and judged_at > $2::timestamptz`,
        [pipeline, since],
      );
      return rows[0] ?? { graded: 0, flagged: 0 };
    },

    /** Returns judgments, newest first, starting at `offset`; only judgments of flagged texts if `isFlaggedOnly`. */
    list: (pipeline: string, limit: number, offset: number, isFlaggedOnly = false): Promise<ListedJudgment[]> =>
      queryRows(
        pool,
        `select query_id, document_id, judge, grade, problem, is_flagged, judged_at from judgments
          where pipeline = $1::text and (is_flagged or not $4::boolean)
          order by judged_at desc, query_id, document_id, judge limit $2::integer offset $3::bigint`,
        [pipeline, limit, offset, isFlaggedOnly],
      ),
  };
}

function shuffled({ id, documents, ...query }: ReviewedQuery): ReviewedQuery {
  const place = ({ id: document }: ReviewedDocument): string => hash('sha256', JSON.stringify([id, document]), 'hex');
  return { id, ...query, documents: documents.toSorted((a, b) => (place(a) < place(b) ? -1 : 1)) };
}

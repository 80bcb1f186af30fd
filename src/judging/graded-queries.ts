/** Graded queries for measures and pages, and queries whose scores were sent to a tracing platform. */
import type { Pool } from 'pg';
import type { LiveWindow } from '../live/sql/live-windows.ts';
import { queryRows } from '../platform/postgres/rows.ts';
import { countStates } from './judgment-pools.ts';
import type { EvaluatedQuery } from './rules/evaluation-events.ts';
import type { GradedDocument, GradedQuery } from './rules/judged-measures.ts';

/** A document of a selected query, as returned by `documentsSql`. */
type StoredDocument = Omit<GradedDocument, 'model'> &
  Readonly<Record<'problem' | 'judge', string | null>> & { readonly model: number | null };

type StoredQuery = Omit<GradedQuery, 'documents' | 'judges'> & {
  readonly state: string;
  readonly documents: readonly StoredDocument[];
};

/** The documents of a selected query `j` with their grades. */
const documentsSql = `
  coalesce((select jsonb_agg(jsonb_build_object(
                     'hasText', d.document ->> 1 is not null, 'model', m.grade, 'problem', m.problem,
                     'judge', m.fingerprint, 'person', p.grade, 'second', s.grade)
                   order by d.rank)
     from jsonb_array_elements(j.documents) with ordinality d (document, rank)
     left join judgments m on (m.pipeline, m.query_id, m.document_id, m.judge)
                            = (j.pipeline, j.query_id, d.document ->> 0, 'model')
     left join judgments p on (p.pipeline, p.query_id, p.document_id, p.judge)
                            = (j.pipeline, j.query_id, d.document ->> 0, 'person')
     left join judgments s on (s.pipeline, s.query_id, s.document_id, s.judge)
                            = (j.pipeline, j.query_id, d.document ->> 0, 'second')), '[]')`;

export function gradedQueries(pool: Pool) {
  return {
    async graded({ pipeline, from, until }: LiveWindow) {
      const rows = await queryRows<StoredQuery>(
        pool,
        `select j.cluster, j.outcome, j.segments as tags, j.probability, j.needs_human, j.state, ${documentsSql} as documents
           from judged_queries j
          where j.pipeline = $1::text and j.received_at >= $2::timestamptz and j.received_at < $3::timestamptz
          order by j.received_at, j.query_id`,
        [pipeline, from, until],
      );
      const finished = rows.filter(({ state, documents }) =>
        state === 'expired' ? documents.some(({ person }) => person !== null) : state === 'graded' || state === 'known',
      );
      return {
        queries: finished.map(toGraded),
        /** Number of selected queries by state. */
        states: countStates(rows),
      };
    },

    /**
     * Texts of the graded queries with the worst results. Queries are sorted by the grade of their best document, lowest
     * first; queries with equal grades are sorted by time, newest first. Skips queries without text.
     */
    worstGraded({ pipeline, from, until }: LiveWindow, limit: number) {
      return queryRows<{ readonly text: string; readonly grade: number | null }>(
        pool,
        `select q.text, best.grade::integer as grade
           from judged_queries j
           join live_queries q on q.received_on = j.received_on and q.pipeline = j.pipeline and q.id = j.query_id
          cross join lateral (select max(grade) as grade from judgments
                               where pipeline = j.pipeline and query_id = j.query_id and judge in ('model', 'person')) best
          where j.pipeline = $1::text and j.received_at >= $2::timestamptz and j.received_at < $3::timestamptz
            and j.state in ('graded', 'known') and q.text is not null
          order by best.grade nulls first, j.received_at desc limit $4::integer`,
        [pipeline, from, until, limit],
      );
    },
  };
}

function toGraded({ state, documents, ...query }: StoredQuery): GradedQuery {
  return {
    ...query,
    judges: [...new Set(documents.flatMap(({ judge }) => judge ?? []))],
    documents: (state === 'known' ? [] : documents).map(({ hasText, model, problem, person, second }) => ({
      hasText,
      model: problem === null ? model : 'failed',
      person,
      second,
    })),
  };
}

export function createEvaluationTable(pool: Pool) {
  return {
    /**
     * Returns the queries whose scores have not been sent yet, oldest first. Includes only queries that have a trace id
     * and that either were graded by the model or had nothing to grade.
     *
     * @param since earliest time of receipt
     */
    async unsent(pipeline: string, since: Date, limit: number): Promise<EvaluatedQuery[]> {
      const rows = await queryRows<Omit<EvaluatedQuery, 'judge' | 'documents'> & Pick<StoredQuery, 'documents'>>(
        pool,
        `select j.query_id as id, lower(q.trace_id) as trace_id, j.outcome, ${documentsSql} as documents,
                coalesce((select max(m.judged_at) from judgments m
                  where m.pipeline = j.pipeline and m.query_id = j.query_id and m.judge = 'model'), j.received_at) as at
           from judged_queries j
           join live_queries q on q.received_on = j.received_on and q.pipeline = j.pipeline and q.id = j.query_id
          where j.pipeline = $1::text and j.received_at >= $2::timestamptz and j.evaluation_sent_at is null
            and q.trace_id ~* '^(?=.*[1-9a-f])[0-9a-f]{32}$'
            and (j.state = 'known' or j.state = 'graded' and exists (
                  select from judgments m
                   where m.pipeline = j.pipeline and m.query_id = j.query_id and m.judge = 'model'))
          order by j.received_at, j.query_id limit $3::integer`,
        [pipeline, since, limit],
      );
      return rows.map(({ documents, ...query }) => ({
        ...query,
        judge: documents.findLast(({ judge }) => judge !== null)?.judge ?? null,
        documents: query.outcome === 'ok' ? documents : [],
      }));
    },

    async recordSent(pipeline: string, ids: readonly string[], now: Date): Promise<void> {
      await pool.query(
        `update judged_queries set evaluation_sent_at = $3::timestamptz where pipeline = $1::text and query_id = any($2::text[])`,
        [pipeline, ids, now],
      );
    },
  };
}

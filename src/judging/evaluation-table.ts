/** Of which judged live queries the scores were sent to a tracing platform, in PostgreSQL. */
import type { Pool } from 'pg';
import type { QueryOutcome } from '../model.ts';
import { type DocumentRow, documentsSql } from './judged-reads.ts';
import type { EvaluatedQuery } from './rules/evaluation-events.ts';

export type EvaluationTable = ReturnType<typeof createEvaluationTable>;

interface UnsentRow {
  query_id: string;
  trace_id: string;
  outcome: QueryOutcome;
  received_at: Date;
  judged_at: Date | null;
  documents: DocumentRow[];
}

export function createEvaluationTable(pool: Pool) {
  return {
    /**
     * Queries of a trace that the model graded, or that had nothing to grade, whose scores were not sent; oldest first.
     *
     * @param since only those that were received from then on
     */
    async unsent(pipeline: string, since: Date, most: number): Promise<EvaluatedQuery[]> {
      const { rows } = await pool.query<UnsentRow>(
        `select j.query_id, lower(q.trace_id) as trace_id, j.outcome, j.received_at, ${documentsSql} as documents,
                (select max(m.judged_at) from judgments m
                  where m.pipeline = j.pipeline and m.query_id = j.query_id and m.judge = 'model') as judged_at
           from judged_queries j
           join live_queries q on q.received_on = j.received_on and q.pipeline = j.pipeline and q.id = j.query_id
          where j.pipeline = $1::text and j.received_at >= $2::timestamptz and j.evaluation_sent_at is null
            and q.trace_id ~* '^(?=.*[1-9a-f])[0-9a-f]{32}$'
            and (j.state = 'known' or j.state = 'graded' and exists (
                  select from judgments m
                   where m.pipeline = j.pipeline and m.query_id = j.query_id and m.judge = 'model'))
          order by j.received_at, j.query_id limit $3::integer`,
        [pipeline, since, most],
      );
      return rows.map((row) => ({
        id: row.query_id,
        traceId: row.trace_id,
        outcome: row.outcome,
        judge: row.documents.findLast(({ judge }) => judge !== null)?.judge ?? null,
        at: row.judged_at ?? row.received_at,
        documents: row.outcome === 'ok' ? row.documents : [],
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

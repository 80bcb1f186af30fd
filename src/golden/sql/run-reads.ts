/** Golden runs as people look into them. */
import type pg from 'pg';
import type { RunStatus } from '../../model.ts';
import type { HistoricRun, RunReads } from '../ports/run-reads.ts';
import type { SegmentScore } from '../rules/run.ts';
import { type AnswerRow, answerColumns, type ScoreRow, toAnswer, toScore } from './run-results.ts';

interface HistoryRow {
  id: string;
  golden_set_version: number;
  status: RunStatus;
  started_at: Date;
}

/** How did the scores of a golden set go, a row for each score? The newest runs count when there are too many. */
const historySql = `
  with newest as (
    select id, golden_set_version, status, started_at from golden_runs
     where pipeline = $1::text and golden_set = $2::text and purpose = 'full'
       and started_at >= $3::timestamptz and started_at < $4::timestamptz
     order by started_at desc limit $5::integer
  )
  select newest.*, s.segment, s.measure, s.k, s.mean, s.n, s.ci_low, s.ci_high, s.ci_method
    from newest
    left join golden_run_scores s
      on s.run_id = newest.id and s.segment = 'all' and ($6::text[] is null or s.measure = any ($6::text[]))
     and s.k = (select max(k) from golden_run_scores where run_id = newest.id and segment = 'all')
   order by newest.started_at, newest.id, s.measure`;

export function createRunReads(pool: pg.Pool): RunReads {
  return {
    async history({ pipeline, goldenSet, from, until, limit, measures = null }) {
      const { rows } = await pool.query<HistoryRow & (ScoreRow | { measure: null })>(historySql, [
        pipeline,
        goldenSet,
        from,
        until,
        limit,
        measures,
      ]);
      const runs = new Map<string, HistoricRun & { readonly scores: SegmentScore[] }>();
      for (const row of rows) {
        const { id: runId, golden_set_version: goldenSetVersion, status, started_at: startedAt } = row;
        const run = runs.get(runId) ?? { runId, goldenSetVersion, status, startedAt, scores: [] };
        runs.set(runId, run);
        if (row.measure !== null) run.scores.push(toScore(row));
      }
      return [...runs.values()];
    },

    async answer(runId, queryId) {
      const { rows } = await pool.query<AnswerRow>(
        `select ${answerColumns} from golden_run_answers where run_id = $1::text and query_id = $2::text`,
        [runId, queryId],
      );
      return rows[0] === undefined ? null : toAnswer(rows[0]);
    },
  };
}

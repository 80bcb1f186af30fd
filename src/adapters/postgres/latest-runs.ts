/** What each pipeline and golden set last came to: the rows behind the exported gauges. */
import type pg from 'pg';
import type { RunStatus } from '../../core/model.ts';
import type { LatestRun } from '../../ports/golden-runs.ts';
import { countOutcomes, type OutcomeRow, readChecks, readScores } from './run-results.ts';

interface LatestRow {
  pipeline: string;
  golden_set: string;
  last_attempt_at: Date;
  statuses: Partial<Record<RunStatus, number>>;
  ended_id: string | null;
  ended_at: Date | null;
  duration_seconds: number | null;
  outcomes: OutcomeRow[] | null;
  completed_id: string | null;
  completed_at: Date | null;
  segments_overflow: number | null;
}

const latestSql = `
  with sets as (
    select pipeline, golden_set, max(started_at) as last_attempt_at
      from golden_runs group by pipeline, golden_set
  ), statuses as (
    select pipeline, golden_set, jsonb_object_agg(status, count) as statuses
      from (select pipeline, golden_set, status, count(*)::integer as count from golden_runs group by pipeline, golden_set, status) c
     group by pipeline, golden_set
  )
  select sets.pipeline, sets.golden_set, sets.last_attempt_at, statuses.statuses,
         ended.id as ended_id, ended.finished_at as ended_at,
         extract(epoch from ended.finished_at - ended.started_at)::double precision as duration_seconds,
         (select jsonb_agg(jsonb_build_object('outcome', o.outcome, 'count', o.count))
            from (select outcome, count(*)::integer as count from golden_run_answers a where a.run_id = ended.id group by outcome) o) as outcomes,
         completed.id as completed_id, completed.finished_at as completed_at, completed.segments_overflow
    from sets
    join statuses using (pipeline, golden_set)
    left join lateral (
      select id, started_at, finished_at from golden_runs r
       where r.pipeline = sets.pipeline and r.golden_set = sets.golden_set and r.status not in ('running', 'cancelled')
       order by r.started_at desc limit 1) ended on true
    left join lateral (
      select id, finished_at, segments_overflow from golden_runs r
       where r.pipeline = sets.pipeline and r.golden_set = sets.golden_set and r.status = 'completed'
       order by r.started_at desc limit 1) completed on true
   order by sets.pipeline, sets.golden_set`;

export async function readLatestRuns(db: pg.Pool): Promise<LatestRun[]> {
  const { rows } = await db.query<LatestRow>(latestSql);
  return Promise.all(rows.map((row) => toLatest(db, row)));
}

async function toLatest(db: pg.Pool, row: LatestRow): Promise<LatestRun> {
  const statuses: Record<RunStatus, number> = {
    running: 0,
    completed: 0,
    void: 0,
    failed: 0,
    cancelled: 0,
    ...row.statuses,
  };
  const [scores, checks] = await Promise.all([
    row.completed_id === null ? [] : readScores(db, row.completed_id),
    row.ended_id === null ? [] : readChecks(db, row.ended_id),
  ]);
  return {
    pipeline: row.pipeline,
    goldenSet: row.golden_set,
    lastAttemptAt: row.last_attempt_at,
    runsByStatus: statuses,
    ended:
      row.ended_at === null
        ? null
        : {
            durationSeconds: row.duration_seconds ?? 0,
            outcomes: countOutcomes(row.outcomes ?? []),
            checks,
            finishedAt: row.ended_at,
          },
    completed:
      row.completed_at === null
        ? null
        : { finishedAt: row.completed_at, scores, segmentsOverflow: row.segments_overflow ?? 0 },
  };
}

/** Deletes the results of old golden runs, which need more space than any other rows and are rarely read again. */
import type { Pool } from 'pg';

/** Maximum number of runs per delete statement; the limit keeps every statement short. */
const RUNS_AT_A_TIME = 200;

/**
 * Selects the runs of a set that started before $3 and still have their results, except runs that users may return to.
 * These are the current and former baselines, the runs that diagnoses examined or compared, and the first and last
 * completed run of each day (UTC).
 */
const expiredSql = `
  select r.id from golden_runs r
   where r.pipeline = $1::text and r.golden_set = $2::text and r.purpose = 'full' and r.status <> 'running'
     and r.answers_deleted_at is null and r.started_at < $3::timestamptz
     and not exists (select from golden_baselines b where b.run_id = r.id)
     and not exists (select from diagnoses d where d.run_id = r.id or d.reference_run_id = r.id)
     and exists (${ofTheDay('<')}) and exists (${ofTheDay('>')})
   order by r.started_at limit ${RUNS_AT_A_TIME} for update of r skip locked`;

function ofTheDay(side: '<' | '>'): string {
  return `select from golden_runs o
    where o.pipeline = r.pipeline and o.golden_set = r.golden_set and o.purpose = 'full' and o.status = 'completed'
      and o.started_at >= date_trunc('day', r.started_at, 'UTC')
      and o.started_at < date_trunc('day', r.started_at, 'UTC') + interval '1 day'
      and (o.started_at, o.id) ${side} (r.started_at, r.id)`;
}

/** Deletes the results but keeps the number of queries with each outcome. */
const deleteSql = `
  with expired as (${expiredSql}),
  counts as (
    select run_id, jsonb_object_agg(outcome, n) as outcomes
      from (select run_id, outcome, count(*) as n from golden_run_answers
             where run_id in (select id from expired) group by run_id, outcome) c
     group by run_id),
  deleted as (delete from golden_run_answers where run_id in (select id from expired))
  update golden_runs r
     set answers_deleted_at = $4::timestamptz, outcomes = coalesce((select outcomes from counts where run_id = r.id), '{}')
    from expired
   where r.id = expired.id`;

/**
 * Deletes the results of runs that started before the given time; scores, comparisons and checks remain.
 *
 * @returns the number of runs whose results were deleted
 * @throws the reason of `signal` when it aborts; deletions up to that point are kept
 */
export async function deleteAnswers(
  pool: Pool,
  set: { readonly pipeline: string; readonly goldenSet: string },
  before: Date,
  now: Date,
  signal: AbortSignal,
): Promise<number> {
  let runs = 0;
  for (;;) {
    signal.throwIfAborted();
    const { rowCount } = await pool.query(deleteSql, [set.pipeline, set.goldenSet, before, now]);
    runs += rowCount ?? 0;
    if ((rowCount ?? 0) < RUNS_AT_A_TIME) return runs;
  }
}

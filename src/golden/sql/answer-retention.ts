/** How long the answers of golden runs are kept: the rows that grow fastest, and of which few are ever read again. */
import type { Pool } from 'pg';

/** Runs at a time, so that no statement takes long. */
const RUNS_AT_A_TIME = 200;

/**
 * Runs of a set that started before $3 and still have their answers, but for those that people come back to: baselines,
 * also former ones, the runs of incidents, and of each day (UTC) the first and the last that completed.
 */
const expiredSql = `
  select r.id from golden_runs r
   where r.pipeline = $1::text and r.golden_set = $2::text and r.purpose = 'full' and r.status <> 'running'
     and r.answers_gone_at is null and r.started_at < $3::timestamptz
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

/** Of the outcomes of the answers their number stays. */
const forgetSql = `
  with expired as (${expiredSql}),
  counts as (
    select run_id, jsonb_object_agg(outcome, n) as outcomes
      from (select run_id, outcome, count(*) as n from golden_run_answers
             where run_id in (select id from expired) group by run_id, outcome) c
     group by run_id),
  gone as (delete from golden_run_answers where run_id in (select id from expired))
  update golden_runs r
     set answers_gone_at = $4::timestamptz, outcomes = coalesce((select outcomes from counts where run_id = r.id), '{}')
    from expired
   where r.id = expired.id`;

/**
 * Deletes answers of runs that started before a time; scores, comparisons and checks stay.
 *
 * @throws the reason of `signal` when it aborts; what was deleted until then stays deleted
 */
export async function forgetAnswers(
  pool: Pool,
  set: { readonly pipeline: string; readonly goldenSet: string },
  before: Date,
  now: Date,
  signal: AbortSignal,
): Promise<number> {
  let forgotten = 0;
  for (;;) {
    signal.throwIfAborted();
    const { rowCount } = await pool.query(forgetSql, [set.pipeline, set.goldenSet, before, now]);
    forgotten += rowCount ?? 0;
    if ((rowCount ?? 0) < RUNS_AT_A_TIME) return forgotten;
  }
}

/** Skipped ticks of golden schedules, and the number of requests sent per set. */

import type { Pool } from 'pg';
import { queryRows } from '../../platform/postgres/rows.ts';
import type { RunPurpose } from '../rules/run.ts';
import { requestsOfQuery } from './golden-sets.ts';

/**
 * `still_running`: the previous run had not ended. `missed`: no scheduler was running, or the run could not be stored
 * in time. `no_full_run`: the sentinel could not be compared with a full run, because none has completed yet.
 */
export const skipReasons = ['quiet_hours', 'daily_budget', 'still_running', 'missed', 'no_full_run'] as const;

export type SkipReason = (typeof skipReasons)[number];

export interface TickSeries {
  readonly pipeline: string;
  readonly goldenSet: string;
  readonly purpose: RunPurpose;
}

export interface SkipTotal extends TickSeries {
  readonly reason: SkipReason;
  readonly total: number;
}

export function createGoldenTicks(pool: Pool) {
  return {
    /** Returns the latest tick that has a run or was recorded as skipped; null if there is none. */
    async last({ pipeline, goldenSet, purpose }: TickSeries): Promise<Date | null> {
      const rows = await queryRows<{ last: Date | null }>(
        pool,
        `select greatest(
           (select max(scheduled_for) from golden_runs
             where pipeline = $1::text and golden_set = $2::text and purpose = $3::text),
           (select max(planned_for) from golden_skips
             where pipeline = $1::text and golden_set = $2::text and purpose = $3::text)) as last`,
        [pipeline, goldenSet, purpose],
      );
      return rows[0]?.last ?? null;
    },

    /**
     * Records skipped ticks. Adds to the total only the ticks that no other replica has recorded. A tick with a run
     * does not count as skipped, even if a restarted scheduler started the run late.
     */
    async skip(
      { pipeline, goldenSet, purpose }: TickSeries,
      plannedFor: readonly Date[],
      reason: SkipReason,
      now: Date,
    ): Promise<void> {
      if (plannedFor.length === 0) return;
      await pool.query(
        `with old as (delete from golden_skips where planned_for < $6::timestamptz - interval '30 days'),
         noted as (
           insert into golden_skips (pipeline, golden_set, purpose, planned_for, reason, noted_at)
           select $1::text, $2::text, $3::text, planned_for, $5::text, $6::timestamptz
             from unnest($4::timestamptz[]) as planned_for
            where not exists (select 1 from golden_runs r
                               where r.pipeline = $1::text and r.golden_set = $2::text and r.purpose = $3::text
                                 and r.scheduled_for = planned_for)
           on conflict do nothing
           returning planned_for)
         insert into golden_skip_totals as t (pipeline, golden_set, purpose, reason, total)
         select $1::text, $2::text, $3::text, $5::text, count(*) from noted having count(*) > 0
         on conflict (pipeline, golden_set, purpose, reason) do update set total = t.total + excluded.total`,
        [pipeline, goldenSet, purpose, plannedFor, reason, now],
      );
    },

    async skipTotals(): Promise<readonly SkipTotal[]> {
      return queryRows<SkipTotal>(
        pool,
        `select pipeline, golden_set, purpose, reason, total::double precision as total
           from golden_skip_totals
          order by pipeline, golden_set, purpose, reason`,
      );
    },

    /**
     * Returns how many requests the runs of a set have sent to a pipeline since the given time: one for each query
     * without steps, and one for each step of the other queries. All requests of a run in progress count, including
     * those that have not been sent yet.
     */
    async requestsSince(pipeline: string, goldenSet: string, since: Date): Promise<number> {
      const rows = await queryRows<{ requests: number }>(
        pool,
        `select coalesce(sum(${requestsOfQuery('q')}), 0)::integer as requests
           from golden_runs r
           join golden_queries q on q.golden_set = r.golden_set and q.version = r.golden_set_version
            and (r.query_ids is null or q.query_id = any (r.query_ids))
           left join golden_run_answers a on a.run_id = r.id and a.query_id = q.query_id and a.attempts > 0
          where (r.status = 'running' or a.run_id is not null) and r.pipeline = $1::text and r.golden_set = $2::text and r.started_at >= $3::timestamptz`,
        [pipeline, goldenSet, since],
      );
      return rows[0]?.requests ?? 0;
    },
  };
}

/** What became of the ticks of golden schedules, in PostgreSQL. */
import type { Pool } from 'pg';
import type { GoldenTicks, SkipReason } from '../ports/golden-ticks.ts';

interface SkipRow {
  pipeline: string;
  golden_set: string;
  purpose: 'full' | 'sentinel';
  reason: SkipReason;
  count: number;
}

export function createGoldenTicks(pool: Pool): GoldenTicks {
  return {
    async last({ pipeline, goldenSet, purpose }) {
      const { rows } = await pool.query<{ last: Date | null }>(
        `select greatest(
           (select max(scheduled_for) from golden_runs
             where pipeline = $1::text and golden_set = $2::text and purpose = $3::text),
           (select max(planned_for) from golden_skips
             where pipeline = $1::text and golden_set = $2::text and purpose = $3::text)) as last`,
        [pipeline, goldenSet, purpose],
      );
      return rows[0]?.last ?? null;
    },

    async skip({ pipeline, goldenSet, purpose }, plannedFor, reason, now) {
      if (plannedFor.length === 0) return;
      await pool.query(
        `with old as (delete from golden_skips where planned_for < $6::timestamptz - interval '30 days')
         insert into golden_skips (pipeline, golden_set, purpose, planned_for, reason, noted_at)
         select $1::text, $2::text, $3::text, planned_for, $5::text, $6::timestamptz
           from unnest($4::timestamptz[]) as planned_for
         on conflict do nothing`,
        [pipeline, goldenSet, purpose, plannedFor, reason, now],
      );
    },

    async skips(since) {
      const { rows } = await pool.query<SkipRow>(
        // Another scheduler, or a second attempt, may have run what the first one noted as skipped.
        `select pipeline, golden_set, purpose, reason, count(*)::integer as count
           from golden_skips s
          where noted_at >= $1::timestamptz
            and not exists (
              select from golden_runs r
               where r.pipeline = s.pipeline and r.golden_set = s.golden_set and r.purpose = s.purpose
                 and r.scheduled_for = s.planned_for)
          group by pipeline, golden_set, purpose, reason
          order by pipeline, golden_set, purpose, reason`,
        [since],
      );
      return rows.map(({ golden_set: goldenSet, ...row }) => ({ ...row, goldenSet }));
    },

    async queriesSince(pipeline, goldenSet, since) {
      const { rows } = await pool.query<{ queries: number }>(
        `select coalesce(sum(case when r.status = 'running' then coalesce(cardinality(r.query_ids), s.queries)
                             else (select count(*) from golden_run_answers a where a.run_id = r.id and a.attempts > 0) end), 0)::integer as queries
           from golden_runs r
           join golden_sets s on s.name = r.golden_set and s.version = r.golden_set_version
          where r.pipeline = $1::text and r.golden_set = $2::text and r.started_at >= $3::timestamptz`,
        [pipeline, goldenSet, since],
      );
      return rows[0]?.queries ?? 0;
    },
  };
}

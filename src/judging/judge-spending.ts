/** Daily cost of model grades. Cost is reserved before each call, so that the daily limit is never exceeded. */
import type { Pool } from 'pg';

export function createJudgeSpending(pool: Pool) {
  return {
    /**
     * Reserves `dollars` of the day's budget before a call. If the process dies before it records the actual cost, the
     * reserved amount still counts as spent.
     *
     * @returns false if the day's total would exceed `maxPerDay`
     */
    async reserve(pipeline: string, dollars: number, maxPerDay: number, now: Date): Promise<boolean> {
      if (dollars > maxPerDay) return false;
      const { rowCount } = await pool.query(
        `insert into judge_spending as s (pipeline, day, dollars)
         values ($1::text, ($2::timestamptz at time zone 'utc')::date, $3::double precision)
         on conflict (pipeline, day) do update set dollars = s.dollars + excluded.dollars
          where s.dollars + excluded.dollars <= $4::double precision`,
        [pipeline, now, dollars, maxPerDay],
      );
      return rowCount === 1;
    },

    /** Replaces a reservation with the actual cost. */
    async recordCost(pipeline: string, reserved: number, spent: number, at: Date): Promise<void> {
      await pool.query(
        `update judge_spending set dollars = greatest(0, dollars - $3::double precision + $4::double precision)
          where pipeline = $1::text and day = ($2::timestamptz at time zone 'utc')::date`,
        [pipeline, at, reserved, spent],
      );
    },

    /**
     * Cost since midnight UTC, and mean cost per graded query over the last 7 days, in US dollars. The mean is null if
     * no query was graded on these days.
     */
    async spent(pipeline: string, now: Date): Promise<{ today: number; perQuery: number | null }> {
      const { rows } = await pool.query<{ today: number; week: number; graded: number }>(
        `select coalesce(sum(dollars) filter (where day = ($2::timestamptz at time zone 'utc')::date), 0) as today,
                coalesce(sum(dollars), 0) as week,
                (select count(*)::integer from judged_queries j where j.pipeline = $1::text and j.state = 'graded'
                    and j.received_at >= $2::timestamptz - interval '7 days') as graded
           from judge_spending where pipeline = $1::text and day > ($2::timestamptz at time zone 'utc')::date - 7`,
        [pipeline, now],
      );
      const { today = 0, week = 0, graded = 0 } = rows[0] ?? {};
      return { today, perQuery: graded === 0 ? null : week / graded };
    },
  };
}

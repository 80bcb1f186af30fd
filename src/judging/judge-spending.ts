/** What the grades of the model cost in PostgreSQL: money is set aside before each call, so that the cap of a day holds. */
import type { Pool } from 'pg';

export type JudgeSpending = ReturnType<typeof createJudgeSpending>;

export function createJudgeSpending(pool: Pool) {
  return {
    /**
     * Sets `dollars` aside of the day's money before a call; false when it would pass `most`. What a dead process set
     * aside stays spent.
     */
    async reserve(pipeline: string, dollars: number, most: number, now: Date): Promise<boolean> {
      if (dollars > most) return false;
      const { rowCount } = await pool.query(
        `insert into judge_spending as s (pipeline, day, dollars)
         values ($1::text, ($2::timestamptz at time zone 'utc')::date, $3::double precision)
         on conflict (pipeline, day) do update set dollars = s.dollars + excluded.dollars
          where s.dollars + excluded.dollars <= $4::double precision`,
        [pipeline, now, dollars, most],
      );
      return rowCount === 1;
    },

    /** Makes of what was set aside what was spent. */
    async settle(pipeline: string, reserved: number, spent: number, at: Date): Promise<void> {
      await pool.query(
        `update judge_spending set dollars = greatest(0, dollars - $3::double precision + $4::double precision)
          where pipeline = $1::text and day = ($2::timestamptz at time zone 'utc')::date`,
        [pipeline, at, reserved, spent],
      );
    },

    /** US dollars of the day, and the mean cost of a graded query of the last week; null before the first. */
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

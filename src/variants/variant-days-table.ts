/** Days of comparisons of variants in PostgreSQL. */
import type { Pool } from 'pg';
import type { VariantDay } from './rules/session-sums.ts';

/** Names whose days they are. */
export interface VariantKey {
  readonly pipeline: string;
  readonly comparison: string;
}

export type VariantDaysTable = ReturnType<typeof createVariantDaysTable>;

export function createVariantDaysTable(pool: Pool) {
  return {
    /** Rising. */
    async list({ pipeline, comparison }: VariantKey): Promise<readonly VariantDay[]> {
      const { rows } = await pool.query<VariantDay>(
        `select day::text, arms, mixed, unnamed from variant_days
          where pipeline = $1::text and comparison = $2::text order by day`,
        [pipeline, comparison],
      );
      return rows;
    },

    /** A day that is there stays as it is. */
    async save({ pipeline, comparison }: VariantKey, day: VariantDay, now: Date): Promise<void> {
      await pool.query(
        `insert into variant_days (pipeline, comparison, day, arms, mixed, unnamed, summed_at)
         values ($1::text, $2::text, $3::date, $4::jsonb, $5::integer, $6::integer, $7::timestamptz)
         on conflict do nothing`,
        [pipeline, comparison, day.day, JSON.stringify(day.arms), day.mixed, day.unnamed, now],
      );
    },

    /** Forgets days of a pipeline before then, of whatever comparison. */
    async prune(pipeline: string, before: Date): Promise<void> {
      await pool.query(
        `delete from variant_days where pipeline = $1::text and day < ($2::timestamptz at time zone 'utc')::date`,
        [pipeline, before],
      );
    },
  };
}

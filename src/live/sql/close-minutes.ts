/** Makes the samples of past minutes what one sampling rate for the whole minute would have kept. */
import type { Pool } from 'pg';
import { inTransaction } from '../../postgres/transaction.ts';

/**
 * Closes the minutes before `before` that no one closed yet: the most halvings of any replica hold for the whole
 * minute, so samples that only a higher rate kept are deleted and the others store the final probability. The same
 * arithmetic as core/sampling `closeSample`; halving is exact in binary, so both give the same numbers.
 *
 * @returns how many samples were deleted
 */
export async function closeMinutes(pool: Pool, before: Date): Promise<number> {
  return inTransaction(pool, async (client) => {
    const { rows: minutes } = await client.query<{ pipeline: string; minute: Date; level: number }>(
      `with closed as (
         update sampling_minutes set closed_at = clock_timestamp()
          where minute < $1::timestamptz and closed_at is null
          returning pipeline, minute)
       select pipeline, minute, max(level)::integer as level
         from sampling_minutes join (select distinct pipeline, minute from closed) c using (pipeline, minute)
        group by pipeline, minute`,
      [before],
    );
    let dropped = 0;
    for (const { pipeline, minute, level } of minutes) {
      const range = [pipeline, minute, level];
      const { rowCount } = await client.query(
        `delete from live_queries
          where pipeline = $1::text and received_on = ($2::timestamptz at time zone 'utc')::date
            and received_at >= $2::timestamptz and received_at < $2::timestamptz + interval '1 minute'
            and keep_reason = 'rate' and level < $3::integer
            and unit_hash >= rate_probability * power(2::double precision, level - $3::integer)`,
        range,
      );
      dropped += rowCount ?? 0;
      await client.query(
        `update live_queries
            set probability = case when keep_reason = 'rate' then probability * power(2::double precision, level - $3::integer) else probability end,
                rate_probability = rate_probability * power(2::double precision, level - $3::integer),
                level = $3::integer
          where pipeline = $1::text and received_on = ($2::timestamptz at time zone 'utc')::date
            and received_at >= $2::timestamptz and received_at < $2::timestamptz + interval '1 minute'
            and level < $3::integer`,
        range,
      );
    }
    return dropped;
  });
}

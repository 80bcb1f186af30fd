import type { Pool } from 'pg';
import { dayAfter, dropPartitionsBefore } from '../../platform/postgres/partitions.ts';
import { eraseLate, forgetErased } from './erase-live.ts';

/**
 * Drops the partitions of whole days, and deletes rows of pipelines with a shorter retention. Deletes derived data
 * together with its live query, even if judges or shadows are no longer configured. Derived data does not contain the
 * user's id, so an erasure could not find it once the live query has been deleted.
 *
 * @param retentionDays retention of every pipeline with stored rows
 */
export async function pruneLive(pool: Pool, retentionDays: ReadonlyMap<string, number>, now: Date): Promise<void> {
  const longest = Math.max(1, ...retentionDays.values());
  // Searches all days, in case an earlier run of the job was missed.
  await eraseLate(pool, [...retentionDays.keys()], null, now);
  await forgetErased(pool, longest, now);
  const oldest = dayAfter(now, -longest);
  await dropPartitionsBefore(pool, oldest);
  for (const [pipeline, days] of retentionDays) {
    const first = dayAfter(now, -days);
    await pruneDerived(pool, pipeline, first);
    if (days === longest) continue;
    for (const table of ['live_queries', 'feedback', 'query_coverage'])
      await pool.query(`delete from ${table} where pipeline = $1::text and received_on < $2::date`, [pipeline, first]);
  }
  for (const pipeline of retentionDays.keys())
    await pool.query(countByHourSql, [pipeline, dayAfter(now, -MINUTE_DAYS)]);
  for (const table of ['live_query_counts', 'sampling_minutes'])
    await pool.query(`delete from ${table} where minute < ($1::timestamp at time zone 'utc')`, [oldest]);
  // Old sampling levels are not needed: the level of a closed minute is stored with its samples, and a report that
  // arrives a day late closes its minute again.
  await pool.query(
    `delete from sampling_minutes where minute < ($1::timestamp at time zone 'utc') and closed_at is not null`,
    [dayAfter(now, -1)],
  );
}

/** Number of days for which counts per minute are kept: one more than the maximum of `live.window`. */
const MINUTE_DAYS = 32;

/** Merges older counts per minute into counts per hour, so that charts over months read a sixtieth of the rows. */
const countByHourSql = `
  with minutes as (
    delete from live_query_counts
     where pipeline = $1::text and minute < ($2::timestamp at time zone 'utc') and minute <> date_trunc('hour', minute, 'UTC')
    returning pipeline, date_trunc('hour', minute, 'UTC') as hour, outcome, queries
  )
  insert into live_query_counts (pipeline, minute, outcome, queries)
  select pipeline, hour, outcome, sum(queries) from minutes group by pipeline, hour, outcome order by pipeline, hour, outcome
  on conflict (pipeline, minute, outcome) do update set queries = live_query_counts.queries + excluded.queries`;

/** Tables with derived data and isolation data, each with the column that determines the age of a row. */
const derived = [
  ['judged_queries', 'received_at'],
  ['shadow_answers', 'received_at'],
  ['judged_documents', 'seen_at'],
  ['isolation_violations', 'received_at'],
  ['isolation_counts', 'hour'],
] as const;

/** @param first earliest day (UTC) to keep */
async function pruneDerived(pool: Pool, pipeline: string, first: string): Promise<void> {
  for (const [table, time] of derived)
    await pool.query(
      `delete from ${table} where pipeline = $1::text and ${time} < ($2::timestamp at time zone 'utc')`,
      [pipeline, first],
    );
  for (const table of ['pool_judgments', 'judge_panel_pairs'])
    await pool.query(
      `delete from ${table} g
        where pipeline = $1::text
          and not exists (select from judged_queries j where j.pipeline = g.pipeline and j.query_id = g.query_id)`,
      [pipeline],
    );
  await pool.query(
    `update uncovered_topics set examples = '{}', label = '{}'
      where pipeline = $1::text and last_seen < ($2::timestamp at time zone 'utc') and (examples <> '{}' or label <> '{}')`,
    [pipeline, first],
  );
}

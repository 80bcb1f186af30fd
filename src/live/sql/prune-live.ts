/** Retention of live queries, of what users said of them, and of what was made of them. */
import type { Pool } from 'pg';
import { dayAfter, dropPartitionsBefore } from '../../platform/postgres/upkeep.ts';
import { eraseLate, forgetErased } from './erase-live.ts';

/**
 * Whole days go with their partition; pipelines with a shorter retention lose rows. What was made of a query goes with
 * the day of the query, whatever the config says of judges and shadows by now: it names no user, so that an erasure
 * could not find it once its live row is gone.
 *
 * @param retentionDays of every pipeline that rows are stored of
 */
export async function pruneLive(pool: Pool, retentionDays: ReadonlyMap<string, number>, now: Date): Promise<void> {
  const longest = Math.max(1, ...retentionDays.values());
  // Of all days, in case the job missed one of them.
  await eraseLate(pool, [...retentionDays.keys()], null, now);
  await forgetErased(pool, longest, now);
  const oldest = dayAfter(now, -longest);
  await dropPartitionsBefore(pool, oldest);
  for (const [pipeline, days] of retentionDays) {
    const first = dayAfter(now, -days);
    await pruneMade(pool, pipeline, first);
    if (days === longest) continue;
    for (const table of ['live_queries', 'feedback', 'query_coverage'])
      await pool.query(`delete from ${table} where pipeline = $1::text and received_on < $2::date`, [pipeline, first]);
  }
  for (const pipeline of retentionDays.keys())
    await pool.query(countByHourSql, [pipeline, dayAfter(now, -MINUTE_DAYS)]);
  for (const table of ['live_query_counts', 'sampling_minutes'])
    await pool.query(`delete from ${table} where minute < ($1::timestamp at time zone 'utc')`, [oldest]);
  // What holds for a minute that is closed is stored with its queries; a replica that is late by a day closes it again.
  await pool.query(
    `delete from sampling_minutes where minute < ($1::timestamp at time zone 'utc') and closed_at is not null`,
    [dayAfter(now, -1)],
  );
}

/** Days that live queries stay counted by the minute; no window (`live.window`) is longer than 31 days. */
const MINUTE_DAYS = 32;

/** Minutes of a pipeline before a day (UTC) become hours, so that a page over months reads 60 times less. */
const countByHourSql = `
  with minutes as (
    delete from live_query_counts
     where pipeline = $1::text and minute < ($2::timestamp at time zone 'utc') and minute <> date_trunc('hour', minute, 'UTC')
    returning pipeline, date_trunc('hour', minute, 'UTC') as hour, outcome, queries
  )
  insert into live_query_counts (pipeline, minute, outcome, queries)
  select pipeline, hour, outcome, sum(queries) from minutes group by pipeline, hour, outcome order by pipeline, hour, outcome
  on conflict (pipeline, minute, outcome) do update set queries = live_query_counts.queries + excluded.queries`;

/** Tables of what was made of live queries, with the time that tells how old a row is. */
const made = [
  ['judged_queries', 'received_at'],
  ['shadow_answers', 'received_at'],
  ['judged_documents', 'seen_at'],
] as const;

/** @param first day (UTC) that is kept */
async function pruneMade(pool: Pool, pipeline: string, first: string): Promise<void> {
  for (const [table, time] of made)
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

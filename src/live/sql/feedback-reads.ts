/** What is asked of stored feedback: how much of a person counts already, and the opinions of a window. */
import type { Pool } from 'pg';
import type { FeedbackWindow, OpinionTally } from '../rules/feedback/positive-ratio.ts';
import { type CapDay, type CountedHour, capSubjectOf, kindGroupOf } from '../rules/feedback/user-cap.ts';
import type { FeedbackKind } from '../rules/live-query.ts';

interface HourRow {
  pipeline: string;
  author: string | null;
  query_id: string;
  kind: FeedbackKind;
  hour: Date;
  counted: number;
}

/** The counted feedback of some people on some days, by hour. */
export async function readCountedHours(pool: Pool, days: readonly CapDay[]): Promise<CountedHour[]> {
  const subjects = days.map((day) => JSON.parse(day.subject) as ['user' | 'query', string]);
  const { rows } = await pool.query<HourRow>(
    `select f.pipeline, f.user_hash as author, case when f.user_hash is null then f.query_id else '' end as query_id, f.kind,
            date_trunc('hour', f.occurred_at, 'utc') as hour, count(*)::integer as counted
       from (select distinct * from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) as d (pipeline, subject_kind, subject, day)) d
       join feedback f on f.pipeline = d.pipeline and f.counted
        and f.occurred_at >= d.day and f.occurred_at < d.day + interval '1 day'
        and case d.subject_kind when 'user' then f.user_hash = d.subject else f.user_hash is null and f.query_id = d.subject end
      group by 1, 2, 3, 4, 5`,
    [
      days.map((d) => d.pipeline),
      subjects.map(([kind]) => kind),
      subjects.map(([, subject]) => subject),
      days.map((d) => d.day),
    ],
  );
  return rows.map((row) => ({
    pipeline: row.pipeline,
    subject: capSubjectOf({ author: row.author, queryId: row.query_id }),
    group: kindGroupOf(row.kind),
    hour: row.hour,
    counted: row.counted,
  }));
}

/**
 * Tallied here, since it takes seconds to fetch a day of feedback and to go through it in the process. The day of a query
 * is one of three, each looked up by itself: before PostgreSQL 18 a range of days reads all that a day holds.
 */
export async function readOpinions(
  pool: Pool,
  pipeline: string,
  { from, until }: FeedbackWindow,
  segmentKeys: readonly string[],
): Promise<OpinionTally[]> {
  const { rows } = await pool.query<OpinionTally>(
    `with opinions as (
       select kind, query_id, max(received_on) as received_on, count(*) as feedback, bool_or(counted) as is_counted,
              (array_agg(sentiment order by occurred_at desc, received_at desc, id collate "C" desc))[1] as sentiment
         from feedback
        where pipeline = $1::text and occurred_at >= $2::timestamptz and occurred_at < $3::timestamptz
        group by query_id, kind, document_id, case when document_id is null then rank end, user_hash
     )
     select o.kind, o.sentiment, coalesce(q.segments, '{}') as segments, sum(o.feedback)::integer as feedback,
            (count(*) filter (where o.is_counted))::integer as opinions
       from opinions o
       left join lateral (
         select array(select key || '=' || (l.segments ->> key) from unnest($4::text[]) as key where l.segments ? key) as segments
           from live_queries l
          where cardinality($4::text[]) > 0 and l.pipeline = $1::text and l.id = o.query_id
            and l.received_on = any (array[o.received_on - 1, o.received_on, o.received_on + 1])
          limit 1) q on true
      group by o.kind, o.sentiment, coalesce(q.segments, '{}')
      order by o.kind, o.sentiment, segments`,
    [pipeline, from, until, segmentKeys],
  );
  return rows;
}

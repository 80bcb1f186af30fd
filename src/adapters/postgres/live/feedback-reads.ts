/** What is asked of stored feedback: how much of a person counts already, and the opinions of a window. */
import type { Pool } from 'pg';
import { kindGroupOf } from '../../../core/feedback/kind-group.ts';
import type { JudgedFeedback } from '../../../core/feedback/positive-ratio.ts';
import { type CapDay, type CountedHour, capSubjectOf } from '../../../core/feedback/user-cap.ts';
import type { FeedbackKind } from '../../../core/live/live-query.ts';

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

interface OpinionRow {
  id: string;
  pipeline: string;
  query_id: string;
  kind: FeedbackKind;
  document_id: string | null;
  rank: number | null;
  author: string | null;
  occurred_at: Date;
  received_at: Date;
  counted: boolean;
  sentiment: JudgedFeedback['sentiment'];
  segments: Record<string, string> | null;
}

/** Feedback on a pipeline that occurred in a window, with the segments of its query where that was sampled. */
export async function readFeedback(
  pool: Pool,
  pipeline: string,
  from: Date,
  until: Date,
): Promise<JudgedFeedback[]> {
  const { rows } = await pool.query<OpinionRow>(
    `select f.id, f.pipeline, f.query_id, f.kind, f.document_id, f.rank, f.user_hash as author, f.occurred_at, f.received_at,
            f.counted, f.sentiment, q.segments
       from feedback f
       left join lateral (
         select segments from live_queries l
          where l.pipeline = f.pipeline and l.id = f.query_id and l.received_on between f.received_on - 1 and f.received_on + 1
          limit 1) q on true
      where f.pipeline = $1::text and f.occurred_at >= $2::timestamptz and f.occurred_at < $3::timestamptz`,
    [pipeline, from, until],
  );
  return rows.map(({ query_id, document_id, occurred_at, received_at, counted, segments, ...row }) => ({
    ...row,
    queryId: query_id,
    documentId: document_id,
    occurredAt: occurred_at,
    receivedAt: received_at,
    isCounted: counted,
    segments: Object.entries(segments ?? {}).map(([key, value]) => `${key}=${value}`),
  }));
}

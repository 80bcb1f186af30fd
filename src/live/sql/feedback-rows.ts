import type { Pool, PoolClient } from 'pg';
import type { TimeSpan } from '../../core/time.ts';
import { dayAfter } from '../../platform/postgres/partitions.ts';
import { queryRows } from '../../platform/postgres/rows.ts';
import { columnsOf } from '../../platform/postgres/values.ts';
import type { OpinionBucket } from '../rules/feedback/feedback-drop.ts';
import {
  FEEDBACK_RETRY_MS,
  type OpinionCounts,
  type OpinionTally,
  type Sentiment,
} from '../rules/feedback/sentiment.ts';
import { type CapDay, type CountedHour, capSubjectOf, kindGroups } from '../rules/feedback/user-cap.ts';
import type { Feedback, OpinionKind } from '../rules/live-query.ts';
import { firstDayOf } from './live-windows.ts';
import { areNew, type RowKey } from './record-arrivals.ts';

export interface StoredFeedback extends Pick<Feedback, 'queryId' | 'pipeline' | 'kind' | 'documentId' | 'rank'> {
  readonly id: string;
  readonly receivedAt: Date;
  readonly occurredAt: Date;
  readonly sentiment: Sentiment;
  readonly value: number | null;
  readonly userHash: string | null;
  readonly comment: string | null;
  readonly counted: boolean;
  /**
   * Set if `queryId` identifies a span, which need not be a live query. If the span is a live query, the feedback
   * applies to that query; otherwise, it applies to the only query of this trace. The query may also arrive later. If
   * null, the feedback applies only to `queryId`.
   */
  readonly traceId: string | null;
  /**
   * True if a repeated item may mean that the user returned to an earlier opinion, rather than that a client retried
   * (see `mayRepeat`).
   */
  readonly mayRepeat: boolean;
}

/**
 * Inserts feedback whose (pipeline, id) was not stored today or yesterday.
 *
 * @returns for each item, true if it is new; among duplicates in the list, only the first is new
 */
export async function insertFeedback(client: PoolClient, feedback: readonly StoredFeedback[]): Promise<boolean[]> {
  const { rows } = await client.query<RowKey>({
    name: 'insert-feedback',
    text: `
      insert into feedback
        (received_on, pipeline, id, received_at, occurred_at, query_id, kind, sentiment, value, document_id, rank, user_hash, comment, counted,
         trace_id, judged_id)
      select f.*, case when f.trace_id is not null then f.query_id end from unnest($1::date[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::text[], $7::text[], $8::text[],
                             $9::double precision[], $10::text[], $11::integer[], $12::text[], $13::text[], $14::boolean[], $15::text[])
          as f (received_on, pipeline, id, received_at, occurred_at, query_id, kind, sentiment, value, document_id, rank, user_hash, comment, counted,
                trace_id)
       where not exists (select 1 from feedback y
                          where y.received_on = f.received_on - 1 and y.pipeline = f.pipeline and y.id = f.id)
      on conflict (received_on, pipeline, id) do nothing
      returning pipeline, id`,
    values: columnsOf(feedback, [
      (f) => dayAfter(f.receivedAt, 0),
      'pipeline',
      'id',
      'receivedAt',
      'occurredAt',
      'queryId',
      'kind',
      'sentiment',
      'value',
      'documentId',
      'rank',
      'userHash',
      'comment',
      'counted',
      'traceId',
    ]),
  });
  return areNew(feedback, rows);
}

/** Moves stored feedback to the time of its repeat if the repeat arrived too late to be a retry. */
export async function renewFeedback(client: PoolClient, repeats: readonly StoredFeedback[]): Promise<void> {
  if (repeats.length === 0) return;
  await client.query(
    `update feedback f
        set received_at = s.received_at, occurred_at = s.received_at
       from (select received_on, pipeline, id, max(received_at) as received_at
               from unnest($1::date[], $2::text[], $3::text[], $4::timestamptz[]) as t (received_on, pipeline, id, received_at)
              group by received_on, pipeline, id) s
      where f.received_on in (s.received_on, s.received_on - 1) and f.pipeline = s.pipeline and f.id = s.id
        and s.received_at >= f.received_at + $5::double precision * interval '1 millisecond'`,
    [...columnsOf(repeats, [(f) => dayAfter(f.receivedAt, 0), 'pipeline', 'id', 'receivedAt']), FEEDBACK_RETRY_MS],
  );
}

/** Returns, for each hour of the given days, how many feedback items of each subject were counted. */
export async function readCountedHours(pool: Pool, days: readonly CapDay[]): Promise<CountedHour[]> {
  const subjects = days.map(({ subject }) => JSON.parse(subject) as ['user' | 'query', string]);
  const rows = await queryRows<
    Pick<CountedHour, 'pipeline' | 'hour' | 'counted'> & {
      readonly userHash: string | null;
      readonly queryId: string;
      readonly kind: OpinionKind;
    }
  >(
    pool,
    `select f.pipeline, f.user_hash, case when f.user_hash is null then f.query_id else '' end as query_id, f.kind,
            date_trunc('hour', f.occurred_at, 'utc') as hour, count(*)::integer as counted
       from (select distinct * from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) as d (pipeline, subject_kind, subject, day)) d
       join feedback f on f.pipeline = d.pipeline and f.counted and f.kind <> 'citation'
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
  return rows.map(({ userHash, queryId, kind, ...hour }) => ({
    ...hour,
    subject: capSubjectOf({ userHash, queryId }),
    group: kindGroups[kind],
  }));
}

/** Selects the latest feedback of each opinion in a window (see `OpinionTally`). Parameters: pipeline, from, until. */
const opinionsOfWindow = `
  select kind, query_id, max(received_on) as received_on, max(occurred_at) as occurred_at, count(*) as feedback,
         bool_or(counted) as is_counted,
         (array_agg(sentiment order by occurred_at desc, received_at desc, id collate "C" desc))[1] as sentiment
    from feedback
   where pipeline = $1::text and occurred_at >= $2::timestamptz and occurred_at < $3::timestamptz
     and received_on >= ${firstDayOf('$2')}
   group by query_id, kind, document_id, case when document_id is null then rank end, user_hash`;

/**
 * Tallies the opinions that users gave within the window. A change of opinion after the window does not affect the
 * tally. If feedback for a window arrives late, reading the window again returns a different result.
 *
 * Opinions are tallied in SQL, because fetching a day of feedback would take seconds. The query that an opinion refers
 * to arrived on the same day, one day earlier or one day later. Each of the three days is searched separately, because
 * PostgreSQL versions before 18 would scan whole days for a range of days.
 */
export async function readOpinions(
  pool: Pool,
  pipeline: string,
  { from, until }: TimeSpan,
  segmentKeys: readonly string[],
): Promise<OpinionTally[]> {
  return queryRows<OpinionTally>(
    pool,
    `with opinions as (${opinionsOfWindow})
     select o.kind, o.sentiment, coalesce(q.segments, '{}') as segments, sum(o.feedback)::integer as feedback,
            (count(*) filter (where o.is_counted))::integer as opinions
       from opinions o
       left join lateral (
         select array(select key || '=' || (l.segments ->> key) from unnest($4::text[]) as key where l.segments ? key) as segments
           from live_queries l
          where cardinality($4::text[]) > 0 and l.pipeline = $1::text and l.id = o.query_id
            and l.received_on = any (array[o.received_on - 1, o.received_on, o.received_on + 1])
            and l.received_on >= ${firstDayOf('$2')} - 1
          limit 1) q on true
      group by o.kind, o.sentiment, coalesce(q.segments, '{}')
      order by o.kind, o.sentiment, segments`,
    [pipeline, from, until, segmentKeys],
  );
}

/**
 * Returns, for each time bucket, the numbers of positive and negative opinions within the caps. The latest feedback of
 * an opinion determines its bucket. Buckets start at multiples of their length; empty buckets are omitted.
 */
export async function readOpinionBuckets(
  pool: Pool,
  pipeline: string,
  { from, until }: TimeSpan,
  bucketMs: number,
): Promise<OpinionBucket[]> {
  const rows = await queryRows<OpinionCounts & { at: Date }>(
    pool,
    `with opinions as (${opinionsOfWindow})
     select date_bin($4::double precision * interval '1 millisecond', occurred_at, 'epoch'::timestamptz) as at,
            (count(*) filter (where sentiment = 'positive'))::integer as positive,
            (count(*) filter (where sentiment = 'negative'))::integer as negative
       from opinions
      where is_counted and sentiment <> 'neutral'
      group by 1
      order by 1`,
    [pipeline, from, until, bucketMs],
  );
  return rows.map(({ at, positive, negative }) => ({ startMs: at.getTime(), positive, negative }));
}

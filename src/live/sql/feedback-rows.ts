/** The rows of feedback. */
import type { PoolClient } from 'pg';
import { dayAfter } from '../../postgres/partitions.ts';
import { columnsOf } from '../../postgres/values.ts';
import type { StoredFeedback } from '../ports/live-traffic.ts';
import { FEEDBACK_RETRY_MS } from '../rules/feedback/feedback-id.ts';
import { areNew, type RowKey } from './row-key.ts';

/**
 * Inserts feedback that is not there yet, by (pipeline, id) of today and yesterday.
 *
 * @returns for each item whether it is new; of equal ones in the list the first is
 */
export async function insertFeedback(
  client: PoolClient,
  feedback: readonly StoredFeedback[],
): Promise<boolean[]> {
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
      (f) => f.pipeline,
      (f) => f.id,
      (f) => f.receivedAt,
      (f) => f.occurredAt,
      (f) => f.queryId,
      (f) => f.kind,
      (f) => f.sentiment,
      (f) => f.value,
      (f) => f.documentId,
      (f) => f.rank,
      (f) => f.userHash,
      (f) => f.comment,
      (f) => f.counted,
      (f) => f.traceId,
    ]),
  });
  return areNew(feedback, rows);
}

/** Gives feedback that is there already the time of its repeat, where that is too late to be a retry. */
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
    [
      ...columnsOf(repeats, [
        (f) => dayAfter(f.receivedAt, 0),
        (f) => f.pipeline,
        (f) => f.id,
        (f) => f.receivedAt,
      ]),
      FEEDBACK_RETRY_MS,
    ],
  );
}

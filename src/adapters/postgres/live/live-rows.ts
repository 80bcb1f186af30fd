/** The multi-row inserts of live queries and feedback. */

import type { PoolClient } from 'pg';
import { FEEDBACK_RETRY_MS } from '../../../core/feedback/feedback-id.ts';
import type { LiveSample, StoredFeedback } from '../../../ports/live-traffic.ts';
import { binaryArray, type Element, type ElementType } from '../binary-arrays.ts';
import { dayAfter } from '../partitions.ts';
import { bytesOfVector } from '../vector-bytes.ts';

interface Key {
  pipeline: string;
  id: string;
}

/** Each column of a sample with its type on the wire and what of the sample it holds. */
const sampleColumns: readonly (readonly [string, ElementType, (sample: LiveSample) => Element])[] = [
  ['received_on', 'date', (s) => dayAfter(s.receivedAt, 0)],
  ['pipeline', 'text', (s) => s.pipeline],
  ['id', 'text', (s) => s.id],
  ['received_at', 'timestamptz', (s) => s.receivedAt],
  ['occurred_at', 'timestamptz', (s) => s.occurredAt],
  ['session_hash', 'text', (s) => s.sessionHash],
  ['trace_id', 'text', (s) => s.traceId],
  ['text', 'text', (s) => s.text],
  ['text_hash', 'text', (s) => s.textHash],
  ['embedding', 'bytea', (s) => (s.embedding === null ? null : bytesOfVector(s.embedding))],
  ['dimensions', 'integer', (s) => s.embedding?.length ?? null],
  ['top_k', 'integer', (s) => s.topK],
  ['outcome', 'text', (s) => s.outcome],
  ['error', 'text', (s) => s.error],
  ['results', 'text', (s) => JSON.stringify(s.results.map(({ id, score }) => [id, score]))],
  ['latency_ms', 'double precision', (s) => s.latencyMs],
  ['segments', 'text', (s) => JSON.stringify(s.segments)],
  ['user_hash', 'text', (s) => s.userHash],
  ['index_version', 'text', (s) => s.indexVersion],
  ['embedder_version', 'text', (s) => s.embedderVersion],
  ['retriever_version', 'text', (s) => s.retrieverVersion],
  ['probability', 'double precision', (s) => s.probability],
  ['keep_reason', 'text', (s) => s.keepReason],
  ['unit_hash', 'double precision', (s) => s.unitHash],
  ['rate_probability', 'double precision', (s) => s.rateProbability],
  ['level', 'smallint', (s) => s.level],
];

const sampleNames = sampleColumns.map(([name]) => name).join(', ');

const insertSamplesSql = `
  insert into live_queries (${sampleNames})
  select ${sampleColumns.map(([name]) => (name === 'results' || name === 'segments' ? `s.${name}::jsonb` : `s.${name}`)).join(', ')}
    from unnest(${sampleColumns.map(([, type], index) => `$${index + 1}::${type}[]`).join(', ')}) as s (${sampleNames})
   where not exists (select 1 from live_queries y
                      where y.received_on = s.received_on - 1 and y.pipeline = s.pipeline and y.id = s.id)
  on conflict (received_on, pipeline, id) do nothing
  returning pipeline, id`;

/**
 * Inserts samples that are not there yet, by (pipeline, id) of today and yesterday.
 *
 * @returns for each sample whether it is new; of equal ones in the list the first is
 */
export async function insertSamples(client: PoolClient, samples: readonly LiveSample[]): Promise<boolean[]> {
  const { rows } = await client.query<Key>({
    name: 'insert-live-queries',
    text: insertSamplesSql,
    values: sampleColumns.map(([, type, read]) => binaryArray(type, samples.map(read))),
  });
  return areNew(samples, rows);
}

/**
 * Of samples that are there already: a retry in a minute of a lower sampling level had a second chance to be kept, so
 * the larger of the two inclusion probabilities holds, and the sample belongs to the minute that gave it.
 */
export async function raiseProbabilities(client: PoolClient, samples: readonly LiveSample[]): Promise<void> {
  if (samples.length === 0) return;
  await client.query(
    `update live_queries l
        set received_at = s.received_at, probability = s.probability, keep_reason = s.keep_reason,
            rate_probability = s.rate_probability, level = s.level
       from (select distinct on (received_on, pipeline, id) *
               from unnest($1::date[], $2::text[], $3::text[], $4::timestamptz[], $5::double precision[], $6::text[],
                           $7::double precision[], $8::smallint[])
                 as t (received_on, pipeline, id, received_at, probability, keep_reason, rate_probability, level)
              order by received_on, pipeline, id, probability desc) s
      where l.received_on = s.received_on and l.pipeline = s.pipeline and l.id = s.id and l.probability < s.probability`,
    columnsOf(samples, [
      (s) => dayAfter(s.receivedAt, 0),
      (s) => s.pipeline,
      (s) => s.id,
      (s) => s.receivedAt,
      (s) => s.probability,
      (s) => s.keepReason,
      (s) => s.rateProbability,
      (s) => s.level,
    ]),
  );
}

/** Inserts feedback that is not there yet, likewise. */
export async function insertFeedback(
  client: PoolClient,
  feedback: readonly StoredFeedback[],
): Promise<boolean[]> {
  const { rows } = await client.query<Key>({
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

/** unnest wants one array per column. */
export function columnsOf<Row>(
  rows: readonly Row[],
  columns: readonly ((row: Row) => unknown)[],
): unknown[][] {
  return columns.map((column) => rows.map(column));
}

function areNew(sent: readonly Key[], inserted: readonly Key[]): boolean[] {
  const fresh = new Set(inserted.map(keyOf));
  // Of two equal ones in a batch only the first is new.
  return sent.map((row) => fresh.delete(keyOf(row)));
}

/** No text of PostgreSQL has the character in between. */
function keyOf({ pipeline, id }: Key): string {
  return `${pipeline}\0${id}`;
}

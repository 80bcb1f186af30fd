/** The multi-row inserts of live queries and feedback. */
import type { PoolClient } from 'pg';
import type { LiveSample, StoredFeedback } from '../../ports/live-traffic.ts';
import { dayAfter } from './partitions.ts';

interface Key {
  pipeline: string;
  id: string;
}

/**
 * Inserts samples that are not there yet, by (pipeline, id) of today and yesterday.
 *
 * @returns for each sample whether it is new; of equal ones in the list the first is
 */
export async function insertSamples(client: PoolClient, samples: readonly LiveSample[]): Promise<boolean[]> {
  const { rows } = await client.query<Key>({
    name: 'insert-live-queries',
    text: `
      insert into live_queries
        (received_on, pipeline, id, received_at, occurred_at, session_hash, trace_id, text, text_hash, embedding, dimensions, top_k,
         outcome, error, results, latency_ms, segments, user_hash, index_version, embedder_version, retriever_version,
         probability, keep_reason, unit_hash, rate_probability, level)
      select s.received_on, s.pipeline, s.id, s.received_at, s.occurred_at, s.session_hash, s.trace_id, s.text, s.text_hash, s.embedding,
             octet_length(s.embedding) / 4, s.top_k, s.outcome, s.error, s.results::jsonb, s.latency_ms, s.segments::jsonb, s.user_hash,
             s.index_version, s.embedder_version, s.retriever_version, s.probability, s.keep_reason, s.unit_hash, s.rate_probability, s.level
        from unnest($1::date[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::text[], $7::text[], $8::text[], $9::text[],
                    $10::bytea[], $11::integer[], $12::text[], $13::text[], $14::text[], $15::double precision[], $16::text[], $17::text[],
                    $18::text[], $19::text[], $20::text[], $21::double precision[], $22::text[], $23::double precision[],
                    $24::double precision[], $25::smallint[])
          as s (received_on, pipeline, id, received_at, occurred_at, session_hash, trace_id, text, text_hash, embedding, top_k, outcome,
                error, results, latency_ms, segments, user_hash, index_version, embedder_version, retriever_version, probability,
                keep_reason, unit_hash, rate_probability, level)
       where not exists (select 1 from live_queries y
                          where y.received_on = s.received_on - 1 and y.pipeline = s.pipeline and y.id = s.id)
      on conflict (received_on, pipeline, id) do nothing
      returning pipeline, id`,
    values: columnsOf(samples, [
      (s) => dayAfter(s.receivedAt, 0),
      (s) => s.pipeline,
      (s) => s.id,
      (s) => s.receivedAt,
      (s) => s.occurredAt,
      (s) => s.sessionHash,
      (s) => s.traceId,
      (s) => s.text,
      (s) => s.textHash,
      (s) => (s.embedding === null ? null : bytesOf(s.embedding)),
      (s) => s.topK,
      (s) => s.outcome,
      (s) => s.error,
      (s) => JSON.stringify(s.results.map(({ id, score }) => [id, score])),
      (s) => s.latencyMs,
      (s) => JSON.stringify(s.segments),
      (s) => s.userHash,
      (s) => s.indexVersion,
      (s) => s.embedderVersion,
      (s) => s.retrieverVersion,
      (s) => s.probability,
      (s) => s.keepReason,
      (s) => s.unitHash,
      (s) => s.rateProbability,
      (s) => s.level,
    ]),
  });
  return areNew(samples, rows);
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
        (received_on, pipeline, id, received_at, occurred_at, query_id, kind, sentiment, value, document_id, rank, user_hash, comment, counted)
      select f.* from unnest($1::date[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::text[], $7::text[], $8::text[],
                             $9::double precision[], $10::text[], $11::integer[], $12::text[], $13::text[], $14::boolean[])
          as f (received_on, pipeline, id, received_at, occurred_at, query_id, kind, sentiment, value, document_id, rank, user_hash, comment, counted)
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
    ]),
  });
  return areNew(feedback, rows);
}

/** unnest wants one array per column. */
function columnsOf<Row>(rows: readonly Row[], columns: readonly ((row: Row) => unknown)[]): unknown[][] {
  return columns.map((column) => rows.map(column));
}

function areNew(sent: readonly Key[], inserted: readonly Key[]): boolean[] {
  const fresh = new Set(inserted.map(keyOf));
  // Of two equal ones in a batch only the first is new.
  return sent.map((row) => fresh.delete(keyOf(row)));
}

function keyOf({ pipeline, id }: Key): string {
  return JSON.stringify([pipeline, id]);
}

/** float32, little-endian, as every machine that Node.js runs on today keeps it. */
function bytesOf(vector: Float32Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}

/** Fragments of traces, held in a ring of partitions until the live queries that they complete have come. */
import type { Pool, PoolClient } from 'pg';
import type { RetrievedDocument } from '../../model.ts';
import { bytesOfVector, columnsOf, vectorOfBytes } from '../../postgres/values.ts';
import type { TraceFragment } from '../rules/otel/trace-fragment.ts';

/** As many as the migration makes: one is written, the one before it is kept, the one after it is empty. */
const SLOTS = 3;
const SLOT_MS = 600_000;

/** More fragments of one trace are not looked at; the last ones count. */
const MAX_OF_A_TRACE = 200;

/** Holds fragments that are not held yet. */
export async function insertFragments(pool: Pool, fragments: readonly HeldFragment[]): Promise<void> {
  await pool.query(
    `insert into trace_fragments
       (slot, trace_id, span_id, part, ended_at_unix_nano, pipeline, kind, within, text, text_hash, embedding, embedder_version,
        top_k, latency_ms, results, session_hash, trace_hash, user_hash)
     select f.slot, f.trace_id, f.span_id, f.part, f.ended_at_unix_nano, f.pipeline, f.kind, f.within, f.text, f.text_hash, f.embedding,
            f.embedder_version, f.top_k, f.latency_ms, f.results::jsonb, f.session_hash, f.trace_hash, f.user_hash
       from unnest($1::smallint[], $2::text[], $3::text[], $4::integer[], $5::numeric[], $6::text[], $7::text[], $8::text[], $9::text[],
                   $10::text[], $11::bytea[], $12::text[], $13::integer[], $14::double precision[], $15::text[], $16::text[], $17::text[], $18::text[])
         as f (slot, trace_id, span_id, part, ended_at_unix_nano, pipeline, kind, within, text, text_hash, embedding, embedder_version,
               top_k, latency_ms, results, session_hash, trace_hash, user_hash)
     on conflict do nothing`,
    columnsOf(fragments, [
      (f) => slotAt(f.receivedAt),
      (f) => f.traceId,
      (f) => f.spanId,
      (f) => f.part,
      (f) => String(f.endedAtUnixNano),
      (f) => f.pipeline,
      (f) => f.kind,
      (f) => f.within,
      (f) => f.text,
      (f) => f.textHash,
      (f) => (f.embedding === null ? null : bytesOfVector(f.embedding)),
      (f) => f.embedderVersion,
      (f) => f.topK,
      (f) => f.latencyMs,
      (f) => (f.results === null ? null : JSON.stringify(f.results.map(({ id, score }) => [id, score]))),
      (f) => f.sessionHash,
      (f) => f.traceHash,
      (f) => f.userHash,
    ]),
  );
}

/** A held fragment: its text, session and user are what is stored for them. */
export interface StoredFragment {
  readonly fragment: TraceFragment;
  /** Whether the text is a hash. */
  readonly isHashed: boolean;
  readonly traceHash: string | null;
}

interface FragmentRow {
  trace_id: string;
  span_id: string;
  part: number;
  ended_at_unix_nano: string;
  pipeline: string | null;
  kind: TraceFragment['kind'];
  within: string | null;
  text: string | null;
  text_hash: string | null;
  embedding: Buffer | null;
  embedder_version: string | null;
  top_k: number | null;
  latency_ms: number | null;
  results: [string, number | null][] | null;
  session_hash: string | null;
  trace_hash: string | null;
  user_hash: string | null;
}

/**
 * What is held of some traces, in the order in which the spans ended. An erasure waits until the transaction is over,
 * so that it also finds what the fragments were copied to.
 */
export async function readFragments(client: PoolClient, traceIds: readonly string[]): Promise<StoredFragment[]> {
  const { rows } = await client.query<FragmentRow>(
    `select f.* from unnest($1::text[]) as t (id)
      cross join lateral (
        select * from trace_fragments where trace_id = t.id
         order by ended_at_unix_nano desc, span_id desc, part desc limit $2::integer for share) f
      order by f.ended_at_unix_nano, f.span_id, f.part`,
    [traceIds, MAX_OF_A_TRACE],
  );
  // One that was sent again in the time of the next slot is there twice.
  const once = new Map(rows.map((row) => [`${row.trace_id} ${row.span_id} ${row.part}`, row]));
  return [...once.values()].map((row) => ({
    fragment: toFragment(row),
    isHashed: row.text_hash !== null,
    traceHash: row.trace_hash,
  }));
}

function toFragment(row: FragmentRow): TraceFragment {
  const place = {
    traceId: row.trace_id,
    spanId: row.span_id,
    endedAtUnixNano: BigInt(row.ended_at_unix_nano),
    pipeline: row.pipeline,
    within: row.within,
  };
  const text = row.text ?? row.text_hash;
  switch (row.kind) {
    case 'embedding': {
      const vector = vectorOfBytes(row.embedding ?? Buffer.alloc(0));
      return { ...place, kind: 'embedding', text, vector, model: row.embedder_version };
    }
    case 'rerank': {
      const results = (row.results ?? []).map(([id, score]) => ({ id, score }));
      return { ...place, kind: 'rerank', text, topK: row.top_k, latencyMs: row.latency_ms, results };
    }
    case 'person':
      return { ...place, kind: 'person', sessionId: row.session_hash, userId: row.user_hash };
  }
}

/** Empties the partition that is written next, which is also the oldest. */
export async function releaseFragments(pool: Pool, now: Date): Promise<void> {
  const oldest = `trace_fragments_${(slotAt(now) + 1) % SLOTS}`;
  const { rows } = await pool.query(`select 1 from ${oldest} limit 1`);
  if (rows.length > 0) await pool.query(`truncate ${oldest}`);
}

function slotAt(time: Date): number {
  return Math.floor(time.getTime() / SLOT_MS) % SLOTS;
}

/** A fragment of a trace as it is held until its live queries come: text redacted, users and sessions hashed. */
export interface HeldFragment
  extends Pick<TraceFragment, 'kind' | 'traceId' | 'spanId' | 'endedAtUnixNano' | 'pipeline' | 'within'> {
  /** Numbers the fragments of one span from 0. */
  readonly part: number;
  readonly receivedAt: Date;
  readonly text: string | null;
  readonly textHash: string | null;
  readonly embedding: Float32Array | null;
  readonly embedderVersion: string | null;
  readonly topK: number | null;
  readonly latencyMs: number | null;
  readonly results: readonly RetrievedDocument[] | null;
  readonly sessionHash: string | null;
  /** What stands for the session of a query of this trace that has none; null unless `sessionHash` is told. */
  readonly traceHash: string | null;
  readonly userHash: string | null;
}

/** Brings together what came of one trace in several exports: live queries, what completes them, feedback on them. */
import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../../postgres/transaction.ts';
import { bytesOfVector, columnsOf } from '../../postgres/values.ts';
import type { LiveStage } from '../rules/live-query.ts';
import { type Completable, completeQueries, type TraceFragment } from '../rules/otel/trace-fragment.ts';
import { stagesJson } from './record-arrivals.ts';
import { readFragments, type StoredFragment } from './trace-fragments.ts';

export interface TraceToComplete {
  readonly id: string;
  /** The first day of receipt (UTC, YYYY-MM-DD) on which its queries and feedback are looked for. */
  readonly since: string;
}

/**
 * Completes the live queries of some traces with all that is held of them, and attaches feedback to the only query
 * of its trace. To be called after whatever came is committed: of two that come at the same moment, the one that is
 * settled last sees both. Settling once more changes nothing.
 */
export async function completeTraces(pool: Pool, traces: readonly TraceToComplete[]): Promise<void> {
  const since = traces.map((trace) => trace.since).reduce((a, b) => (a < b ? a : b), 'infinity');
  // Most traces have nothing to bring together, so this is all that they cost: a few looks into an index.
  const { rows } = await pool.query<{ id: string }>(
    `select distinct t.id from unnest($1::text[]) as t (id)
       left join lateral (select true as found from trace_fragments where trace_id = t.id limit 1) h on true
       left join lateral (select true as found from feedback where trace_id = t.id and received_on >= $2::date limit 1) f on true
      cross join lateral (select 1 from live_queries
                           where (h.found or f.found) and trace_id = t.id and received_on >= $2::date limit 1) q`,
    [traces.map(({ id }) => id), since],
  );
  const settled = rows.map((row) => row.id).toSorted();
  if (settled.length === 0) return;
  await inTransaction(pool, async (client) => {
    // One after the other per trace, each with a view of all that was committed before it.
    await client.query(
      `select pg_advisory_xact_lock(hashtextextended(id, 7322553)) from unnest($1::text[]) as t (id)`,
      [settled],
    );
    await completeStoredQueries(client, settled, since);
    await attachFeedback(client, settled, since);
  });
}

interface QueryRow {
  received_on: string;
  pipeline: string;
  id: string;
  trace_id: string;
  session_hash: string;
  text: string | null;
  text_hash: string | null;
  has_embedding: boolean;
  top_k: number | null;
  results: [string, number | null][];
  stages: LiveStage[] | null;
  latency_ms: number | null;
  user_hash: string | null;
  embedder_version: string | null;
}

/** A stored query as far as it can be completed: its text, session and user are what is stored for them. */
interface StoredQuery extends Completable {
  readonly row: QueryRow;
}

async function completeStoredQueries(client: PoolClient, traceIds: readonly string[], since: string): Promise<void> {
  const held = await readFragments(client, traceIds);
  if (held.length === 0) return;
  const { rows } = await client.query<QueryRow>(
    `select received_on::text, pipeline, id, trace_id, session_hash, text, text_hash, embedding is not null as has_embedding, top_k,
            results, stages, latency_ms, user_hash, embedder_version
       from live_queries where trace_id = any($1::text[]) and received_on >= $2::date
      order by received_on, pipeline, id for update`,
    [traceIds, since],
  );
  const known = await client.query<{ pipeline: string; dimensions: number }>(
    `select pipeline, dimensions from pipeline_dimensions`,
  );
  const dimensions = new Map(known.rows.map((row) => [row.pipeline, row.dimensions]));
  const changed: CompletedQuery[] = [];
  for (const pipeline of new Set(rows.map((row) => row.pipeline))) {
    const fitting = held.filter(({ fragment }) => fits(fragment, pipeline, dimensions.get(pipeline)));
    const queries = rows.filter((row) => row.pipeline === pipeline).map((row) => toStoredQuery(row, fitting));
    const fragments = fitting.map(({ fragment }) => fragment);
    const completed = completeQueries(queries, fragments).queries;
    changed.push(
      ...completed.flatMap((after, position) => {
        const before = queries[position];
        return before === undefined ? [] : changesOf(before, after, fitting);
      }),
    );
  }
  if (changed.length > 0) await writeCompleted(client, changed);
}

/** People are those of the whole trace; vectors and orders belong to one pipeline, and vectors to its space. */
function fits(fragment: TraceFragment, pipeline: string, dimensions: number | undefined): boolean {
  if (fragment.kind === 'person') return true;
  if (fragment.pipeline !== null && fragment.pipeline !== pipeline) return false;
  return fragment.kind === 'rerank' || dimensions === undefined || fragment.vector.length === dimensions;
}

function toStoredQuery(row: QueryRow, held: readonly StoredFragment[]): StoredQuery {
  const isOfTrace = held.some(
    ({ fragment, traceHash }) => fragment.traceId === row.trace_id && traceHash === row.session_hash,
  );
  return {
    row,
    id: row.id,
    traceId: row.trace_id,
    text: row.text ?? row.text_hash,
    // Only whether there is one matters.
    embedding: row.has_embedding ? new Float32Array() : null,
    topK: row.top_k,
    results: row.results.map(([id, score]) => ({ id, score })),
    stages: row.stages ?? [],
    latencyMs: row.latency_ms,
    sessionId: isOfTrace ? null : row.session_hash,
    userId: row.user_hash,
    versions: { embedder: row.embedder_version },
  };
}

interface CompletedQuery {
  readonly query: StoredQuery;
  /** Null unless the fragment gave it. */
  readonly text: string | null;
  readonly textHash: string | null;
  readonly embedding: Float32Array | null;
}

function changesOf(before: StoredQuery, after: StoredQuery, held: readonly StoredFragment[]): CompletedQuery[] {
  const text = before.text === null ? after.text : null;
  const isHashed = held.some(({ fragment, isHashed }) => isHashed && 'text' in fragment && fragment.text === text);
  const embedding = before.embedding === null ? after.embedding : null;
  const isSame =
    embedding === null &&
    (after.sessionId === null || after.sessionId === before.row.session_hash) &&
    after.userId === before.userId &&
    after.topK === before.topK &&
    after.stages === before.stages &&
    after.results.length === before.results.length &&
    after.results.every(({ id }, rank) => id === before.results[rank]?.id);
  if (isSame) return [];
  return [{ query: after, text: isHashed ? null : text, textHash: isHashed ? text : null, embedding }];
}

async function writeCompleted(client: PoolClient, completed: readonly CompletedQuery[]): Promise<void> {
  const learnt = completed.filter(({ embedding }) => embedding !== null);
  // The first vector of a pipeline says how long its vectors are.
  await client.query(
    `insert into pipeline_dimensions (pipeline, dimensions)
     select distinct on (pipeline) pipeline, dimensions from unnest($1::text[], $2::integer[]) as d (pipeline, dimensions)
      order by pipeline on conflict do nothing`,
    columnsOf(learnt, [({ query }) => query.row.pipeline, ({ embedding }) => embedding?.length]),
  );
  // The draw and the inclusion probability stay: a session that is learnt now had no part in them.
  await client.query(
    `update live_queries l
        set session_hash = coalesce(c.session_hash, l.session_hash), user_hash = c.user_hash,
            text = coalesce(l.text, c.text), text_hash = coalesce(l.text_hash, c.text_hash),
            embedding = coalesce(l.embedding, case when c.dimensions = d.dimensions then c.embedding end),
            dimensions = coalesce(l.dimensions, case when c.dimensions = d.dimensions then c.dimensions end),
            embedder_version = c.embedder_version, top_k = c.top_k, results = c.results::jsonb, stages = c.stages::jsonb,
            -- Of what a reranker left out nobody knows what it had cost.
            context_characters = case when l.results = c.results::jsonb then l.context_characters end,
            context_repeated = case when l.results = c.results::jsonb then l.context_repeated end
       from (select *, octet_length(embedding) / 4 as dimensions from unnest($1::date[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[], $9::text[],
                   $10::integer[], $11::text[], $12::text[])
               as u (received_on, pipeline, id, session_hash, user_hash, text, text_hash, embedding, embedder_version, top_k, results, stages)) c
       left join pipeline_dimensions d on d.pipeline = c.pipeline
      where l.received_on = c.received_on and l.pipeline = c.pipeline and l.id = c.id`,
    columnsOf(completed, [
      ({ query }) => query.row.received_on,
      ({ query }) => query.row.pipeline,
      ({ query }) => query.row.id,
      ({ query }) => query.sessionId,
      ({ query }) => query.userId,
      ({ text }) => text,
      ({ textHash }) => textHash,
      ({ embedding }) => (embedding === null ? null : bytesOfVector(embedding)),
      ({ query }) => query.versions.embedder,
      ({ query }) => query.topK,
      ({ query }) => JSON.stringify(query.results.map(({ id, score }) => [id, score])),
      ({ query }) => stagesJson(query.stages),
    ]),
  );
}

/** A function of what is stored, whatever came first: the only query of the trace, else the span that was judged. */
async function attachFeedback(client: PoolClient, traceIds: readonly string[], since: string): Promise<void> {
  await client.query(
    `update feedback f set query_id = t.query_id
       from (select j.received_on, j.pipeline, j.id,
                    case when count(q.id) = 1 then min(q.id) else j.judged_id end as query_id
               from feedback j
               left join live_queries q on q.pipeline = j.pipeline and q.trace_id = j.trace_id and q.received_on >= $2::date
              where j.trace_id = any($1::text[]) and j.received_on >= $2::date
              group by j.received_on, j.pipeline, j.id, j.judged_id) t
      where f.received_on = t.received_on and f.pipeline = t.pipeline and f.id = t.id and f.query_id <> t.query_id`,
    [traceIds, since],
  );
}

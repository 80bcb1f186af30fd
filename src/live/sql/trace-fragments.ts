/**
 * Buffers trace fragments in a ring of partitions until their live queries arrive, and combines the data of a trace
 * that arrived in several exports.
 */

import type { Pool, PoolClient } from 'pg';
import type { RetrievedDocument } from '../../core/model.ts';
import { insertRows, queryRows } from '../../platform/postgres/rows.ts';
import { inTransaction } from '../../platform/postgres/transaction.ts';
import { bytesOfVector, columnsOf, vectorOfBytes } from '../../platform/postgres/values.ts';
import { type Completable, completeQueries, type TraceFragment } from '../rules/otel/trace-fragment.ts';
import type { EpisodeScope } from '../rules/otel/trace-index.ts';
import { type LiveSample, stagesJson } from './record-arrivals.ts';
import { documentOfRow, type ResultRow, resultsJson, rowOfDocument } from './result-rows.ts';

/**
 * Number of partitions that the migration creates: fragments are written to the current partition, the previous
 * partition is still read, and the next partition is empty.
 */
const SLOTS = 3;
/** Time for which fragments are written to the same partition. */
const SLOT_MS = 600_000;

/** Maximum number of fragments read per trace; only the latest fragments are read. */
const MAX_OF_A_TRACE = 200;

const fragmentColumns = {
  slot: 'smallint',
  traceId: 'text',
  spanId: 'text',
  part: 'integer',
  endedAtUnixNano: 'numeric',
  pipeline: 'text',
  kind: 'text',
  within: 'text',
  text: 'text',
  textHash: 'text',
  embedding: 'bytea',
  embedderVersion: 'text',
  topK: 'integer',
  latencyMs: 'double precision',
  results: 'jsonb',
  sessionHash: 'text',
  traceHash: 'text',
  userHash: 'text',
  scope: 'text',
  startedAtUnixNano: 'numeric',
} as const;

/** Stores fragments; duplicates are ignored. */
export async function insertFragments(pool: Pool, fragments: readonly BufferedFragment[]): Promise<void> {
  const rows = fragments.map(({ endedAtUnixNano, embedding, results, startedAtUnixNano, ...fragment }) => ({
    ...fragment,
    slot: slotAt(fragment.receivedAt),
    endedAtUnixNano: String(endedAtUnixNano),
    embedding: embedding && bytesOfVector(embedding),
    results: results?.map(rowOfDocument) ?? null,
    startedAtUnixNano: startedAtUnixNano === null ? null : String(startedAtUnixNano),
  }));
  await insertRows(pool, 'trace_fragments', fragmentColumns, rows, 'on conflict do nothing');
}

/** A stored fragment, with redacted or hashed text, session and user. */
interface StoredFragment {
  readonly fragment: TraceFragment;
  /** True if the text is a hash. */
  readonly isHashed: boolean;
  readonly traceHash: string | null;
}

type FragmentRow = Omit<
  BufferedFragment,
  'endedAtUnixNano' | 'startedAtUnixNano' | 'embedding' | 'results' | 'receivedAt'
> & {
  readonly endedAtUnixNano: string;
  readonly startedAtUnixNano: string | null;
  readonly embedding: Buffer | null;
  readonly results: readonly ResultRow[] | null;
};

/**
 * Reads the fragments of traces, ordered by the end times of their spans. The share lock makes an erasure wait for the
 * transaction, so that the erasure also finds the queries to which the fragments were copied.
 */
async function readFragments(client: PoolClient, traceIds: readonly string[]): Promise<StoredFragment[]> {
  const rows = await queryRows<FragmentRow>(
    client,
    `select f.* from unnest($1::text[]) as t (id)
      cross join lateral (
        select * from trace_fragments where trace_id = t.id
         order by ended_at_unix_nano desc, span_id desc, part desc limit $2::integer for share) f
      order by f.ended_at_unix_nano, f.span_id, f.part`,
    [traceIds, MAX_OF_A_TRACE],
  );
  // Skips duplicates: a fragment is stored twice if it is sent again after the current partition has changed.
  const once = new Map(rows.map((row) => [`${row.traceId} ${row.spanId} ${row.part}`, row]));
  return [...once.values()].map((row) => ({
    fragment: toFragment(row),
    isHashed: row.textHash !== null,
    traceHash: row.traceHash,
  }));
}

function toFragment(row: FragmentRow): TraceFragment {
  const place = {
    traceId: row.traceId,
    spanId: row.spanId,
    endedAtUnixNano: BigInt(row.endedAtUnixNano),
    pipeline: row.pipeline,
    within: row.within,
  };
  const text = row.text ?? row.textHash;
  switch (row.kind) {
    case 'embedding': {
      const vector = vectorOfBytes(row.embedding ?? Buffer.alloc(0));
      return { ...place, kind: 'embedding', text, vector, model: row.embedderVersion };
    }
    case 'rerank': {
      const results = (row.results ?? []).map(documentOfRow);
      return { ...place, kind: 'rerank', text, topK: row.topK, latencyMs: row.latencyMs, results };
    }
    case 'person':
      return { ...place, kind: 'person', sessionId: row.sessionHash, userId: row.userHash };
    case 'episode': {
      const startedAtUnixNano = BigInt(row.startedAtUnixNano ?? 0);
      return { ...place, kind: 'episode', scope: row.scope ?? 'chain', startedAtUnixNano, text: row.text };
    }
  }
}

/**
 * Deletes fragments that are 10 to 20 minutes old, by truncating the partition to which new fragments are written next.
 */
export async function dropOldFragments(pool: Pool, now: Date): Promise<void> {
  const oldest = `trace_fragments_${(slotAt(now) + 1) % SLOTS}`;
  const { rows } = await pool.query(`select 1 from ${oldest} limit 1`);
  if (rows.length > 0) await pool.query(`truncate ${oldest}`);
}

function slotAt(time: Date): number {
  return Math.floor(time.getTime() / SLOT_MS) % SLOTS;
}

/** A buffered trace fragment, with redacted text, and with hashes of users and sessions. */
export interface BufferedFragment
  extends Pick<TraceFragment, 'kind' | 'traceId' | 'spanId' | 'endedAtUnixNano' | 'pipeline' | 'within'>,
    Pick<LiveSample, 'text' | 'textHash' | 'embedding' | 'embedderVersion' | 'topK' | 'latencyMs' | 'userHash'> {
  /** Index among the fragments of the span, starting at 0. */
  readonly part: number;
  readonly receivedAt: Date;
  readonly results: readonly RetrievedDocument[] | null;
  readonly sessionHash: string | null;
  /** `sessionHash` that queries of this trace have if they lack a session; null if the fragment has no session. */
  readonly traceHash: string | null;
  /** Scope of the episode; null unless the fragment is an episode. */
  readonly scope: EpisodeScope | null;
  readonly startedAtUnixNano: bigint | null;
}

export interface TraceToComplete {
  readonly id: string;
  /** First day of receipt (UTC, YYYY-MM-DD) to search for queries and feedback of the trace. */
  readonly since: string;
}

/**
 * Completes the live queries of each trace from the fragments of that trace, and, if the trace has only one query,
 * attaches feedback to that query. Must be called after new data has been committed: if two calls run concurrently, the
 * later call then sees the data of both. Idempotent.
 */
export async function completeTraces(pool: Pool, traces: readonly TraceToComplete[]): Promise<void> {
  const since = traces.map((trace) => trace.since).reduce((a, b) => (a < b ? a : b), 'infinity');
  // Most traces have nothing to combine; for such traces, this query needs only a few index lookups.
  const { rows } = await pool.query<{ id: string }>(
    `select distinct t.id from unnest($1::text[]) as t (id)
       left join lateral (select true as found from trace_fragments where trace_id = t.id limit 1) h on true
       left join lateral (select true as found from feedback where trace_id = t.id and received_on >= $2::date limit 1) f on true
      cross join lateral (select 1 from live_queries
                           where (h.found or f.found) and trace_id = t.id and received_on >= $2::date limit 1) q`,
    [traces.map(({ id }) => id), since],
  );
  const ids = rows.map((row) => row.id).toSorted();
  if (ids.length === 0) return;
  await inTransaction(pool, async (client) => {
    // Serializes transactions per trace, so that each sees everything committed before it.
    // Locks the traces in sorted order.
    await client.query(
      `select pg_advisory_xact_lock(hashtextextended(id, 7322553)) from unnest($1::text[]) as t (id)`,
      [ids],
    );
    await completeStoredQueries(client, ids, since);
    await attachFeedback(client, ids, since);
  });
}

/** A stored query that may be completed, with redacted or hashed text, session and user. */
interface StoredQuery extends Completable {
  readonly receivedOn: string;
  readonly pipeline: string;
  readonly sessionHash: string;
}

interface QueryRow extends Omit<StoredQuery, 'embedding' | 'results' | 'sessionId'> {
  readonly hasEmbedding: boolean;
  readonly results: readonly ResultRow[];
}

async function completeStoredQueries(client: PoolClient, traceIds: readonly string[], since: string): Promise<void> {
  const held = await readFragments(client, traceIds);
  if (held.length === 0) return;
  const rows = await queryRows<QueryRow>(
    client,
    `select received_on::text, pipeline, id, trace_id, occurred_at, session_hash, coalesce(text, text_hash) as text, top_k, results,
            latency_ms, user_hash as user_id, embedding is not null as has_embedding, coalesce(stages, '[]') as stages,
            jsonb_build_object('embedder', embedder_version) as versions,
            case when episode is not null
                 then jsonb_build_object('id', episode, 'step', episode_step, 'originalText', original_text) end as episode
       from live_queries where trace_id = any($1::text[]) and received_on >= $2::date
      order by received_on, pipeline, id for update`,
    [traceIds, since],
  );
  const known = await queryRows<{ pipeline: string; dimensions: number }>(client, `select * from pipeline_dimensions`);
  const dimensions = new Map(known.map((row) => [row.pipeline, row.dimensions]));
  const changed: CompletedQuery[] = [];
  for (const pipeline of new Set(rows.map((row) => row.pipeline))) {
    const fitting = held
      .filter(({ fragment }) => fits(fragment, pipeline, dimensions.get(pipeline)))
      .map((one) => ({ ...one, fragment: withoutForeignText(one.fragment, pipeline) }));
    const queries = rows.filter((row) => row.pipeline === pipeline).map((row) => toStoredQuery(row, fitting));
    const fragments = fitting.map(({ fragment }) => fragment);
    for (const [position, after] of completeQueries(queries, fragments).queries.entries())
      changed.push(...changesOf(queries[position] ?? after, after, fitting));
  }
  if (changed.length > 0) await writeCompleted(client, changed);
}

/**
 * Users, sessions and episodes apply to the whole trace. Other fragments apply to one pipeline, and their vectors must
 * have the dimensions of that pipeline.
 */
function fits(fragment: TraceFragment, pipeline: string, dimensions: number | undefined): boolean {
  if (fragment.kind === 'person' || fragment.kind === 'episode') return true;
  if (fragment.pipeline !== null && fragment.pipeline !== pipeline) return false;
  return fragment.kind === 'rerank' || dimensions === undefined || fragment.vector.length === dimensions;
}

/** Drops the original text if it was stored under the privacy settings of another pipeline. */
function withoutForeignText(fragment: TraceFragment, pipeline: string): TraceFragment {
  return fragment.kind === 'episode' && fragment.pipeline !== pipeline ? { ...fragment, text: null } : fragment;
}

function toStoredQuery({ hasEmbedding, ...row }: QueryRow, held: readonly StoredFragment[]): StoredQuery {
  const isOfTrace = held.some(
    ({ fragment, traceHash }) => fragment.traceId === row.traceId && traceHash === row.sessionHash,
  );
  return {
    ...row,
    // Only the presence of a vector matters here, not its values.
    embedding: hasEmbedding ? new Float32Array() : null,
    results: row.results.map(documentOfRow),
    sessionId: isOfTrace ? null : row.sessionHash,
  };
}

type CompletedQuery = ReturnType<typeof changesOf>[number];

/** Returns the changed fields. The text is null unless it comes from a fragment. */
function changesOf(before: StoredQuery, after: StoredQuery, held: readonly StoredFragment[]) {
  const text = before.text === null ? after.text : null;
  const isHashed = held.some(({ fragment, isHashed }) => isHashed && 'text' in fragment && fragment.text === text);
  const embedding = before.embedding === null ? after.embedding : null;
  const isSame =
    embedding === null &&
    (after.sessionId === null || after.sessionId === before.sessionHash) &&
    after.userId === before.userId &&
    after.topK === before.topK &&
    after.episode === before.episode &&
    after.stages === before.stages &&
    after.results.length === before.results.length &&
    after.results.every(({ id }, rank) => id === before.results[rank]?.id);
  if (isSame) return [];
  return [{ query: after, text: isHashed ? null : text, textHash: isHashed ? text : null, embedding }];
}

async function writeCompleted(client: PoolClient, completed: readonly CompletedQuery[]): Promise<void> {
  const learned = completed.filter(({ embedding }) => embedding !== null);
  // The first vector of a pipeline sets its dimensions.
  await client.query(
    `insert into pipeline_dimensions (pipeline, dimensions)
     select distinct on (pipeline) pipeline, dimensions from unnest($1::text[], $2::integer[]) as d (pipeline, dimensions)
      order by pipeline on conflict do nothing`,
    columnsOf(learned, [({ query }) => query.pipeline, ({ embedding }) => embedding?.length]),
  );
  // The random number and the inclusion probability do not change, because they were determined without the new
  // session.
  await client.query(
    `update live_queries l
        set session_hash = coalesce(c.session_hash, l.session_hash), user_hash = c.user_hash,
            text = coalesce(l.text, c.text), text_hash = coalesce(l.text_hash, c.text_hash),
            embedding = coalesce(l.embedding, case when c.dimensions = d.dimensions then c.embedding end),
            dimensions = coalesce(l.dimensions, case when c.dimensions = d.dimensions then c.dimensions end),
            embedder_version = c.embedder_version, top_k = c.top_k, episode = c.episode, original_text = c.original_text, results = c.results::jsonb, stages = c.stages::jsonb,
            -- The context size is unknown after a reranker has removed documents.
            context_characters = case when l.results = c.results::jsonb then l.context_characters end,
            context_repeated = case when l.results = c.results::jsonb then l.context_repeated end
       from (select *, octet_length(embedding) / 4 as dimensions from unnest($1::date[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[], $9::text[],
                   $10::integer[], $11::text[], $12::text[], $13::text[], $14::text[])
               as u (received_on, pipeline, id, session_hash, user_hash, text, text_hash, embedding, embedder_version, top_k, results, stages,
                     episode, original_text)) c
       left join pipeline_dimensions d on d.pipeline = c.pipeline
      where l.received_on = c.received_on and l.pipeline = c.pipeline and l.id = c.id`,
    columnsOf(completed, [
      ({ query }) => query.receivedOn,
      ({ query }) => query.pipeline,
      ({ query }) => query.id,
      ({ query }) => query.sessionId,
      ({ query }) => query.userId,
      ({ text }) => text,
      ({ textHash }) => textHash,
      ({ embedding }) => (embedding === null ? null : bytesOfVector(embedding)),
      ({ query }) => query.versions.embedder,
      ({ query }) => query.topK,
      ({ query }) => resultsJson(query.results),
      ({ query }) => stagesJson(query.stages),
      ({ query }) => query.episode?.id ?? null,
      ({ query }) => query.episode?.originalText ?? null,
    ]),
  );
}

/**
 * Attaches feedback to the only query of its trace or, if there is none, to the annotated span. The result does not
 * depend on the order of arrival.
 */
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

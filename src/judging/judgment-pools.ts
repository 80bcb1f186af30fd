/**
 * Judgment pools and their scores. A query has a pool if recalld also searches the store for chunks that users did not
 * get.
 */
import type { Pool, PoolClient } from 'pg';
import type { LiveWindow } from '../live/sql/live-windows.ts';
import { insertRows, queryRow, queryRows } from '../platform/postgres/rows.ts';
import { vectorOfBytes } from '../platform/postgres/values.ts';
import type { PooledQuery, poolScores } from './rules/judged-measures.ts';

/** A query whose returned documents are graded but for which recalld has not searched the store yet. */
export interface PoolCandidate {
  readonly id: string;
  readonly text: string | null;
  readonly embedding: Float32Array | null;
  /** Documents that users got, best first. */
  readonly shown: readonly ShownDocument[];
}

export interface ShownDocument {
  readonly id: string;
  /** Hash of the document text; null if the document was deleted. */
  readonly hash: string | null;
  /** Grade by the current judge; null if the judge gave none. */
  readonly grade: number | null;
}

/** The judge of a query's documents, and the number of documents that were graded per retrieval. */
export interface JudgeDepth {
  readonly fingerprint: string;
  readonly k: number;
}

/** The settings that determine the pool score of a query. */
export interface PoolKind extends JudgeDepth {
  /** Number of chunks requested from the store. */
  readonly searched: number;
}

/** Queues the selected queries, except those with a null `probability`, in the transaction that selects them. */
export async function insertSelected(
  client: PoolClient,
  table: 'judgment_pools' | 'judged_episodes',
  pipeline: string,
  selected: readonly { readonly id: string; readonly probability: number | null }[],
  dueAt: Date,
): Promise<void> {
  const rows = selected.flatMap(({ id: queryId, probability }) =>
    probability === null ? [] : [{ pipeline, queryId, probability, state: 'open', dueAt }],
  );
  const columns = {
    pipeline: 'text',
    queryId: 'text',
    probability: 'double precision',
    state: 'text',
    dueAt: 'timestamptz',
  } as const;
  await insertRows(client, table, columns, rows, 'on conflict do nothing');
}

/** Returns an item of a work table to the queue, due at `dueAt`. */
export const releaseIn =
  (pool: Pool, table: 'judged_queries' | 'judgment_pools' | 'judged_episodes') =>
  async (pipeline: string, id: string, dueAt: Date): Promise<void> => {
    await pool.query(
      `update ${table} set due_at = $3::timestamptz where pipeline = $1::text and query_id = $2::text and state = 'open'`,
      [pipeline, id, dueAt],
    );
  };

/**
 * Marks open items of a work table as expired if their selected query was received before `before`.
 *
 * @returns the number of expired items, not counting pools that were waiting for the grades of their queries
 */
export const expireIn =
  (pool: Pool, table: 'judgment_pools' | 'judged_episodes') =>
  async (pipeline: string, before: Date): Promise<number> => {
    const { rows } = await pool.query<{ counted: number }>(
      `with gone as (
         update ${table} w set state = 'expired' from judged_queries j
          where w.pipeline = $1::text and w.state = 'open' and (j.pipeline, j.query_id) = (w.pipeline, w.query_id)
            and j.received_at < $2::timestamptz
         returning j.state)
       select count(*)::integer as counted from gone where state = 'graded' or $3::boolean`,
      [pipeline, before, table === 'judged_episodes'],
    );
    return rows[0]?.counted ?? 0;
  };

export function countStates(rows: readonly { readonly state: string | null }[]): Readonly<Record<string, number>> {
  const states: Record<string, number> = {};
  for (const { state } of rows) if (state !== null) states[state] = (states[state] ?? 0) + 1;
  return states;
}

export function createJudgmentPools(pool: Pool) {
  return {
    /**
     * Leases the next query whose returned documents are graded; null if none is waiting. Another worker may take the
     * query when the lease ends.
     */
    async claim(pipeline: string, fingerprint: string, now: Date, leaseUntil: Date): Promise<PoolCandidate | null> {
      const row = await queryRow<Omit<PoolCandidate, 'embedding'> & { readonly embedding: Buffer | null }>(
        pool,
        `with next as (
           select d.pipeline, d.query_id, j.received_on, j.documents from judgment_pools d join judged_queries j using (pipeline, query_id)
            where d.pipeline = $1::text and d.state = 'open' and d.due_at <= $3::timestamptz and j.state = 'graded'
            order by d.due_at, j.human_draw limit 1 for update of d skip locked),
         taken as (
           update judgment_pools d set due_at = $4::timestamptz from next n
            where d.pipeline = n.pipeline and d.query_id = n.query_id returning n.*)
         select t.query_id as id, q.text, q.embedding,
                (select jsonb_agg(jsonb_build_object('id', e.document ->> 0, 'hash', e.document ->> 1, 'grade', m.grade) order by e.rank)
                   from jsonb_array_elements(t.documents) with ordinality e (document, rank)
                   left join judgments m
                     on (m.pipeline, m.query_id, m.document_id, m.judge) = (t.pipeline, t.query_id, e.document ->> 0, 'model')
                    and m.fingerprint = $2::text) as shown
           from taken t left join live_queries q on q.received_on = t.received_on and q.pipeline = t.pipeline and q.id = t.query_id`,
        [pipeline, fingerprint, now, leaseUntil],
      );
      return row && { ...row, embedding: row.embedding && vectorOfBytes(row.embedding) };
    },

    release: releaseIn(pool, 'judgment_pools'),
    expire: expireIn(pool, 'judgment_pools'),

    /** Finishes a query. Sets the state of the query's pool to `graded`, or to `ungraded` if `found` is null. */
    async close(pipeline: string, id: string, found: (ReturnType<typeof poolScores> & PoolKind) | null): Promise<void> {
      await pool.query(
        `update judgment_pools
            set state = case when $3::double precision is null then 'ungraded' else 'graded' end, shown = $3::double precision,
                pooled = $4::double precision, fingerprint = $5::text, k = $6::integer, searched = $7::integer
          where pipeline = $1::text and query_id = $2::text and state = 'open'`,
        [
          pipeline,
          id,
          found?.shown ?? null,
          found?.pooled ?? null,
          found?.fingerprint ?? null,
          found?.k ?? null,
          found?.searched ?? null,
        ],
      );
    },

    /**
     * Reads the finished pools of this kind in a window, together with failed and empty queries. Counts all pools by
     * state.
     */
    async searched({ pipeline, from, until }: LiveWindow, { fingerprint, k, searched }: PoolKind) {
      const rows = await queryRows<PooledQuery & { state: string | null; isOfKind: boolean }>(
        pool,
        `select j.cluster, j.outcome, coalesce(d.probability, j.probability) as probability,
                coalesce(d.shown - d.pooled, 0) as gap, d.state,
                d.state is null or (d.fingerprint, d.k, d.searched) is not distinct from ($4::text, $5::integer, $6::integer) as is_of_kind
           from judged_queries j left join judgment_pools d using (pipeline, query_id)
          where j.pipeline = $1::text and j.received_at >= $2::timestamptz and j.received_at < $3::timestamptz
            and (j.state = 'known' or d.state is not null)
          order by j.received_at, j.query_id`,
        [pipeline, from, until, fingerprint, k, searched],
      );
      return { queries: rows.filter(({ isOfKind }) => isOfKind), states: countStates(rows) };
    },
  };
}

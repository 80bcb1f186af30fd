/** Live queries selected for judging, in PostgreSQL: what to grade, the document texts, and the grades. */

import type { Pool } from 'pg';
import type { QueryOutcome } from '../core/model.ts';
import { insertRows, queryRow, queryRows } from '../platform/postgres/rows.ts';
import { inTransaction, lockInTransaction } from '../platform/postgres/transaction.ts';
import { vectorOfBytes } from '../platform/postgres/values.ts';
import { gradedQueries } from './graded-queries.ts';
import { humanJudgments } from './human-judgments.ts';
import { insertSelected, releaseIn } from './judgment-pools.ts';
import type { JudgingPlan } from './plan.ts';
import type { StoredText } from './rules/judge-prompt.ts';

/** A sampled live query that may be selected for judging. */
export interface SampledQuery {
  readonly id: string;
  readonly receivedOn: string;
  readonly receivedAt: Date;
  /**
   * Random number of the query's session. This number decides whether the session is sampled, and identifies the
   * cluster.
   */
  readonly cluster: number;
  readonly sessionHash: string;
  readonly outcome: QueryOutcome;
  readonly segments: Readonly<Record<string, string>>;
  readonly probability: number;
  readonly hasText: boolean;
  /** True if the query has negative feedback or is unlike the content of the store. */
  readonly isSuspect: boolean;
  /**
   * True for the retrieval that represents its episode: the first retrieval whose original text is stored.
   */
  readonly isFirstOfEpisode: boolean;
  /** Ids of at most `depth` documents, best first. */
  readonly documentIds: readonly string[];
}

export interface DrawnQuery
  extends Omit<SampledQuery, 'sessionHash' | 'hasText' | 'isSuspect' | 'isFirstOfEpisode' | 'probability'> {
  /** Probability that the query is sampled and selected. */
  readonly drawnProbability: number;
  /** Probability that the query is sampled, selected and compared with shadows; null if it is not compared. */
  readonly shadowProbability: number | null;
  /** Probability that the query is sampled, selected and pooled; null if it is not pooled. */
  readonly poolProbability: number | null;
  /**
   * Probability that the query's episode is sampled, selected and graded as a whole; null if the episode is not graded.
   */
  readonly episodeProbability: number | null;
  readonly humanDraw: number;
  readonly needsHuman: boolean;
  readonly needsSecondHuman: boolean;
}

export interface OpenQuery {
  readonly id: string;
  readonly receivedAt: Date;
  /** Query text; null if the live query was erased or has expired. */
  readonly text: string | null;
  readonly embedding: Float32Array | null;
  readonly segments: Readonly<Record<string, string>>;
  readonly documentIds: readonly string[];
}

export interface ModelGrade {
  readonly documentId: string;
  readonly grade: number | null;
  readonly problem: string | null;
  readonly isFlagged: boolean;
  readonly contentHash: string;
}

/** Identifies the query text and the judge of a grade that can be reused. */
export interface GradedBy {
  readonly textHash: string;
  readonly fingerprint: string;
}

/** Share of the queries in a round that count as unlike the content of the store: those with the lowest similarity. */
const NOVEL_SHARE = 0.1;

const samplesSql = `
  select q.id, q.received_on::text, q.received_at, q.unit_hash as cluster, q.session_hash, q.outcome, q.segments, q.probability,
         -- A document known only by its rank cannot be judged.
         q.text is not null
           and not exists (select from jsonb_array_elements(q.results) with ordinality e (document, rank)
                            where e.rank <= $4::integer and e.document ->> 0 like 'unidentified:%') as has_text,
         q.keep_reason in ('negative_feedback', 'low_similarity')
           or exists (select from feedback f where f.pipeline = q.pipeline and f.query_id = q.id and f.sentiment = 'negative'
                         and f.counted and f.received_on >= q.received_on)
           or (c.nearest -> 0 is not null
               and percent_rank() over (order by (c.nearest -> 0 ->> 1)::double precision) < ${NOVEL_SHARE}) as is_suspect,
         q.original_text is not null and q.episode is not null
           and not exists (select from live_queries e
                            where e.pipeline = q.pipeline and e.episode = q.episode
                              and e.received_on between q.received_on - 1 and q.received_on + 1
                              and (e.occurred_at, e.id) < (q.occurred_at, q.id)
                              and e.occurred_at >= q.occurred_at - $5::double precision * interval '1 millisecond') as is_first_of_episode,
         array(select e.document ->> 0 from jsonb_array_elements(q.results) with ordinality e (document, rank)
                where e.rank <= 4 * $4::integer order by e.rank) as document_ids
    from live_queries q
    left join query_coverage c on c.received_on = q.received_on and c.pipeline = q.pipeline and c.id = q.id
                              and c.status = 'measured'
   where q.pipeline = $1::text and q.received_at >= $2::timestamptz and q.received_at < $3::timestamptz
     and q.received_on >= ($2::timestamptz at time zone 'utc')::date
   order by q.received_at, q.id`;

const drawnColumns = {
  pipeline: 'text',
  queryId: 'text',
  receivedOn: 'date',
  receivedAt: 'timestamptz',
  cluster: 'double precision',
  outcome: 'text',
  segments: 'jsonb',
  probability: 'double precision',
  humanDraw: 'double precision',
  needsHuman: 'boolean',
  documents: 'jsonb',
  state: 'text',
  dueAt: 'timestamptz',
  shadowProbability: 'double precision',
  needsSecondHuman: 'boolean',
} as const;

export function createJudgedTable(pool: Pool) {
  return {
    ...humanJudgments(pool),
    ...gradedQueries(pool),

    /**
     * Selects from the queries sampled since the last round. If several replicas start a round, only one succeeds,
     * because the rows and the end of the round are committed together. The first round selects no queries.
     *
     * @returns the number of selected queries; null if no round is due
     */
    drawRound: (
      { pipeline, depth, episodeIdleMs }: JudgingPlan,
      until: Date,
      minRoundMs: number,
      draw: (sampled: readonly SampledQuery[], from: Date) => { drawn: readonly DrawnQuery[]; unaffordable: number },
    ): Promise<number | null> =>
      inTransaction(pool, async (client) => {
        await lockInTransaction(client, 'judging', pipeline);
        const { rows: rounds } = await client.query<{ drawn_until: Date }>(
          `insert into judging_rounds as r (pipeline, started_at, drawn_until) values ($1::text, $2::timestamptz, $2::timestamptz)
           on conflict (pipeline) do update set pipeline = r.pipeline returning drawn_until`,
          [pipeline, until],
        );
        const from = rounds[0]?.drawn_until ?? until;
        if (until.getTime() - from.getTime() < minRoundMs) return null;
        const sampled = await queryRows<SampledQuery>(client, samplesSql, [
          pipeline,
          from,
          until,
          depth,
          episodeIdleMs,
        ]);
        const { drawn, unaffordable } = draw(
          // A document returned as several chunks is graded once, at its best rank.
          sampled.map((one) => ({ ...one, documentIds: [...new Set(one.documentIds)].slice(0, depth) })),
          from,
        );
        const rows = drawn.map(({ id: queryId, drawnProbability: probability, documentIds, ...one }) => ({
          ...one,
          pipeline,
          queryId,
          probability,
          documents: documentIds.map((id) => [id, null]),
          state: one.outcome === 'ok' ? 'open' : 'known',
          dueAt: until,
        }));
        await insertRows(client, 'judged_queries', drawnColumns, rows, 'on conflict do nothing');
        const pools = drawn.map(({ id, poolProbability: probability }) => ({ id, probability }));
        await insertSelected(client, 'judgment_pools', pipeline, pools, until);
        const episodes = drawn.map(({ id, episodeProbability: probability }) => ({ id, probability }));
        await insertSelected(client, 'judged_episodes', pipeline, episodes, until);
        await client.query(
          `update judging_rounds set drawn_until = $2::timestamptz, unaffordable = unaffordable + $3::double precision
            where pipeline = $1::text`,
          [pipeline, until, unaffordable],
        );
        return drawn.length;
      }),

    /** Leases the next open query; null if none is waiting. Another worker may take the query when the lease ends. */
    async claim(pipeline: string, now: Date, leaseUntil: Date): Promise<OpenQuery | null> {
      const row = await queryRow<Omit<OpenQuery, 'embedding'> & { readonly embedding: Buffer | null }>(
        pool,
        `with next as (
           select pipeline, query_id from judged_queries
            where pipeline = $1::text and state = 'open' and due_at <= $2::timestamptz
            order by due_at, human_draw limit 1 for update skip locked),
         taken as (
           update judged_queries j set due_at = $3::timestamptz from next n
            where j.pipeline = n.pipeline and j.query_id = n.query_id
           returning j.pipeline, j.query_id, j.received_on, j.received_at, j.segments, j.documents)
         select t.query_id as id, t.received_at, q.text, q.embedding, t.segments,
                array(select e.document ->> 0 from jsonb_array_elements(t.documents) with ordinality e (document, rank)
                       order by e.rank) as document_ids
           from taken t left join live_queries q on q.received_on = t.received_on and q.pipeline = t.pipeline and q.id = t.query_id`,
        [pipeline, now, leaseUntil],
      );
      return row && { ...row, embedding: row.embedding && vectorOfBytes(row.embedding) };
    },

    recordTexts: (pipeline: string, id: string, texts: ReadonlyMap<string, StoredText>, now: Date): Promise<void> =>
      inTransaction(pool, async (client) => {
        const hashes = [...texts.values()];
        await client.query(
          `insert into judged_documents (pipeline, content_hash, content, seen_at)
           select distinct on (hash) $1::text, hash, content, $4::timestamptz from unnest($2::text[], $3::text[]) as d (hash, content)
           on conflict (pipeline, content_hash) do update set seen_at = excluded.seen_at`,
          [pipeline, hashes.map(({ hash }) => hash), hashes.map(({ content }) => content), now],
        );
        await client.query(
          `update judged_queries set documents = (
             select coalesce(jsonb_agg(jsonb_build_array(e.document ->> 0, h.hash) order by e.rank), '[]')
               from jsonb_array_elements(documents) with ordinality e (document, rank)
               left join unnest($3::text[], $4::text[]) as h (id, hash) on h.id = e.document ->> 0)
            where pipeline = $1::text and query_id = $2::text`,
          [pipeline, id, [...texts.keys()], hashes.map(({ hash }) => hash)],
        );
      }),

    /** Returns the grade that the same judge has already given to the same texts; null if there is none. */
    gradedBefore: (by: GradedBy & { readonly contentHash: string }) =>
      queryRow<{ grade: number; isFlagged: boolean }>(
        pool,
        `select grade, is_flagged from judgments
          where judge = 'model' and text_hash = $1::text and content_hash = $2::text and fingerprint = $3::text
            and grade is not null
          union all
         select grade, is_flagged from pool_judgments
          where text_hash = $1::text and content_hash = $2::text and fingerprint = $3::text
          limit 1`,
        [by.textHash, by.contentHash, by.fingerprint],
      ),

    async gradedDocuments(pipeline: string, id: string): Promise<ReadonlySet<string>> {
      const { rows } = await pool.query<{ document_id: string }>(
        `select document_id from judgments where pipeline = $1::text and query_id = $2::text and judge = 'model'`,
        [pipeline, id],
      );
      return new Set(rows.map((row) => row.document_id));
    },

    /** Stores a model grade, unless one exists or the query was erased. */
    async recordGrade(pipeline: string, id: string, grade: ModelGrade, by: GradedBy, now: Date): Promise<void> {
      await pool.query(
        `insert into judgments (pipeline, query_id, document_id, judge, grade, problem, is_flagged, text_hash, content_hash,
                                fingerprint, judged_at)
         select pipeline, query_id, $3::text, 'model', $4::smallint, $5::text, $6::boolean, $7::text, $8::text, $9::text, $10::timestamptz
           from judged_queries where pipeline = $1::text and query_id = $2::text
         on conflict do nothing`,
        [
          pipeline,
          id,
          grade.documentId,
          grade.grade,
          grade.problem,
          grade.isFlagged,
          by.textHash,
          grade.contentHash,
          by.fingerprint,
          now,
        ],
      );
    },

    /** Stores a grade for a document that users did not get, unless there is one already. */
    async recordPoolJudgment(
      pipeline: string,
      id: string,
      grade: { readonly contentHash: string; readonly grade: number; readonly isFlagged: boolean },
      by: GradedBy,
      now: Date,
    ): Promise<void> {
      await pool.query(
        `insert into pool_judgments (pipeline, query_id, text_hash, content_hash, fingerprint, grade, is_flagged, judged_at)
         select pipeline, query_id, $3::text, $4::text, $5::text, $6::smallint, $7::boolean, $8::timestamptz
           from judged_queries where pipeline = $1::text and query_id = $2::text
         on conflict do nothing`,
        [pipeline, id, by.textHash, grade.contentHash, by.fingerprint, grade.grade, grade.isFlagged, now],
      );
    },

    async close(pipeline: string, id: string, state: 'graded' | 'without_text' | 'expired'): Promise<void> {
      await pool.query(
        `update judged_queries set state = $3::text where pipeline = $1::text and query_id = $2::text and state = 'open'`,
        [pipeline, id, state],
      );
    },

    release: releaseIn(pool, 'judged_queries'),

    /** Marks open queries that were received before `before` as expired. */
    async expire(pipeline: string, before: Date): Promise<number> {
      const { rowCount } = await pool.query(
        `update judged_queries set state = 'expired'
          where pipeline = $1::text and state = 'open' and received_at < $2::timestamptz`,
        [pipeline, before],
      );
      return rowCount ?? 0;
    },

    /** Returns the state of the selection rounds; null before the first round. */
    round: (pipeline: string): Promise<{ startedAt: Date; drawnUntil: Date; unaffordable: number } | null> =>
      queryRow(pool, `select started_at, drawn_until, unaffordable from judging_rounds where pipeline = $1::text`, [
        pipeline,
      ]),

    /**
     * Deletes rows that are older than `before`: selected queries by time of receipt, document texts by the time when
     * they were last seen, and grades of pooled documents by time of grading.
     */
    async prune(pipeline: string, before: Date): Promise<void> {
      await pool.query(`delete from judged_queries where pipeline = $1::text and received_at < $2::timestamptz`, [
        pipeline,
        before,
      ]);
      await pool.query(`delete from pool_judgments where pipeline = $1::text and judged_at < $2::timestamptz`, [
        pipeline,
        before,
      ]);
      await pool.query(`delete from judged_documents where pipeline = $1::text and seen_at < $2::timestamptz`, [
        pipeline,
        before,
      ]);
    },
  };
}

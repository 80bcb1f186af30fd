/**
 * Judged episodes: agent turns that are graded as a whole. An episode is selected together with its first retrieval, so
 * that the probability of selecting the episode is known.
 */
import type { Pool } from 'pg';
import type { EpisodeRetrieval } from '../live/rules/episodes.ts';
import type { LiveWindow } from '../live/sql/live-windows.ts';
import { queryRow, queryRows } from '../platform/postgres/rows.ts';
import { vectorOfBytes } from '../platform/postgres/values.ts';
import { countStates, expireIn, type JudgeDepth, releaseIn } from './judgment-pools.ts';
import type { EpisodeScores, ScoredEpisode } from './rules/episode-scores.ts';

export interface JudgedRetrieval extends EpisodeRetrieval {
  readonly embedding: Float32Array | null;
  readonly segments: Readonly<Record<string, string>>;
}

export function createJudgedEpisodes(pool: Pool) {
  return {
    /** Leases the next episode; null if none is waiting. Another worker may take the episode when the lease ends. */
    claim: (pipeline: string, now: Date, leaseUntil: Date): Promise<{ readonly id: string } | null> =>
      queryRow(
        pool,
        `with next as (
           select e.query_id from judged_episodes e join judged_queries j using (pipeline, query_id)
            where e.pipeline = $1::text and e.state = 'open' and e.due_at <= $2::timestamptz
            order by e.due_at, j.human_draw limit 1 for update of e skip locked)
         update judged_episodes e set due_at = $3::timestamptz from next n
          where e.pipeline = $1::text and e.query_id = n.query_id returning e.query_id as id`,
        [pipeline, now, leaseUntil],
      ),

    /**
     * Returns the stored retrievals that have the same episode id as a selected query; none if the query was erased.
     */
    async retrievals(pipeline: string, id: string): Promise<readonly JudgedRetrieval[]> {
      const rows = await queryRows<Omit<JudgedRetrieval, 'embedding'> & { readonly embedding: Buffer | null }>(
        pool,
        `select q.id, q.text, q.original_text, q.embedding, q.segments, q.outcome, q.occurred_at, q.episode_step as step,
                array(select e.document ->> 0 from jsonb_array_elements(q.results) with ordinality e (document, rank)
                       order by e.rank) as document_ids
           from judged_queries j
           join live_queries f on f.received_on = j.received_on and f.pipeline = j.pipeline and f.id = j.query_id
           join live_queries q on q.pipeline = f.pipeline and q.episode = f.episode
                              and q.received_on between f.received_on - 1 and f.received_on + 1
          where j.pipeline = $1::text and j.query_id = $2::text`,
        [pipeline, id],
      );
      return rows.map((row) => ({ ...row, embedding: row.embedding && vectorOfBytes(row.embedding) }));
    },

    release: releaseIn(pool, 'judged_episodes'),
    expire: expireIn(pool, 'judged_episodes'),

    /** Finishes an episode. Sets the state of the episode to `graded`, or to `ungraded` if `scores` is null. */
    async close(pipeline: string, id: string, scores: EpisodeScores | null, by: JudgeDepth): Promise<void> {
      await pool.query(
        `update judged_episodes
            set state = case when $3::boolean is null then 'ungraded' else 'graded' end, is_hit = $3::boolean,
                rewritten = $4::double precision, original = $5::double precision, fingerprint = $6::text, k = $7::integer
          where pipeline = $1::text and query_id = $2::text and state = 'open'`,
        [
          pipeline,
          id,
          scores?.isHit ?? null,
          scores?.rewriting?.rewritten ?? null,
          scores?.rewriting?.original ?? null,
          by.fingerprint,
          by.k,
        ],
      );
    },

    async graded({ pipeline, from, until }: LiveWindow, { fingerprint, k }: JudgeDepth) {
      const rows = await queryRows<
        Omit<ScoredEpisode, 'rewriting'> & {
          state: string;
          isOfKind: boolean;
          rewritten: number;
          original: number | null;
        }
      >(
        pool,
        `select j.cluster, j.segments as tags, e.probability, e.state, coalesce(e.is_hit, false) as is_hit, e.rewritten, e.original,
                e.state = 'graded' and e.fingerprint = $4::text and e.k = $5::integer as is_of_kind
           from judged_episodes e join judged_queries j using (pipeline, query_id)
          where e.pipeline = $1::text and j.received_at >= $2::timestamptz and j.received_at < $3::timestamptz
          order by j.received_at, e.query_id`,
        [pipeline, from, until, fingerprint, k],
      );
      const episodes = rows
        .filter(({ isOfKind }) => isOfKind)
        .map(({ rewritten, original, ...episode }) => ({
          ...episode,
          rewriting: original === null ? null : { rewritten, original },
        }));
      return { episodes, states: countStates(rows) };
    },
  };
}

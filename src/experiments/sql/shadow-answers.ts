/** Live queries sent to shadows and the shadows' results, in PostgreSQL. */
import type { Pool } from 'pg';
import type { QueryOutcome } from '../../core/model.ts';
import type { ShownDocument } from '../../judging/judgment-pools.ts';
import { queryRow, queryRows } from '../../platform/postgres/rows.ts';
import type { GradedPair, LivePair, WeightedSums } from '../rules/live-pairs.ts';
import type { ExperimentKey } from './interim-analyses.ts';

/** A live query to send to a shadow. */
export interface UnaskedQuery {
  readonly id: string;
  readonly receivedAt: Date;
  /** Random number that identifies the query's session. */
  readonly cluster: number;
  /** Probability that the query is sampled and sent to the shadow. */
  readonly probability: number;
  readonly text: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly topK: number | null;
  readonly outcome: QueryOutcome;
  /**
   * Results that the user got, best first. The hash is null if the text could not be read; the grade is null if the
   * judge gave none.
   */
  readonly documents: readonly ShownDocument[];
}

export interface ShadowAnswer {
  readonly query: UnaskedQuery;
  readonly outcome: QueryOutcome;
  readonly latencyMs: number | null;
  /** Best first. */
  readonly documentIds: readonly string[];
  /** Comparison with the results that the user got; null if no comparison was possible. */
  readonly overlap?: { readonly overlap: number; readonly isChanged: boolean } | null;
  /** nDCG of both lists from the grades of their top k documents; null if a document has no grade. */
  readonly judged?: { readonly k: number; readonly scores: GradedPair | null };
}

export interface ChangedAnswer {
  readonly queryId: string;
  readonly text: string;
  readonly overlap: number;
  readonly documentIds: readonly string[];
  readonly shownIds: readonly string[];
}

export interface OverlapSummary extends WeightedSums {
  readonly asked: number;
  readonly failed: number;
  /** Sum of weight times overlap. */
  readonly overlap: number;
  /** Sum of the weights of the queries whose results changed. */
  readonly changed: number;
  /** Median latency in milliseconds; null if no latency is known. */
  readonly median: number | null;
  /** 95th percentile latency in milliseconds; null if no latency is known. */
  readonly p95: number | null;
}

export function createShadowAnswers(pool: Pool) {
  return {
    /**
     * Returns the samples that have a text and have not yet been sent to the shadow for the overlap measurement, oldest
     * first. The selection depends only on ids, so every read selects the same samples.
     *
     * @param rate share of the samples to send to the shadow
     */
    async unasked(
      { pipeline, experiment }: ExperimentKey,
      { since, rate, limit }: { readonly since: Date; readonly rate: number; readonly limit: number },
    ): Promise<readonly UnaskedQuery[]> {
      return queryRows<UnaskedQuery>(
        pool,
        `select q.id, q.received_at, q.unit_hash as cluster, q.probability * $4::double precision as probability,
                q.text, q.segments as tags, q.top_k, q.outcome,
                coalesce((select jsonb_agg(jsonb_build_object('id', e.document ->> 0, 'hash', null, 'grade', null) order by e.rank)
                            from jsonb_array_elements(q.results) with ordinality e (document, rank)), '[]') as documents
           from live_queries q
          where q.pipeline = $1::text and q.received_at >= $3::timestamptz
            and q.received_on >= ($3::timestamptz at time zone 'utc')::date and q.text is not null
            and mod(hashtextextended($2::text || ' ' || q.id, 0) & x'7fffffffffffffff'::bigint, 1000000)
                < $4::double precision * 1000000
            and not exists (select from shadow_answers a
                             where a.pipeline = q.pipeline and a.shadow = $2::text and a.purpose = 'overlap' and a.query_id = q.id)
          order by q.received_at, q.id limit $5::integer`,
        [pipeline, experiment, since, rate, limit],
      );
    },

    /**
     * Returns judged queries that have not yet been sent to the shadow, in the random order of their sessions, so that
     * a limited budget excludes a random subset.
     */
    async unjudged(
      { pipeline, experiment }: ExperimentKey,
      { since, judge, limit }: { readonly since: Date; readonly judge: string; readonly limit: number },
    ): Promise<readonly UnaskedQuery[]> {
      return queryRows<UnaskedQuery>(
        pool,
        `select j.query_id as id, j.received_at, j.cluster, j.shadow_probability as probability, q.text,
                j.segments as tags, q.top_k, j.outcome,
                coalesce((select jsonb_agg(jsonb_build_object('id', d.document ->> 0, 'hash', d.document ->> 1, 'grade', m.grade)
                                 order by d.rank)
                            from jsonb_array_elements(j.documents) with ordinality d (document, rank)
                            left join judgments m
                              on (m.pipeline, m.query_id, m.document_id, m.judge) = (j.pipeline, j.query_id, d.document ->> 0, 'model')
                             and m.fingerprint = $4::text), '[]') as documents
           from judged_queries j
           join live_queries q on q.received_on = j.received_on and q.pipeline = j.pipeline and q.id = j.query_id
          where j.pipeline = $1::text and j.received_at >= $3::timestamptz and j.shadow_probability is not null
            and j.state in ('graded', 'known') and q.text is not null
            and not exists (select from shadow_answers a
                             where a.pipeline = j.pipeline and a.shadow = $2::text and a.purpose = 'judged' and a.query_id = j.query_id)
          order by j.human_draw, j.query_id limit $5::integer`,
        [pipeline, experiment, since, judge, limit],
      );
    },

    /** Stores a result unless one exists; the result of an erased query is not stored. */
    async save(
      { pipeline, experiment, fingerprint }: ExperimentKey,
      { query, outcome, documentIds, latencyMs, overlap, judged }: ShadowAnswer,
      askedAt: Date,
    ): Promise<void> {
      await pool.query(
        `insert into shadow_answers (pipeline, shadow, fingerprint, asked_at, purpose, query_id, received_at, cluster, probability,
                                     outcome, document_ids, latency_ms, overlap, is_changed, k, baseline, candidate)
         select $1::text, $2::text, $3::text, $4::timestamptz, $5::text, $6::text, $7::timestamptz, $8::double precision,
                $9::double precision, $10::text, $11::text[], $12::double precision, $13::double precision, $14::boolean,
                $15::integer, $16::double precision, $17::double precision
          where exists (select from live_queries q
                         where q.pipeline = $1::text and q.id = $6::text
                           and q.received_on = ($7::timestamptz at time zone 'utc')::date)
         on conflict do nothing`,
        [
          pipeline,
          experiment,
          fingerprint,
          askedAt,
          judged === undefined ? 'overlap' : 'judged',
          query.id,
          query.receivedAt,
          query.cluster,
          query.probability,
          outcome,
          documentIds,
          latencyMs,
          overlap?.overlap,
          overlap?.isChanged,
          judged?.k,
          judged?.scores?.baseline,
          judged?.scores?.candidate,
        ],
      );
    },

    /** Counts the live queries sent to the shadow since the given time, for any purpose and with any outcome. */
    async asked({ pipeline, experiment }: ExperimentKey, since: Date): Promise<number> {
      const { rows } = await pool.query<{ asked: number }>(
        `select count(*)::integer as asked from shadow_answers
          where pipeline = $1::text and shadow = $2::text and asked_at >= $3::timestamptz`,
        [pipeline, experiment, since],
      );
      return rows[0]?.asked ?? 0;
    },

    /** Summarizes the overlap of the live queries sent since the given time; null if there are none. */
    async summary({ pipeline, experiment, fingerprint }: ExperimentKey, since: Date): Promise<OverlapSummary | null> {
      return queryRow<OverlapSummary>(
        pool,
        `with asked as (
           select cluster, 1 / probability as weight, outcome, overlap, is_changed, latency_ms from shadow_answers
            where pipeline = $1::text and shadow = $2::text and fingerprint = $3::text and purpose = 'overlap'
              and asked_at >= $4::timestamptz
         ), sessions as (
           select sum(weight) as weight from asked where overlap is not null group by cluster
         )
         select count(*)::integer as asked, (count(*) filter (where outcome in ('error', 'timeout')))::integer as failed,
                count(overlap)::integer as n, coalesce(sum(weight) filter (where overlap is not null), 0) as weights,
                (select coalesce(sum(weight * weight), 0) from sessions) as squares,
                coalesce(sum(weight * overlap), 0) as overlap,
                coalesce(sum(weight) filter (where is_changed), 0) as changed,
                percentile_disc(0.5) within group (order by latency_ms) as median,
                percentile_disc(0.95) within group (order by latency_ms) as p95
           from asked`,
        [pipeline, experiment, fingerprint, since],
      );
    },

    /** Returns the queries whose shadow results overlap least with those that users got. */
    async mostChanged({ pipeline, experiment, fingerprint }: ExperimentKey, since: Date, limit: number) {
      return queryRows<ChangedAnswer>(
        pool,
        `select a.query_id, a.overlap, a.document_ids, q.text,
                array(select e.document ->> 0 from jsonb_array_elements(q.results) with ordinality e (document, rank)
                       order by e.rank) as shown_ids
           from shadow_answers a
           join live_queries q on q.pipeline = a.pipeline and q.id = a.query_id
                              and q.received_on = (a.received_at at time zone 'utc')::date
          where a.pipeline = $1::text and a.shadow = $2::text and a.fingerprint = $3::text and a.asked_at >= $4::timestamptz
            and a.is_changed and q.text is not null
          order by a.overlap, a.asked_at desc, a.query_id limit $5::integer`,
        [pipeline, experiment, fingerprint, since, limit],
      );
    },

    /** Returns the finished days (UTC) with judged queries at this cutoff, in order. */
    async judgedDays({ pipeline, experiment, fingerprint }: ExperimentKey, k: number, before: Date): Promise<string[]> {
      const { rows } = await pool.query<{ day: string }>(
        `select distinct (received_at at time zone 'utc')::date::text as day from shadow_answers
          where pipeline = $1::text and shadow = $2::text and fingerprint = $3::text and k = $4::integer
            and received_at < $5::timestamptz order by day`,
        [pipeline, experiment, fingerprint, k, before],
      );
      return rows.map(({ day }) => day);
    },

    /** Returns the live queries of a day for which both result lists are judged, and the number of excluded queries. */
    async pairsOf({ pipeline, experiment, fingerprint }: ExperimentKey, k: number, day: string) {
      const rows = await queryRows<LivePair & { baseline: number | null }>(
        pool,
        `select cluster, probability, baseline, candidate from shadow_answers
          where pipeline = $1::text and shadow = $2::text and fingerprint = $3::text and k = $4::integer
            and received_at >= $5::timestamptz and received_at < $5::timestamptz + interval '24 hours'
          order by received_at, query_id`,
        [pipeline, experiment, fingerprint, k, `${day}T00:00:00Z`],
      );
      const pairs = rows.filter(({ baseline }) => baseline !== null);
      return { pairs, leftOut: rows.length - pairs.length };
    },
  };
}

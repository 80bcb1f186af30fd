/** What shadows answered to live queries, and what tests on golden sets came to, in PostgreSQL. */
import type { Pool } from 'pg';
import type { QueryOutcome } from '../model.ts';
import { columnsOf, wellFormed } from '../postgres/values.ts';
import type { Look } from './rules/looks.ts';
import type { WeightedSums } from './rules/relevance.ts';

/** Names what answers. */
export interface ShadowKey {
  readonly pipeline: string;
  readonly shadow: string;
  readonly fingerprint: string;
}

/** A live query that a shadow is to be asked. */
export interface UnaskedQuery {
  readonly id: string;
  readonly receivedAt: Date;
  readonly cluster: number;
  /** Chance of being kept. */
  readonly probability: number;
  readonly text: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly topK: number | null;
  readonly outcome: QueryOutcome;
  /** What users got, best first. */
  readonly documentIds: readonly string[];
}

export interface ShadowAnswer {
  readonly queryId: string;
  readonly receivedAt: Date;
  readonly cluster: number;
  readonly probability: number;
  readonly outcome: QueryOutcome;
  readonly documentIds: readonly string[];
  readonly overlap: number | null;
  readonly isChanged: boolean | null;
  readonly latencyMs: number | null;
}

/** An answer with what it stands beside. */
export interface ListedAnswer extends Pick<ShadowAnswer, 'queryId' | 'receivedAt' | 'overlap' | 'documentIds'> {
  readonly text: string;
  /** What users got, best first. */
  readonly shownIds: readonly string[];
}

export interface LiveSummary extends WeightedSums {
  readonly asked: number;
  readonly failed: number;
  /** Sums of weight times value. */
  readonly overlap: number;
  readonly changed: number;
  /** Milliseconds; null without an answer. */
  readonly median: number | null;
  readonly p95: number | null;
}

export type ShadowTables = ReturnType<typeof createShadowTables>;

const lookColumns = `look, golden_set_version as "goldenSetVersion", run_id as "runId", against, runs, k, n, baseline,
  candidate, difference, ci_low as "ciLow", ci_high as "ciHigh", ci_method as "ciMethod", p, alpha,
  standard_deviation as "standardDeviation", noise, smallest_detectable_difference as "smallestDetectableDifference",
  verdict, looked_at as "lookedAt"`;

export function createShadowTables(pool: Pool) {
  return {
    /**
     * Samples with a text that a shadow has not been asked, oldest first. Which of them is decided by their ids alone, the
     * same at each reading.
     *
     * @param rate share of them
     */
    async unasked(
      { pipeline, shadow }: ShadowKey,
      { since, rate, limit }: { readonly since: Date; readonly rate: number; readonly limit: number },
    ): Promise<readonly UnaskedQuery[]> {
      const { rows } = await pool.query<UnaskedQuery>(
        `select q.id, q.received_at as "receivedAt", q.unit_hash as cluster, q.probability, q.text, q.segments as tags,
                q.top_k as "topK", q.outcome,
                array(select e.document ->> 0 from jsonb_array_elements(q.results) with ordinality e (document, rank)
                       order by e.rank) as "documentIds"
           from live_queries q
          where q.pipeline = $1::text and q.received_at >= $3::timestamptz
            and q.received_on >= ($3::timestamptz at time zone 'utc')::date and q.text is not null
            and mod(hashtextextended($2::text || ' ' || q.id, 0) & x'7fffffffffffffff'::bigint, 1000000)
                < $4::double precision * 1000000
            and not exists (select from shadow_answers a
                             where a.pipeline = q.pipeline and a.shadow = $2::text and a.query_id = q.id)
          order by q.received_at, q.id limit $5::integer`,
        [pipeline, shadow, since, rate, limit],
      );
      return rows;
    },

    /** A query that has its answer keeps it; one that was erased meanwhile gets none. */
    async saveAnswers(
      { pipeline, shadow, fingerprint }: ShadowKey,
      answers: readonly ShadowAnswer[],
      askedAt: Date,
    ): Promise<void> {
      if (answers.length === 0) return;
      await pool.query(
        `insert into shadow_answers (pipeline, shadow, fingerprint, query_id, received_at, asked_at, cluster, probability,
                                     outcome, document_ids, overlap, is_changed, latency_ms)
         select $1::text, $2::text, $3::text, a.query_id, a.received_at, $4::timestamptz, a.cluster, a.probability, a.outcome,
                array(select e.value from jsonb_array_elements_text(a.ids::jsonb) with ordinality as e order by e.ordinality),
                a.overlap, a.is_changed, a.latency_ms
           from unnest($5::text[], $6::timestamptz[], $7::double precision[], $8::double precision[], $9::text[], $10::text[],
                       $11::double precision[], $12::boolean[], $13::double precision[])
             as a (query_id, received_at, cluster, probability, outcome, ids, overlap, is_changed, latency_ms)
          where exists (select from live_queries q
                         where q.pipeline = $1::text and q.id = a.query_id
                           and q.received_on = (a.received_at at time zone 'utc')::date)
         on conflict do nothing`,
        [
          pipeline,
          shadow,
          fingerprint,
          askedAt,
          ...columnsOf(answers, [
            (one) => one.queryId,
            (one) => one.receivedAt,
            (one) => one.cluster,
            (one) => one.probability,
            (one) => one.outcome,
            (one) => JSON.stringify(one.documentIds.map(wellFormed)),
            (one) => one.overlap,
            (one) => one.isChanged,
            (one) => one.latencyMs,
          ]),
        ],
      );
    },

    /** Of the live queries that it was asked since a time. */
    async summary({ pipeline, shadow, fingerprint }: ShadowKey, since: Date): Promise<LiveSummary> {
      const { rows } = await pool.query<LiveSummary>(
        `with asked as (
           select cluster, 1 / probability as weight, outcome, overlap, is_changed, latency_ms from shadow_answers
            where pipeline = $1::text and shadow = $2::text and fingerprint = $3::text and asked_at >= $4::timestamptz
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
        [pipeline, shadow, fingerprint, since],
      );
      const none = {
        asked: 0,
        failed: 0,
        n: 0,
        weights: 0,
        squares: 0,
        overlap: 0,
        changed: 0,
        median: null,
        p95: null,
      };
      return rows[0] ?? none;
    },

    /** Those of the same time that have least in common with what users got. */
    async mostChanged(
      { pipeline, shadow, fingerprint }: ShadowKey,
      since: Date,
      limit: number,
    ): Promise<readonly ListedAnswer[]> {
      const { rows } = await pool.query<ListedAnswer>(
        `select a.query_id as "queryId", a.received_at as "receivedAt", a.overlap, a.document_ids as "documentIds", q.text,
                array(select e.document ->> 0 from jsonb_array_elements(q.results) with ordinality e (document, rank)
                       order by e.rank) as "shownIds"
           from shadow_answers a
           join live_queries q on q.pipeline = a.pipeline and q.id = a.query_id
                              and q.received_on = (a.received_at at time zone 'utc')::date
          where a.pipeline = $1::text and a.shadow = $2::text and a.fingerprint = $3::text and a.asked_at >= $4::timestamptz
            and a.is_changed and q.text is not null
          order by a.overlap, a.asked_at desc, a.query_id limit $5::integer`,
        [pipeline, shadow, fingerprint, since, limit],
      );
      return rows;
    },

    /** Live queries that it was asked since a time, whatever answered. */
    async asked({ pipeline, shadow }: Omit<ShadowKey, 'fingerprint'>, since: Date): Promise<number> {
      const { rows } = await pool.query<{ asked: number }>(
        `select ((select count(*) from shadow_answers
                   where pipeline = $1::text and shadow = $2::text and asked_at >= $3::timestamptz)
               + (select count(*) from shadow_pairs
                   where pipeline = $1::text and shadow = $2::text and asked_at >= $3::timestamptz))::integer as asked`,
        [pipeline, shadow, since],
      );
      return rows[0]?.asked ?? 0;
    },

    async prune(pipeline: string, before: Date): Promise<void> {
      await pool.query('delete from shadow_answers where pipeline = $1::text and received_at < $2::timestamptz', [
        pipeline,
        before,
      ]);
    },

    /** Tests of a golden set, rising. */
    async looks({ pipeline, shadow, fingerprint }: ShadowKey, goldenSet: string): Promise<readonly Look[]> {
      const { rows } = await pool.query<Look>(
        `select ${lookColumns} from shadow_looks
          where pipeline = $1::text and shadow = $2::text and fingerprint = $3::text and golden_set = $4::text order by look`,
        [pipeline, shadow, fingerprint, goldenSet],
      );
      return rows;
    },

    /** One that was made before stays. */
    async saveLook({ pipeline, shadow, fingerprint }: ShadowKey, goldenSet: string, look: Look): Promise<void> {
      await pool.query(
        `insert into shadow_looks (pipeline, shadow, fingerprint, golden_set, look, golden_set_version, run_id, against, runs,
                                   k, n, baseline, candidate, difference, ci_low, ci_high, ci_method, p, alpha,
                                   standard_deviation, noise, smallest_detectable_difference, verdict, looked_at)
         values ($1::text, $2::text, $3::text, $4::text, $5::integer, $6::integer, $7::text, $8::text, $9::integer,
                 $10::integer, $11::integer, $12::double precision, $13::double precision, $14::double precision,
                 $15::double precision, $16::double precision, $17::text, $18::double precision, $19::double precision,
                 $20::double precision, $21::double precision, $22::double precision, $23::text, $24::timestamptz)
         on conflict do nothing`,
        [
          pipeline,
          shadow,
          fingerprint,
          goldenSet,
          look.look,
          look.goldenSetVersion,
          look.runId,
          look.against,
          look.runs,
          look.k,
          look.n,
          look.baseline,
          look.candidate,
          look.difference,
          look.ciLow,
          look.ciHigh,
          look.ciMethod,
          look.p,
          look.alpha,
          look.standardDeviation,
          look.noise,
          look.smallestDetectableDifference,
          look.verdict,
          look.lookedAt,
        ],
      );
    },
  };
}

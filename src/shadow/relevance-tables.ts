/** Drawn live queries that shadows were asked, graded, in PostgreSQL. */
import type { Pool } from 'pg';
import type { QueryOutcome } from '../model.ts';
import type { LiveDay, LivePair } from './rules/relevance.ts';
import type { ShadowKey } from './shadow-tables.ts';

/** A drawn live query that a shadow is to be asked. */
export interface UnpairedQuery {
  readonly id: string;
  readonly receivedAt: Date;
  readonly cluster: number;
  /** Chance of being kept, drawn and held beside shadows. */
  readonly probability: number;
  readonly text: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly outcome: QueryOutcome;
  /** What users got, best first; null where nobody could read it, or the judge of now gave no grade. */
  readonly documents: readonly {
    readonly id: string;
    readonly hash: string | null;
    readonly grade: number | null;
  }[];
}

export interface ShadowPair extends Pick<UnpairedQuery, 'id' | 'receivedAt' | 'cluster' | 'probability'> {
  readonly outcome: 'graded' | 'failed' | 'ungraded';
  readonly k: number;
  /** Null unless graded. */
  readonly scores: { readonly baseline: number; readonly candidate: number } | null;
}

export type RelevanceTables = ReturnType<typeof createRelevanceTables>;

export function createRelevanceTables(pool: Pool) {
  return {
    /** In the order of the draw of their sessions, so that those which no budget reaches are left out by chance. */
    async unpaired(
      { pipeline, shadow }: ShadowKey,
      { since, judge, limit }: { readonly since: Date; readonly judge: string; readonly limit: number },
    ): Promise<readonly UnpairedQuery[]> {
      const { rows } = await pool.query<UnpairedQuery>(
        `select j.query_id as id, j.received_at as "receivedAt", j.cluster, j.shadow_probability as probability, q.text,
                j.segments as tags, j.outcome,
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
            and not exists (select from shadow_pairs p
                             where p.pipeline = j.pipeline and p.shadow = $2::text and p.query_id = j.query_id)
          order by j.people_draw, j.query_id limit $5::integer`,
        [pipeline, shadow, since, judge, limit],
      );
      return rows;
    },

    /** A pair that is there stays; a query that was erased meanwhile gets none. */
    async savePair({ pipeline, shadow, fingerprint }: ShadowKey, pair: ShadowPair, askedAt: Date): Promise<void> {
      const { id, receivedAt, cluster, probability, outcome, k, scores } = pair;
      await pool.query(
        `insert into shadow_pairs (pipeline, shadow, fingerprint, query_id, received_at, asked_at, cluster, probability,
                                   outcome, k, baseline, candidate)
         select $1::text, $2::text, $3::text, query_id, $5::timestamptz, $6::timestamptz, $7::double precision,
                $8::double precision, $9::text, $10::integer, $11::double precision, $12::double precision
           from judged_queries where pipeline = $1::text and query_id = $4::text
         on conflict do nothing`,
        [
          pipeline,
          shadow,
          fingerprint,
          id,
          receivedAt,
          askedAt,
          cluster,
          probability,
          outcome,
          k,
          scores?.baseline ?? null,
          scores?.candidate ?? null,
        ],
      );
    },

    /** Days (UTC) that ended before then, have pairs at this cut-off and are not summed yet, rising. */
    async unsummedDays(
      { pipeline, shadow, fingerprint }: ShadowKey,
      k: number,
      before: Date,
    ): Promise<readonly string[]> {
      const { rows } = await pool.query<{ day: string }>(
        `select distinct day::text from shadow_pairs p, lateral (select (p.received_at at time zone 'utc')::date as day) d
          where pipeline = $1::text and shadow = $2::text and fingerprint = $3::text and k = $4::integer
            and day < ($5::timestamptz at time zone 'utc')::date
            and not exists (select from shadow_live_days s
                             where (s.pipeline, s.shadow, s.fingerprint, s.k, s.day)
                                 = (p.pipeline, p.shadow, p.fingerprint, p.k, d.day))
          order by day`,
        [pipeline, shadow, fingerprint, k, before],
      );
      return rows.map(({ day }) => day);
    },

    /** Those of a day, and how many were left out. */
    async pairsOf(
      { pipeline, shadow, fingerprint }: ShadowKey,
      k: number,
      day: string,
    ): Promise<{ readonly pairs: readonly LivePair[]; readonly leftOut: number }> {
      const { rows } = await pool.query<LivePair & { outcome: ShadowPair['outcome'] }>(
        `select cluster, probability, baseline, candidate, outcome from shadow_pairs
          where pipeline = $1::text and shadow = $2::text and fingerprint = $3::text and k = $4::integer
            and received_at >= $5::timestamptz and received_at < $5::timestamptz + interval '24 hours'
          order by received_at, query_id`,
        [pipeline, shadow, fingerprint, k, `${day}T00:00:00Z`],
      );
      const pairs = rows.filter(({ outcome }) => outcome === 'graded');
      return { pairs, leftOut: rows.length - pairs.length };
    },

    /** A day that is there stays as it is. */
    async saveDay({ pipeline, shadow, fingerprint }: ShadowKey, k: number, day: LiveDay): Promise<void> {
      await pool.query(
        `insert into shadow_live_days (pipeline, shadow, fingerprint, k, day, queries, left_out, baseline, candidate, sums)
         values ($1::text, $2::text, $3::text, $4::integer, $5::date, $6::integer, $7::integer, $8::double precision,
                 $9::double precision, $10::double precision[])
         on conflict do nothing`,
        [pipeline, shadow, fingerprint, k, day.day, day.queries, day.leftOut, day.baseline, day.candidate, day.sums],
      );
    },

    /** Rising. */
    async days({ pipeline, shadow, fingerprint }: ShadowKey, k: number): Promise<readonly LiveDay[]> {
      const { rows } = await pool.query<LiveDay>(
        `select day::text, queries, left_out as "leftOut", baseline, candidate, sums from shadow_live_days
          where pipeline = $1::text and shadow = $2::text and fingerprint = $3::text and k = $4::integer order by day`,
        [pipeline, shadow, fingerprint, k],
      );
      return rows;
    },

    /** Forgets pairs of live queries that were received before then; days stay. */
    async prune(pipeline: string, before: Date): Promise<void> {
      await pool.query('delete from shadow_pairs where pipeline = $1::text and received_at < $2::timestamptz', [
        pipeline,
        before,
      ]);
    },
  };
}

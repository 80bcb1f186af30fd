/** Reads sampled live queries: random draws, candidates for golden sets, and data for charts. */

import type { Pool } from 'pg';
import { type QueryOutcome, queryOutcomes } from '../../core/model.ts';
import type { CandidateQuery } from '../../golden/rules/promotion.ts';
import { queryRows } from '../../platform/postgres/rows.ts';
import { vectorOfBytes } from '../../platform/postgres/values.ts';
import type { LiveWindow } from './live-windows.ts';

export interface Selection {
  readonly pipeline: string;
  /** Time of receipt. */
  readonly since: Date;
  readonly limit: number;
}

export function createLiveSamples(pool: Pool) {
  return {
    /** Draws at most `limit` random samples that arrived since the given time and have a text or a vector. */
    async draw({ pipeline, since, limit }: Selection): Promise<readonly DrawnSample[]> {
      // Selects ids first, because vectors make up most of a row's bytes.
      const rows = await queryRows<Omit<DrawnSample, 'embedding'> & { readonly embedding: Buffer | null }>(
        pool,
        `with drawn as (
           select received_on, id from live_queries
            where pipeline = $1::text and received_at >= $2::timestamptz and received_on >= ($2::timestamptz at time zone 'utc')::date
              and (text is not null or embedding is not null)
            order by random() limit $3::integer)
         select id, text, embedding, probability, session_hash from live_queries join drawn using (received_on, id)
          where pipeline = $1::text and received_on >= ($2::timestamptz at time zone 'utc')::date`,
        [pipeline, since, limit],
      );
      return rows.map((row) => ({ ...row, embedding: row.embedding && vectorOfBytes(row.embedding) }));
    },

    /** Returns the newest samples that have a text, newest first. */
    newest({
      pipeline,
      since,
      until,
      limit,
    }: Selection & { readonly until: Date }): Promise<readonly AnsweredSample[]> {
      return queryRows<AnsweredSample>(
        pool,
        `select text, segments, top_k, received_at,
                coalesce((select jsonb_agg(one.document ->> 0 order by one.rank)
                            from jsonb_array_elements(results) with ordinality one (document, rank)), '[]') as document_ids
           from live_queries
          where pipeline = $1::text and received_at >= $2::timestamptz and received_at < $3::timestamptz
            and received_on between ($2::timestamptz at time zone 'utc')::date and ($3::timestamptz at time zone 'utc')::date
            and text is not null
          order by received_at desc, id limit $4::integer`,
        [pipeline, since, until, limit],
      );
    },

    /**
     * Returns at most `limit` samples that arrived since the given time and have a text, with their feedback and
     * grades. Samples with feedback or grades come first; the order is otherwise random.
     */
    async candidates({ pipeline, since, limit }: Selection): Promise<readonly CandidateQuery[]> {
      const rows = await queryRows<
        Omit<CandidateQuery, 'results'> & { readonly results: readonly [string, number | null][] }
      >(
        pool,
        `with opinions as (
           select query_id, kind, sentiment, document_id, count(*)::integer as count from feedback
            where pipeline = $1::text and received_on >= ($2::timestamptz at time zone 'utc')::date and counted
            group by query_id, kind, sentiment, document_id),
         tallies as (
           select query_id, jsonb_agg(jsonb_build_object(
                    'kind', kind, 'sentiment', sentiment, 'documentId', document_id, 'count', count)) as feedback
             from opinions group by query_id),
         judged as (
           select query_id, jsonb_agg(jsonb_build_object('documentId', document_id, 'grade', grade, 'judge', judge)) as grades
             from judgments where pipeline = $1::text and grade is not null and judge <> 'second' group by query_id)
         select q.id, q.text, q.occurred_at as asked_at, q.probability, q.user_hash, q.segments as tags, q.results,
                coalesce(t.feedback, '[]') as feedback, coalesce(j.grades, '[]') as grades
           from live_queries q left join tallies t on t.query_id = q.id left join judged j on j.query_id = q.id
          where q.pipeline = $1::text and q.received_at >= $2::timestamptz
            and q.received_on >= ($2::timestamptz at time zone 'utc')::date and q.text is not null
          order by (t.feedback is null and j.grades is null), random() limit $3::integer`,
        [pipeline, since, limit],
      );
      return rows.map((row) => ({ ...row, results: row.results.map(([id, score]) => ({ id, score })) }));
    },
  };
}

/** A sample with its text and the documents that the user got (none if the query failed). */
export interface AnsweredSample {
  readonly text: string;
  readonly segments: Readonly<Record<string, string>>;
  readonly topK: number | null;
  readonly documentIds: readonly string[];
  readonly receivedAt: Date;
}

export interface DrawnSample {
  readonly id: string;
  /** Stored text; null if the query had no text, or if `privacy.text` was `hash`. */
  readonly text: string | null;
  readonly embedding: Float32Array | null;
  /** Inclusion probability; the sample represents 1 / probability live queries. */
  readonly probability: number;
  /** Identifier shared by queries that were sampled together. */
  readonly sessionHash: string;
}

export type LiveSamples = ReturnType<typeof createLiveSamples>;

const bucketSql = `
  select start, jsonb_object_agg(outcome, queries) as outcomes
    from (select date_bin(make_interval(secs => $4::integer), minute, timestamptz '1970-01-01T00:00:00Z') as start, outcome,
                 sum(queries)::double precision as queries
            from live_query_counts
           where pipeline = $1::text and minute >= $2::timestamptz and minute < $3::timestamptz
           group by 1, 2) counted
   group by start order by start`;

const noQueries = Object.fromEntries(queryOutcomes.map((one) => [one, 0])) as Record<QueryOutcome, number>;

/**
 * Number of slices into which a time range is divided. Because only a part of each slice is read, reading a month is as
 * fast as reading a day.
 */
const SLICES = 96;
/** Maximum number of queries that are read from a slice, earliest first. */
const READ_OF_SLICE = 50;

/**
 * Weighted histogram of the similarity of live queries to their nearest chunk. The last bin includes its upper end. If
 * only part of a slice is read, its weights are scaled up to the whole slice.
 */
const coverageSql = `
  with slices as (
    select $2::timestamptz + i * ($3::timestamptz - $2::timestamptz) / ${SLICES} as since,
           $2::timestamptz + (i + 1) * ($3::timestamptz - $2::timestamptz) / ${SLICES} as until
      from generate_series(0, ${SLICES - 1}) i
  ), measured as (
    select coalesce((c.nearest->0->>1)::double precision, -1) as similarity,
           1 / (q.probability * c.thinning)
             * case when q.read < ${READ_OF_SLICE} then 1
                    else extract(epoch from slices.until - slices.since) / greatest(extract(epoch from q.last - slices.since), 0.001) end as weight
      from slices
     cross join lateral (
       select received_on, pipeline, id, probability, count(*) over () as read, max(occurred_at) over () as last
         from (select received_on, pipeline, id, probability, occurred_at from live_queries
                where pipeline = $1::text and occurred_at >= slices.since and occurred_at < slices.until
                  -- Excludes queries that arrived more than a day late, so that each slice reads only its own days.
                  and received_on between (slices.since at time zone 'UTC')::date and (slices.until at time zone 'UTC')::date + 1
                order by occurred_at limit ${READ_OF_SLICE}) first) q
     cross join lateral (
       select thinning, nearest from query_coverage
        where received_on = q.received_on and pipeline = q.pipeline and id = q.id and status = 'measured' limit 1) c
  ), ends as (
    select least(min(similarity), $4::double precision) as low, greatest(max(similarity), $5::double precision) as high from measured
  )
  select low, high,
         case when high > low
              then least(width_bucket(similarity, low, high, $6::integer), $6::integer) - 1 else 0 end as bin,
         sum(weight) as weight, count(*)::integer as queries
    from measured cross join ends
   group by low, high, bin`;

/** Numbers of live queries that arrived in a time bucket, sampled or not, by outcome. */
export type TrafficBucket = Awaited<ReturnType<TrafficReads['buckets']>>[number];

export type TrafficReads = ReturnType<typeof createTrafficReads>;

export function createTrafficReads(pool: Pool) {
  return {
    /**
     * Returns the non-empty buckets of a pipeline in chronological order; the first starts at `from` or later. Buckets
     * must be at least 60 seconds long.
     */
    async buckets({ pipeline, from, until, bucketSeconds }: LiveWindow & { readonly bucketSeconds: number }) {
      const values = [pipeline, from, until, bucketSeconds];
      const rows = await queryRows<{ start: Date; outcomes: Partial<typeof noQueries> }>(pool, bucketSql, values);
      return rows.map(({ start, outcomes }) => ({ start, outcomes: { ...noQueries, ...outcomes } }));
    },

    /**
     * Returns a weighted histogram of the cosine between a measured query and its nearest chunk. The bins have equal
     * width and range from `low` to `high`. Returns null if no query that occurred in the time range was measured.
     *
     * @param within scores that the histogram must include, in addition to the scores of the queries
     */
    async coverage({
      pipeline,
      from,
      until,
      within,
      bins,
    }: LiveWindow & { readonly within: readonly [number, number] | null; readonly bins: number }) {
      const [low, high] = within ?? [null, null];
      const rows = await queryRows<{ low: number; high: number; bin: number; weight: number; queries: number }>(
        pool,
        coverageSql,
        [pipeline, from, until, low, high, bins],
      );
      const [first] = rows;
      if (first === undefined) return null;
      const weights = Array.from({ length: bins }, () => 0);
      for (const { bin, weight } of rows) weights[bin] = weight;
      return {
        low: first.low,
        high: first.high,
        /** Weight per bin: the sum, over its queries, of 1 / probability of being sampled and measured. */
        weights,
        queries: rows.reduce((sum, { queries }) => sum + queries, 0),
      };
    },
  };
}

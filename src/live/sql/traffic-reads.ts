/** Live traffic as people look into it. */
import type { Pool } from 'pg';
import { type QueryOutcome, queryOutcomes } from '../../model.ts';

interface BucketRow {
  start: Date;
  outcome: QueryOutcome;
  queries: number;
}

interface BinRow {
  low: number;
  high: number;
  bin: number;
  weight: number;
  queries: number;
}

/** How many live queries came, and what became of them? */
const bucketSql = `
  select to_timestamp(floor(extract(epoch from minute) / $4::integer) * $4::integer) as start, outcome,
         sum(queries)::double precision as queries
    from live_query_counts
   where pipeline = $1::text and minute >= $2::timestamptz and minute < $3::timestamptz
   group by 1, 2 order by 1`;

/** How near are the nearest chunks of live queries, by their weight? The last bin holds its upper end. */
const coverageSql = `
  with measured as (
    select coalesce((c.nearest->0->>1)::double precision, -1) as similarity, 1 / (q.probability * c.thinning) as weight
      from live_queries q
      join query_coverage c using (received_on, pipeline, id)
     where q.pipeline = $1::text and q.occurred_at >= $2::timestamptz and q.occurred_at < $3::timestamptz
       and q.received_on >= ($2::timestamptz at time zone 'UTC')::date
       and c.status = 'measured'
  ), ends as (
    select least(min(similarity), $4::double precision) as low, greatest(max(similarity), $5::double precision) as high from measured
  )
  select low, high,
         case when high > low
              then least(width_bucket(similarity, low, high, $6::integer), $6::integer) - 1 else 0 end as bin,
         sum(weight) as weight, count(*)::integer as queries
    from measured cross join ends
   group by low, high, bin`;

export function createTrafficReads(pool: Pool): TrafficReads {
  return {
    async buckets({ pipeline, from, until, bucketSeconds }) {
      const { rows } = await pool.query<BucketRow>(bucketSql, [pipeline, from, until, bucketSeconds]);
      return toBuckets(rows);
    },

    async coverage({ pipeline, from, until, within, bins }) {
      const [low, high] = within ?? [null, null];
      const { rows } = await pool.query<BinRow>(coverageSql, [pipeline, from, until, low, high, bins]);
      const [first] = rows;
      if (first === undefined) return null;
      const weights = Array.from({ length: bins }, () => 0);
      for (const { bin, weight } of rows) weights[bin] = weight;
      return {
        low: first.low,
        high: first.high,
        weights,
        queries: rows.reduce((sum, { queries }) => sum + queries, 0),
      };
    },
  };
}

function toBuckets(rows: readonly BucketRow[]): TrafficBucket[] {
  const buckets = new Map<number, { start: Date; outcomes: Record<QueryOutcome, number> }>();
  for (const { start, outcome, queries } of rows) {
    const bucket = buckets.get(start.getTime()) ?? {
      start,
      outcomes: Object.fromEntries(queryOutcomes.map((one) => [one, 0])) as Record<QueryOutcome, number>,
    };
    bucket.outcomes[outcome] = queries;
    buckets.set(start.getTime(), bucket);
  }
  return [...buckets.values()];
}

/** How many live queries arrived in a stretch of time, sampled or not. */
export interface TrafficBucket {
  readonly start: Date;
  readonly outcomes: Readonly<Record<QueryOutcome, number>>;
}

/** Weights of measured queries by the cosine of their nearest chunk, in bins of one width from `low` to `high`. */
interface CoverageHistogram {
  readonly low: number;
  readonly high: number;
  /** Of each bin; a query weighs the inverse of its chance to be sampled and measured. */
  readonly weights: readonly number[];
  /** Measured queries behind it. */
  readonly queries: number;
}

/** What people who look into live traffic ask beyond its measures. */
export interface TrafficReads {
  /** Buckets of a pipeline that hold a query, oldest first; the first starts at `from` or later. */
  buckets(request: {
    readonly pipeline: string;
    readonly from: Date;
    readonly until: Date;
    /** At least a minute. */
    readonly bucketSeconds: number;
  }): Promise<readonly TrafficBucket[]>;
  /**
   * Coverage of the queries that occurred within a time; null without any.
   *
   * @param within scores that must lie between `low` and `high`, beside those of the queries
   */
  coverage(request: {
    readonly pipeline: string;
    readonly from: Date;
    readonly until: Date;
    readonly within: readonly [number, number] | null;
    readonly bins: number;
  }): Promise<CoverageHistogram | null>;
}

/** Reads of the coverage of live queries over a period in which they occurred. */
import type { Pool } from 'pg';
import { namingOutage } from '../postgres/pool.ts';
import { vectorOfBytes } from '../postgres/values.ts';
import type { ChanceGroup } from './rules/sessions.ts';

/** A span of time in which queries occurred: inclusive, and exclusive. */
export interface CoveragePeriod {
  readonly pipeline: string;
  readonly from: Date;
  readonly until: Date;
  /** Only what was measured since then; null for all. */
  readonly scoredSince: Date | null;
}

/** A measured query. */
export interface CoveredQuery {
  readonly id: string;
  readonly occurredAt: Date;
  /** Hash of its session, else of its trace, else of its id. */
  readonly sessionHash: string;
  readonly userHash: string | null;
  readonly segments: Readonly<Record<string, string>>;
  /** Cosine of its nearest chunk, -1 when the store returned none. */
  readonly similarity: number;
  readonly vector: Float32Array | null;
  readonly nearest: readonly (readonly [string, number])[];
}

export interface PeriodTally {
  /** Measured queries by their chance of being kept by the rate and measured. */
  readonly chances: readonly ChanceGroup[];
  /** Queries that could not be measured, by reason. */
  readonly notMeasurable: Readonly<Record<string, number>>;
  /** Taken and still to be measured. */
  readonly open: number;
  /** Never taken. */
  readonly untouched: number;
  /** When the first and the last measured query occurred. */
  readonly first: Date | null;
  readonly last: Date | null;
}

interface CoveredRow extends Omit<CoveredQuery, 'vector'> {
  readonly receivedOn: string;
  readonly vector: Buffer | null;
}

/** A vector of 1,536 numbers is 6 kB. */
const BATCH_ROWS = 1_000;

/** What is late by more than this arrives in no window. */
const LATEST_ARRIVAL_DAYS = 2;

const joined = `
  from live_queries q
  join query_coverage c on c.received_on = q.received_on and c.pipeline = q.pipeline and c.id = q.id
 where q.pipeline = $1::text and q.occurred_at >= $2::timestamptz and q.occurred_at < $3::timestamptz
   and q.received_on >= ($2::timestamptz at time zone 'utc')::date - ${LATEST_ARRIVAL_DAYS}
   and ($4::timestamptz is null or c.scored_at >= $4::timestamptz)`;

export async function tallyPeriod(pool: Pool, period: CoveragePeriod): Promise<PeriodTally> {
  const values = [period.pipeline, period.from, period.until, period.scoredSince];
  const [chances, reasons, open] = await Promise.all([
    pool.query<{ chance: number; queries: number; sessions: number; first: Date; last: Date }>(
      `select q.rate_probability * c.thinning as chance, count(*)::integer as queries,
              count(distinct q.session_hash)::integer as sessions, min(q.occurred_at) as first, max(q.occurred_at) as last
       ${joined} and c.status = 'measured' and q.unit_hash < q.rate_probability * c.thinning group by 1`,
      values,
    ),
    pool.query<{ reason: string; queries: number }>(
      `select coalesce(c.reason, 'unknown') as reason, count(*)::integer as queries ${joined} and c.status = 'not_measurable' group by 1`,
      values,
    ),
    pool.query<{ open: number; untouched: number }>(
      `select count(c.id)::integer as open, (count(*) - count(c.id))::integer as untouched
         from live_queries q
         left join query_coverage c on c.received_on = q.received_on and c.pipeline = q.pipeline and c.id = q.id
        where q.pipeline = $1::text and q.occurred_at >= $2::timestamptz and q.occurred_at < $3::timestamptz
          and q.received_on >= ($2::timestamptz at time zone 'utc')::date - ${LATEST_ARRIVAL_DAYS}
          and (c.id is null or c.status = 'open')`,
      values.slice(0, 3),
    ),
  ]);
  const times = chances.rows.map(({ first, last }) => ({ first: first.getTime(), last: last.getTime() }));
  return {
    chances: chances.rows.map(({ chance, queries, sessions }) => ({ chance, queries, sessions })),
    notMeasurable: Object.fromEntries(reasons.rows.map(({ reason, queries }) => [reason, queries])),
    open: open.rows[0]?.open ?? 0,
    untouched: open.rows[0]?.untouched ?? 0,
    first: times.length === 0 ? null : new Date(Math.min(...times.map(({ first }) => first))),
    last: times.length === 0 ? null : new Date(Math.max(...times.map(({ last }) => last))),
  };
}

export async function* readPeriod(
  pool: Pool,
  period: CoveragePeriod,
  chance: number,
): AsyncGenerator<readonly CoveredQuery[]> {
  let after: { readonly receivedOn: string; readonly id: string } | null = null;
  for (;;) {
    const rows: CoveredRow[] = await readBatch(pool, period, chance, after);
    if (rows.length > 0) yield rows.map(toCovered);
    const last = rows.at(-1);
    if (last === undefined || rows.length < BATCH_ROWS) return;
    after = { receivedOn: last.receivedOn, id: last.id };
  }
}

async function readBatch(
  pool: Pool,
  { pipeline, from, until, scoredSince }: CoveragePeriod,
  chance: number,
  after: { readonly receivedOn: string; readonly id: string } | null,
): Promise<CoveredRow[]> {
  const { rows } = await namingOutage(pool, () =>
    pool.query<CoveredRow>(
      `select q.received_on::text as "receivedOn", q.id, q.occurred_at as "occurredAt", q.session_hash as "sessionHash",
              q.user_hash as "userHash", q.segments, c.nearest,
              coalesce((c.nearest->0->>1)::double precision, -1) as similarity,
              case when c.from_text then c.embedding else coalesce(q.embedding, c.embedding) end as vector
       ${joined} and c.status = 'measured'
         and q.unit_hash < least(q.rate_probability * c.thinning, $5::double precision)
         and ($6::date is null or (q.received_on, q.id) > ($6::date, $7::text))
       order by q.received_on, q.id limit ${BATCH_ROWS}`,
      [pipeline, from, until, scoredSince, chance, after?.receivedOn ?? null, after?.id ?? null],
    ),
  );
  return rows;
}

function toCovered(row: CoveredRow): CoveredQuery {
  const { receivedOn: _, vector, ...query } = row;
  return { ...query, vector: vector === null ? null : vectorOfBytes(vector) };
}

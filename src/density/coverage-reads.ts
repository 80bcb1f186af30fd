import type { Pool } from 'pg';
import { firstDayOf } from '../live/sql/live-windows.ts';
import { namingOutage } from '../platform/postgres/outage.ts';
import { queryRows } from '../platform/postgres/rows.ts';
import { vectorOfBytes } from '../platform/postgres/values.ts';

/** Period in which the queries occurred: `from` is inclusive, `until` exclusive. */
export interface CoveragePeriod {
  readonly pipeline: string;
  readonly from: Date;
  readonly until: Date;
  /** Excludes queries that were measured before this time; null excludes none. */
  readonly scoredSince: Date | null;
}

export interface CoveredQuery {
  readonly id: string;
  readonly occurredAt: Date;
  /** Hash of the first of these ids that exists: session id, trace id, query id. */
  readonly sessionHash: string;
  readonly userHash: string | null;
  readonly segments: Readonly<Record<string, string>>;
  /** Cosine to the nearest chunk; -1 if the store returned none. */
  readonly similarity: number;
  readonly vector: Float32Array | null;
  readonly nearest: readonly (readonly [string, number])[];
}

export type PeriodTally = Awaited<ReturnType<typeof tallyPeriod>>;

type CoveredRow = Omit<CoveredQuery, 'vector'> & { readonly receivedOn: string; readonly vector: Buffer | null };

/** Number of rows per batch. A vector of 1,536 numbers takes 6 kB. */
const BATCH_ROWS = 1_000;

/**
 * Earliest possible day of receipt. Each statement compares the `received_on` columns of both tables with this day,
 * because each table has its own partitions.
 */
const firstDay = firstDayOf('$2');

/** Shared conditions. Callers add conditions on `query_coverage`, which may have no row for a query. */
const occurred = `
 where q.pipeline = $1::text and q.occurred_at >= $2::timestamptz and q.occurred_at < $3::timestamptz
   and q.received_on >= ${firstDay}`;
const coverage = `query_coverage c on c.received_on = q.received_on and c.pipeline = q.pipeline and c.id = q.id
   and c.received_on >= ${firstDay}`;

export async function tallyPeriod(pool: Pool, period: CoveragePeriod) {
  const rows = await queryRows<{
    readonly status: 'measured' | 'not_measurable' | 'open' | 'untouched';
    readonly chance: number | null;
    readonly reason: string | null;
    readonly queries: number;
    readonly sessions: number;
    readonly first: Date;
    readonly last: Date;
  }>(
    pool,
    `select coalesce(c.status, 'untouched') as status,
            case c.status when 'measured' then q.rate_probability * c.thinning end as chance,
            case c.status when 'not_measurable' then coalesce(c.reason, 'unknown') end as reason,
            count(*)::integer as queries, count(distinct q.session_hash)::integer as sessions,
            min(q.occurred_at) as first, max(q.occurred_at) as last
       from live_queries q left join ${coverage} ${occurred}
        and (c.id is null or c.status = 'open' or $4::timestamptz is null or c.scored_at >= $4::timestamptz)
        and (c.status is distinct from 'measured' or q.unit_hash < q.rate_probability * c.thinning)
      group by 1, 2, 3`,
    [period.pipeline, period.from, period.until, period.scoredSince],
  );
  const queriesOf = (status: 'open' | 'untouched'): number =>
    rows.reduce((sum, row) => (row.status === status ? sum + row.queries : sum), 0);
  const measured = rows.filter(({ status }) => status === 'measured');
  return {
    /** Numbers of measured queries and sessions, grouped by the probability that a query is sampled and measured. */
    chances: measured.flatMap(({ chance, queries, sessions }) =>
      chance === null ? [] : [{ chance, queries, sessions }],
    ),
    /** Number of queries that could not be measured, by reason. */
    notMeasurable: Object.fromEntries(
      rows.flatMap(({ reason, queries }) => (reason === null ? [] : [[reason, queries]])),
    ),
    /** Number of queries that were admitted or claimed but are not measured yet. */
    open: queriesOf('open'),
    /** Number of queries without a coverage row: they were never claimed. */
    untouched: queriesOf('untouched'),
    /** Time of the first measured query; null if no query was measured. */
    first: measured.reduce<Date | null>((least, { first }) => (least === null || first < least ? first : least), null),
    /** Time of the last measured query; null if no query was measured. */
    last: measured.reduce<Date | null>((most, { last }) => (most === null || last > most ? last : most), null),
  };
}

export async function* readPeriod(
  pool: Pool,
  { pipeline, from, until, scoredSince }: CoveragePeriod,
  chance: number,
): AsyncGenerator<readonly CoveredQuery[]> {
  let after: CoveredRow | undefined;
  do {
    const parameters = [pipeline, from, until, scoredSince, chance, after?.receivedOn ?? null, after?.id ?? null];
    const rows: CoveredRow[] = await namingOutage(pool, () => queryRows<CoveredRow>(pool, batchSql, parameters));
    if (rows.length > 0) yield rows.map(toCovered);
    after = rows.length < BATCH_ROWS ? undefined : rows.at(-1);
  } while (after !== undefined);
}

const batchSql = `
  select q.received_on::text, q.id, q.occurred_at, q.session_hash, q.user_hash, q.segments, c.nearest,
         coalesce((c.nearest->0->>1)::double precision, -1) as similarity,
         case when c.from_text then c.embedding else coalesce(q.embedding, c.embedding) end as vector
    from live_queries q join ${coverage} ${occurred}
     and ($4::timestamptz is null or c.scored_at >= $4::timestamptz) and c.status = 'measured'
     and q.unit_hash < least(q.rate_probability * c.thinning, $5::double precision)
     and ($6::date is null or (q.received_on, q.id) > ($6::date, $7::text))
   order by q.received_on, q.id limit ${BATCH_ROWS}`;

function toCovered(row: CoveredRow): CoveredQuery {
  const { receivedOn: _, vector, ...query } = row;
  return { ...query, vector: vector === null ? null : vectorOfBytes(vector) };
}

/** Coverage of live queries in PostgreSQL: admission, work queue and results. */
import type { Pool, PoolClient } from 'pg';
import { type Admission, admissionChance } from '../live/rules/sampling/admission.ts';
import { namingOutage } from '../platform/postgres/outage.ts';
import { queryRow, queryRows } from '../platform/postgres/rows.ts';
import { inTransaction } from '../platform/postgres/transaction.ts';
import { bytesOfVector, vectorOfBytes } from '../platform/postgres/values.ts';
import { type CoveragePeriod, type CoveredQuery, readPeriod, tallyPeriod } from './coverage-reads.ts';

export interface QueryKey {
  /** Day of receipt (UTC), YYYY-MM-DD. */
  readonly receivedOn: string;
  readonly id: string;
}

export interface ClaimedQuery extends QueryKey {
  /** Stored query text; null in hash mode. */
  readonly text: string | null;
  /** The user's query before an agent rewrote it; null if unknown or not stored. */
  readonly originalText: string | null;
  /** The vector that the service sent; null if the text must be embedded. */
  readonly vector: Float32Array | null;
  /** Number of earlier search attempts. */
  readonly attempts: number;
}

export type CoverageOutcome = QueryKey &
  (
    | {
        readonly kind: 'measured';
        /** `short` if the store returned fewer distinct chunks than recalld stores per query. */
        readonly reason: 'short' | null;
        /** Ids and cosines of the nearest chunks, nearest first. */
        readonly nearest: readonly (readonly [string, number])[];
        /** The vector used for the search if recalld computed it from a text; null if the service sent the vector. */
        readonly embedding: Float32Array | null;
      }
    | { readonly kind: 'not_measurable'; readonly reason: string }
    /** The query is searched again at `dueAt`. */
    | { readonly kind: 'later'; readonly reason: string; readonly dueAt: Date }
  );

export interface ClaimRequest {
  readonly pipeline: string;
  /** Earliest time of receipt, inclusive. */
  readonly from: Date;
  /** Latest time of receipt, exclusive. */
  readonly until: Date;
  readonly limit: number;
  readonly now: Date;
  /** End of the lease. After this time, other workers may claim the queries that still have no recorded result. */
  readonly leaseUntil: Date;
}

export interface AdmissionRequest {
  readonly pipeline: string;
  /** Earliest time of receipt, inclusive. */
  readonly from: Date;
  /** Latest time of receipt, exclusive. */
  readonly until: Date;
  readonly now: Date;
  readonly admission: Admission;
  /**
   * `decided.until` of the backlog that the decision is based on. The decision has no effect if another decision has
   * been made since the backlog was read.
   */
  readonly decidedUntil: Date | null;
}

export interface CoverageAdmission {
  readonly pipeline: string;
  readonly level: number;
  readonly until: Date;
  /** Total number of queries that were not admitted. */
  readonly leftOut: number;
}

/** Restricts the days of receipt, so that PostgreSQL plans a query only for the partitions of these days. */
function receivedBetween(table: 'c' | 'q'): string {
  return `${table}.received_on >= ($2::timestamptz at time zone 'utc')::date
   and ${table}.received_on <= ($3::timestamptz at time zone 'utc')::date`;
}

/**
 * Samples that were received in the period and have no coverage row. The condition on `received_at` lets PostgreSQL use
 * the index on this column.
 */
const withoutRow = `
  from live_queries q
 where q.pipeline = $1::text and q.received_at >= $2::timestamptz and q.received_at < $3::timestamptz
   and ${receivedBetween('q')}
   and not exists (select 1 from query_coverage c
                    where c.received_on = q.received_on and c.pipeline = q.pipeline and c.id = q.id)`;

type ClaimedRow = Omit<ClaimedQuery, 'vector'> & { readonly embedding: Buffer | null; readonly fromText: boolean };

/** Every call rejects with RecalldError database_unreachable if the database does not respond. */
export function coverageTable(pool: Pool) {
  return {
    /** Counts the queries that were received in a period but are not measured yet. */
    backlog: (pipeline: string, from: Date, until: Date) =>
      namingOutage(pool, () => readBacklog(pool, pipeline, from, until)),

    /**
     * Records an admission decision and applies it to the queries without a coverage row. Rejects the queries of
     * sessions whose random number is not below the admission probability, and queues the other queries. Stores the
     * admission probability with each query. Retries and replicas reject the same queries.
     *
     * @returns the number of rejected queries; null if another decision was made in the meantime
     */
    admit: (request: AdmissionRequest): Promise<number | null> =>
      namingOutage(pool, () => inTransaction(pool, (client) => admit(client, request))),

    admissions: (): Promise<readonly CoverageAdmission[]> =>
      namingOutage(pool, () =>
        queryRows<CoverageAdmission>(
          pool,
          'select pipeline, level, decided_until as until, left_out::double precision from coverage_admissions',
        ),
      ),

    /** Leases queries, oldest first. The queries of a crashed worker become available when its lease ends. */
    claim: (request: ClaimRequest): Promise<readonly ClaimedQuery[]> =>
      namingOutage(pool, async () => {
        const retaken = await retake(pool, request);
        const fresh = await takeFresh(pool, { ...request, limit: request.limit - retaken.length });
        return [...retaken, ...fresh].map(toClaimed);
      }),

    /** Records the results of claimed queries. Ignores erased queries. */
    record: (
      pipeline: string,
      outcomes: readonly CoverageOutcome[],
      { fingerprint, now }: { readonly fingerprint: string; readonly now: Date },
    ): Promise<void> => namingOutage(pool, () => recordOutcomes(pool, pipeline, outcomes, fingerprint, now)),

    tally: (period: CoveragePeriod) => namingOutage(pool, () => tallyPeriod(pool, period)),

    /** Reads the measured queries of sessions whose random number is below `chance`, ordered by day and id. */
    read: (period: CoveragePeriod, chance: number): AsyncIterable<readonly CoveredQuery[]> =>
      readPeriod(pool, period, chance),

    /**
     * Reopens measured queries, so that they are searched again.
     *
     * @returns the number of reopened queries
     */
    reopen: (
      { pipeline, from, until }: CoveragePeriod,
      { chance, fromText, now }: { readonly chance: number; readonly fromText: boolean; readonly now: Date },
    ): Promise<number> =>
      namingOutage(pool, async () => {
        const { rowCount } = await pool.query(
          `update query_coverage c
              set status = 'open', attempts = 0, due_at = $5::timestamptz, from_text = $6::boolean, reason = null, nearest = '[]', embedding = case when $6::boolean then null else c.embedding end, scored_at = null
             from live_queries q
            where q.pipeline = $1::text and q.occurred_at >= $2::timestamptz and q.occurred_at < $3::timestamptz
              and q.unit_hash < $4::double precision
              and (c.received_on, c.pipeline, c.id) = (q.received_on, q.pipeline, q.id) and c.status = 'measured'`,
          [pipeline, from, until, chance, now, fromText],
        );
        return rowCount ?? 0;
      }),
  };
}

/**
 * Claims queries that were claimed before and then deferred or abandoned. Usually, there are no such queries. Checking
 * first is then faster than running the full statement.
 */
async function retake(pool: Pool, { pipeline, limit, now, leaseUntil }: ClaimRequest): Promise<ClaimedRow[]> {
  const due = `query_coverage where pipeline = $1::text and status = 'open' and due_at <= $2::timestamptz`;
  const waiting = await pool.query(`select 1 from ${due} limit 1`, [pipeline, now]);
  if (waiting.rows.length === 0) return [];
  return queryRows<ClaimedRow>(
    pool,
    `with due as (
       select received_on, id from ${due} order by due_at limit $3::integer for update skip locked
     ), retaken as (
       update query_coverage c set attempts = attempts + 1, due_at = $4::timestamptz
         from due where (c.received_on, c.pipeline, c.id) = (due.received_on, $1::text, due.id)
       returning c.received_on, c.id, c.attempts, c.from_text
     )
     select ${claimedColumns}
       from retaken c join live_queries q on q.received_on = c.received_on and q.pipeline = $1::text and q.id = c.id`,
    [pipeline, now, limit, leaseUntil],
  );
}

async function takeFresh(
  pool: Pool,
  { pipeline, from, until, limit, leaseUntil }: Omit<ClaimRequest, 'now'>,
): Promise<ClaimedRow[]> {
  if (limit <= 0) return [];
  return queryRows<ClaimedRow>(
    pool,
    `with fresh as (
       select q.received_on, q.id ${withoutRow} order by q.received_at limit $4::integer
     ), taken as (
       insert into query_coverage (received_on, pipeline, id, status, attempts, due_at, thinning, nearest)
       select received_on, $1::text, id, 'open', 1, $5::timestamptz, 1, '[]' from fresh
        order by received_on, id
       on conflict do nothing
       returning received_on, id, attempts, from_text
     )
     select ${claimedColumns}
       from taken c join live_queries q on q.received_on = c.received_on and q.pipeline = $1::text and q.id = c.id
      where ${receivedBetween('q')}`,
    [pipeline, from, until, limit, leaseUntil],
  );
}

const claimedColumns =
  'q.received_on::text, q.id, q.text, q.original_text, q.embedding, c.from_text, c.attempts - 1 as attempts';

function toClaimed({ embedding, fromText, ...query }: ClaimedRow): ClaimedQuery {
  return { ...query, vector: embedding === null || fromText ? null : vectorOfBytes(embedding) };
}

async function recordOutcomes(
  pool: Pool,
  pipeline: string,
  outcomes: readonly CoverageOutcome[],
  fingerprint: string,
  now: Date,
): Promise<void> {
  if (outcomes.length === 0) return;
  const measured = outcomes.map((outcome) => (outcome.kind === 'measured' ? outcome : null));
  await pool.query(
    `update query_coverage c
        set status = o.status, due_at = o.due_at, reason = o.reason, nearest = coalesce(o.nearest, '[]')::jsonb,
            embedding = o.embedding, from_text = c.from_text or o.embedding is not null, fingerprint = $9::text,
            scored_at = case when o.status = 'open' then null else $10::timestamptz end
       from unnest($2::date[], $3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::text[], $8::bytea[])
         as o (received_on, id, status, due_at, reason, nearest, embedding)
      where (c.received_on, c.pipeline, c.id) = (o.received_on, $1::text, o.id) and c.status = 'open'`,
    [
      pipeline,
      outcomes.map((outcome) => outcome.receivedOn),
      outcomes.map((outcome) => outcome.id),
      outcomes.map((outcome) => (outcome.kind === 'later' ? 'open' : outcome.kind)),
      outcomes.map((outcome) => (outcome.kind === 'later' ? outcome.dueAt : null)),
      outcomes.map((outcome) => outcome.reason),
      measured.map((outcome) => (outcome === null ? null : JSON.stringify(outcome.nearest))),
      measured.map((outcome) => (outcome?.embedding == null ? null : bytesOfVector(outcome.embedding))),
      fingerprint,
      now,
    ],
  );
}

async function readBacklog(pool: Pool, pipeline: string, from: Date, until: Date) {
  const [stored, arrived, admitted] = await Promise.all([
    queryRow<Omit<Admission, 'calmSinceMs'> & { readonly decidedUntil: Date; readonly calmSince: Date | null }>(
      pool,
      `select decided_until, level, waiting, is_overdue, calm_since from coverage_admissions where pipeline = $1::text`,
      [pipeline],
    ),
    queryRow<{ n: number; oldest: Date | null }>(
      pool,
      `select count(*)::integer as n, min(q.received_at) as oldest ${withoutRow}`,
      [pipeline, from, until],
    ),
    queryRow<{ n: number; oldest: Date | null }>(
      pool,
      `select count(*)::integer as n, min(q.received_at) as oldest
         from query_coverage c join live_queries q on (q.received_on, q.pipeline, q.id) = (c.received_on, c.pipeline, c.id)
        where c.pipeline = $1::text and c.status = 'open' and c.attempts = 0
          and q.received_at >= $2::timestamptz and q.received_at < $3::timestamptz
          and ${receivedBetween('q')} and ${receivedBetween('c')}`,
      [pipeline, from, until],
    ),
  ]);
  const times = [arrived, admitted].flatMap((waiting) => waiting?.oldest?.getTime() ?? []);
  const decisionOf = ({ decidedUntil, calmSince, ...admission }: NonNullable<typeof stored>) => ({
    until: decidedUntil,
    admission: { ...admission, calmSinceMs: calmSince?.getTime() ?? null },
  });
  return {
    /**
     * The latest admission decision, and the time of receipt up to which it applies; null before the first decision.
     */
    decided: stored && decisionOf(stored),
    /** Number of queries that no admission decision covers yet; they have no coverage row. */
    arrived: arrived?.n ?? 0,
    /** Number of queries admitted but never claimed. */
    admitted: admitted?.n ?? 0,
    /** When the oldest `arrived` or `admitted` query was received; null if there are none. */
    oldest: times.length === 0 ? null : new Date(Math.min(...times)),
  };
}

/**
 * Records a decision. At level 0, which admits every query, writes no rows, because workers create the rows when they
 * claim queries.
 */
async function admit(
  client: PoolClient,
  { pipeline, from, until, now, admission, decidedUntil }: AdmissionRequest,
): Promise<number | null> {
  const { rowCount } = await client.query(
    `insert into coverage_admissions as a (pipeline, decided_until, level, waiting, is_overdue, calm_since, left_out)
     values ($1::text, $2::timestamptz, $3::smallint, $4::double precision, $5::boolean, $6::timestamptz, 0)
     on conflict (pipeline) do update
        set decided_until = excluded.decided_until, level = excluded.level, waiting = excluded.waiting,
            is_overdue = excluded.is_overdue, calm_since = excluded.calm_since
      where a.decided_until = $7::timestamptz`,
    [
      pipeline,
      until,
      admission.level,
      admission.waiting,
      admission.isOverdue,
      admission.calmSinceMs === null ? null : new Date(admission.calmSinceMs),
      decidedUntil,
    ],
  );
  if (rowCount === 0) return null;
  if (admission.level === 0) return 0;
  const { rows } = await client.query<{ left_out: number }>(
    `with decided as (
       insert into query_coverage (received_on, pipeline, id, status, attempts, reason, due_at, thinning, nearest, scored_at)
       select received_on, pipeline, id,
              case when is_in then 'open' else 'not_measurable' end, 0, case when not is_in then 'thinned' end,
              case when is_in then $5::timestamptz end, $4::double precision, '[]', case when not is_in then $5::timestamptz end
         from (select q.received_on, q.pipeline, q.id, q.unit_hash < q.rate_probability * $4::double precision as is_in ${withoutRow}
                order by q.received_on, q.id) d
       on conflict do nothing
       returning status)
     update coverage_admissions
        set left_out = left_out + (select count(*) from decided where status = 'not_measurable')
      where pipeline = $1::text
     returning (select count(*) from decided where status = 'not_measurable')::integer as left_out`,
    [pipeline, from, until, admissionChance(admission.level), now],
  );
  return rows[0]?.left_out ?? 0;
}

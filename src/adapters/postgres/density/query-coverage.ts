/** Coverage of live queries in PostgreSQL. */
import type { Pool } from 'pg';
import type { ClaimedQuery, CoverageOutcome, QueryCoverage } from '../../../ports/query-coverage.ts';
import { namingOutage } from '../named-outage.ts';
import { inTransaction } from '../transaction.ts';
import { bytesOfVector, vectorOfBytes } from '../vector-bytes.ts';
import { readAdmissions, readLoad, settle, withoutRow } from './coverage-admissions.ts';
import { readPeriod, tallyPeriod } from './coverage-reads.ts';

interface ClaimedRow {
  received_on: string;
  id: string;
  text: string | null;
  embedding: Buffer | null;
  from_text: boolean;
  attempts: number;
}

export function createQueryCoverage(pool: Pool): QueryCoverage {
  return {
    load: (pipeline, from, until) => namingOutage(pool, () => readLoad(pool, pipeline, from, until)),
    settle: (request) => namingOutage(pool, () => inTransaction(pool, (client) => settle(client, request))),
    admissions: () => namingOutage(pool, () => readAdmissions(pool)),

    claim: ({ pipeline, from, until, limit, now, leaseUntil }) =>
      namingOutage(pool, async () => {
        const { rows } = await pool.query<ClaimedRow>(
          `with due as (
             select received_on, id from query_coverage
              where pipeline = $1::text and status = 'open' and due_at <= $5::timestamptz
              order by due_at limit $4::integer for update skip locked
           ), retaken as (
             update query_coverage c set attempts = attempts + 1, due_at = $6::timestamptz
               from due where (c.received_on, c.pipeline, c.id) = (due.received_on, $1::text, due.id)
             returning c.received_on, c.id, c.attempts, c.from_text
           ), fresh as (
             select q.received_on, q.id ${withoutRow} order by q.received_at
              limit greatest(0, $4::integer - (select count(*) from due)::integer)
           ), taken as (
             insert into query_coverage (received_on, pipeline, id, status, attempts, due_at, thinning, nearest)
             select received_on, $1::text, id, 'open', 1, $6::timestamptz, 1, '[]' from fresh
              order by received_on, id
             on conflict do nothing
             returning received_on, id, attempts, from_text
           ), claimed as (select * from retaken union all select * from taken)
           select q.received_on::text, q.id, q.text, q.embedding, claimed.from_text, claimed.attempts - 1 as attempts
             from claimed join live_queries q on q.received_on = claimed.received_on and q.pipeline = $1::text and q.id = claimed.id`,
          [pipeline, from, until, limit, now, leaseUntil],
        );
        return rows.map(toClaimed);
      }),

    record: (pipeline, outcomes, { fingerprint, now }) =>
      namingOutage(pool, () => recordOutcomes(pool, pipeline, outcomes, fingerprint, now)),

    tally: (period) => namingOutage(pool, () => tallyPeriod(pool, period)),
    read: (period, chance) => readPeriod(pool, period, chance),

    reopen: ({ pipeline, from, until }, { chance, fromText, now }) =>
      namingOutage(pool, async () => {
        const { rowCount } = await pool.query(
          `update query_coverage c
              set status = 'open', attempts = 0, due_at = $5::timestamptz, from_text = $6::boolean, score = null,
                  reason = null, nearest = '[]', embedding = case when $6::boolean then null else c.embedding end, scored_at = null
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

function toClaimed({ received_on, id, text, embedding, from_text, attempts }: ClaimedRow): ClaimedQuery {
  const vector = embedding === null || from_text ? null : vectorOfBytes(embedding);
  return { receivedOn: received_on, id, text, vector, attempts };
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
        set status = o.status, due_at = o.due_at, score = o.score, reason = o.reason, nearest = coalesce(o.nearest, '[]')::jsonb,
            embedding = o.embedding, fingerprint = $10::text,
            scored_at = case when o.status = 'open' then null else $11::timestamptz end
       from unnest($2::date[], $3::text[], $4::text[], $5::timestamptz[], $6::double precision[], $7::text[], $8::text[], $9::bytea[])
         as o (received_on, id, status, due_at, score, reason, nearest, embedding)
      where (c.received_on, c.pipeline, c.id) = (o.received_on, $1::text, o.id) and c.status = 'open'`,
    [
      pipeline,
      outcomes.map((outcome) => outcome.receivedOn),
      outcomes.map((outcome) => outcome.id),
      outcomes.map((outcome) => (outcome.kind === 'later' ? 'open' : outcome.kind)),
      outcomes.map((outcome) => (outcome.kind === 'later' ? outcome.dueAt : null)),
      measured.map((outcome) => outcome?.score ?? null),
      outcomes.map((outcome) => outcome.reason),
      measured.map((outcome) => (outcome === null ? null : JSON.stringify(outcome.nearest))),
      measured.map((outcome) => (outcome?.embedding == null ? null : bytesOfVector(outcome.embedding))),
      fingerprint,
      now,
    ],
  );
}

/** Which live queries are admitted to have their coverage measured, in PostgreSQL. */
import type { Pool, PoolClient } from 'pg';
import { admissionChance } from '../../../core/sampling/admission.ts';
import type { AdmissionRequest, CoverageAdmission, CoverageLoad } from '../../../ports/query-coverage.ts';

interface AdmissionRow {
  settled_until: Date;
  level: number;
  waiting: number;
  is_overdue: boolean;
  calm_since: Date | null;
}

/** Samples of a time of receipt that have no row; the index of the time leads to them. */
export const withoutRow = `
  from live_queries q
 where q.pipeline = $1::text and q.received_at >= $2::timestamptz and q.received_at < $3::timestamptz
   and q.received_on >= ($2::timestamptz at time zone 'utc')::date and q.received_on <= ($3::timestamptz at time zone 'utc')::date
   and not exists (select 1 from query_coverage c
                    where c.received_on = q.received_on and c.pipeline = q.pipeline and c.id = q.id)`;

export async function readLoad(pool: Pool, pipeline: string, from: Date, until: Date): Promise<CoverageLoad> {
  const [admissions, arrived, admitted] = await Promise.all([
    pool.query<AdmissionRow>(
      `select settled_until, level, waiting, is_overdue, calm_since from coverage_admissions where pipeline = $1::text`,
      [pipeline],
    ),
    pool.query<{ n: number; oldest: Date | null }>(
      `select count(*)::integer as n, min(q.received_at) as oldest ${withoutRow}`,
      [pipeline, from, until],
    ),
    pool.query<{ n: number; oldest: Date | null }>(
      `select count(*)::integer as n, min(q.received_at) as oldest
         from query_coverage c join live_queries q on (q.received_on, q.pipeline, q.id) = (c.received_on, c.pipeline, c.id)
        where c.pipeline = $1::text and c.status = 'open' and c.attempts = 0
          and q.received_at >= $2::timestamptz and q.received_at < $3::timestamptz`,
      [pipeline, from, until],
    ),
  ]);
  const [stored] = admissions.rows;
  const times = [...arrived.rows, ...admitted.rows].flatMap(({ oldest }) =>
    oldest === null ? [] : [oldest.getTime()],
  );
  return {
    settled:
      stored === undefined
        ? null
        : {
            until: stored.settled_until,
            admission: {
              level: stored.level,
              waiting: stored.waiting,
              isOverdue: stored.is_overdue,
              calmSinceMs: stored.calm_since?.getTime() ?? null,
            },
          },
    arrived: arrived.rows[0]?.n ?? 0,
    admitted: admitted.rows[0]?.n ?? 0,
    oldest: times.length === 0 ? null : new Date(Math.min(...times)),
  };
}

/** At level 0 nothing is written but the decision: who takes a query makes its row. */
export async function settle(
  client: PoolClient,
  { pipeline, from, until, now, admission, settledUntil }: AdmissionRequest,
): Promise<number | null> {
  const { rowCount } = await client.query(
    `insert into coverage_admissions as a (pipeline, settled_until, level, waiting, is_overdue, calm_since, left_out)
     values ($1::text, $2::timestamptz, $3::smallint, $4::double precision, $5::boolean, $6::timestamptz, 0)
     on conflict (pipeline) do update
        set settled_until = excluded.settled_until, level = excluded.level, waiting = excluded.waiting,
            is_overdue = excluded.is_overdue, calm_since = excluded.calm_since
      where a.settled_until = $7::timestamptz`,
    [
      pipeline,
      until,
      admission.level,
      admission.waiting,
      admission.isOverdue,
      admission.calmSinceMs === null ? null : new Date(admission.calmSinceMs),
      settledUntil,
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
    [pipeline, from, until, admissionChance(admission), now],
  );
  return rows[0]?.left_out ?? 0;
}

export async function readAdmissions(pool: Pool): Promise<readonly CoverageAdmission[]> {
  const { rows } = await pool.query<{ pipeline: string; level: number; until: Date; left_out: string }>(
    'select pipeline, level, settled_until as until, left_out from coverage_admissions',
  );
  return rows.map(({ left_out: leftOut, ...row }) => ({ ...row, leftOut: Number(leftOut) }));
}

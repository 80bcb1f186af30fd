/** Batches of golden runs in PostgreSQL. */
import type { Pool } from 'pg';
import type { GoldenBatches } from '../ports/golden-batches.ts';

export function createGoldenBatches(pool: Pool): GoldenBatches {
  return {
    async claim(runId, holder, leaseSeconds) {
      const { rows } = await pool.query<{ batch: number }>(
        `update golden_run_batches
            set lease_holder = $2::text, lease_until = clock_timestamp() + make_interval(secs => $3::double precision)
          where run_id = $1::text and batch = (
            select b.batch from golden_run_batches b
              join golden_runs r on r.id = b.run_id
             where b.run_id = $1::text and not b.done and (b.lease_until is null or b.lease_until < clock_timestamp())
               and r.status = 'running' and (r.lease_until is null or r.lease_until < clock_timestamp())
             order by b.batch limit 1 for update of b skip locked)
         returning batch`,
        [runId, holder, leaseSeconds],
      );
      return rows[0]?.batch ?? null;
    },

    async renew(runId, batch, holder, leaseSeconds) {
      const { rowCount } = await pool.query(
        `update golden_run_batches b
            set lease_until = clock_timestamp() + make_interval(secs => $4::double precision)
           from golden_runs r
          where b.run_id = $1::text and b.batch = $2::integer and b.lease_holder = $3::text
            and r.id = b.run_id and r.status = 'running'`,
        [runId, batch, holder, leaseSeconds],
      );
      return rowCount === 1;
    },

    async release(runId, batch, holder) {
      await pool.query(
        `update golden_run_batches set lease_holder = null, lease_until = null
          where run_id = $1::text and batch = $2::integer and lease_holder = $3::text and not done`,
        [runId, batch, holder],
      );
    },

    async complete(runId, batch) {
      await pool.query(
        `update golden_run_batches set done = true, lease_holder = null, lease_until = null
          where run_id = $1::text and batch = $2::integer`,
        [runId, batch],
      );
    },

    async completeAll(runId) {
      await pool.query(
        `update golden_run_batches set done = true, lease_holder = null, lease_until = null where run_id = $1::text`,
        [runId],
      );
    },

    async counts(runId) {
      const { rows } = await pool.query<{ free: number; held: number; done: number }>(
        `select count(*) filter (where not done and (lease_until is null or lease_until < clock_timestamp()))::integer as free,
                count(*) filter (where not done and lease_until >= clock_timestamp())::integer as held,
                count(*) filter (where done)::integer as done
           from golden_run_batches where run_id = $1::text`,
        [runId],
      );
      return rows[0] ?? { free: 0, held: 0, done: 0 };
    },
  };
}

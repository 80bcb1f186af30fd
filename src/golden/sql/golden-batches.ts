/**
 * Batches of golden runs. A worker uses a lease to claim one batch at a time. The batches are created with the run. A
 * worker that takes over a batch runs only its queries without stored results.
 */
import type { Pool } from 'pg';
import { queryRows } from '../../platform/postgres/rows.ts';

export function createGoldenBatches(pool: Pool) {
  return {
    /**
     * Claims the first batch that is neither claimed nor done, and returns its number. Returns null if there is no such
     * batch, if the run has ended, or if a worker has claimed the whole run.
     */
    async claim(runId: string, holder: string, leaseSeconds: number): Promise<number | null> {
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

    /** Renews the lease. Returns false if the run has ended, or if another worker has claimed the batch. */
    async renew(runId: string, batch: number, holder: string, leaseSeconds: number): Promise<boolean> {
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

    /** Releases the batch, so that another worker can claim it immediately. */
    async release(runId: string, batch: number, holder: string): Promise<void> {
      await pool.query(
        `update golden_run_batches set lease_holder = null, lease_until = null
          where run_id = $1::text and batch = $2::integer and lease_holder = $3::text and not done`,
        [runId, batch, holder],
      );
    },

    /** Marks the batch as done. The results of all of its queries must already be stored. */
    async complete(runId: string, batch: number): Promise<void> {
      await pool.query(
        `update golden_run_batches set done = true, lease_holder = null, lease_until = null
          where run_id = $1::text and batch = $2::integer`,
        [runId, batch],
      );
    },

    async completeAll(runId: string): Promise<void> {
      await pool.query(
        `update golden_run_batches set done = true, lease_holder = null, lease_until = null where run_id = $1::text`,
        [runId],
      );
    },

    async counts(runId: string) {
      const rows = await queryRows<{ free: number; held: number }>(
        pool,
        `select count(*) filter (where not done and (lease_until is null or lease_until < clock_timestamp()))::integer as free,
                count(*) filter (where not done and lease_until >= clock_timestamp())::integer as held
           from golden_run_batches where run_id = $1::text`,
        [runId],
      );
      return rows[0] ?? { free: 0, held: 0 };
    },
  };
}

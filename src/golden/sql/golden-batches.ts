/**
 * The parts of golden runs that workers take one at a time, each held through a lease. They exist from the moment that
 * the run does. What was answered is told by the answers alone: a batch that is taken over asks what has none.
 */
import type { Pool } from 'pg';
import { queryRows } from '../../platform/postgres/rows.ts';

/** How much of a run's asking is done, in batches. */
export interface BatchCounts {
  /** Batches that nobody holds and that are not done. */
  readonly free: number;
  /** Batches that a worker holds. */
  readonly held: number;
  readonly done: number;
}

export function createGoldenBatches(pool: Pool) {
  return {
    /**
     * Takes the first batch that is not done and that nobody holds.
     *
     * @returns its number, or null when there is none, the run has ended, or one worker holds the run as a whole
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

    /** False when the run has ended or somebody else took the batch. */
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

    /** Gives the batch back, so that another may go on at once. */
    async release(runId: string, batch: number, holder: string): Promise<void> {
      await pool.query(
        `update golden_run_batches set lease_holder = null, lease_until = null
          where run_id = $1::text and batch = $2::integer and lease_holder = $3::text and not done`,
        [runId, batch, holder],
      );
    },

    /** Says that every query of the batch has an answer. */
    async complete(runId: string, batch: number): Promise<void> {
      await pool.query(
        `update golden_run_batches set done = true, lease_holder = null, lease_until = null
          where run_id = $1::text and batch = $2::integer`,
        [runId, batch],
      );
    },

    /** Says so of every batch of the run. */
    async completeAll(runId: string): Promise<void> {
      await pool.query(
        `update golden_run_batches set done = true, lease_holder = null, lease_until = null where run_id = $1::text`,
        [runId],
      );
    },

    async counts(runId: string): Promise<BatchCounts> {
      const rows = await queryRows<BatchCounts>(
        pool,
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

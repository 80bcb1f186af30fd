/** Enforces each retriever's concurrency and rate limits across all workers and commands, using PostgreSQL's clock. */
import type { Pool } from 'pg';
import { queryRows } from '../../platform/postgres/rows.ts';
import { inTransaction, lockInTransaction } from '../../platform/postgres/transaction.ts';
import { type ShareClaim, shareOf } from './backoff.ts';

export type ThrottleLimits = ReturnType<typeof createThrottleLimits>;

declare module '../../core/context.ts' {
  interface Db {
    readonly limits: ThrottleLimits;
  }
}

export function createThrottleLimits(pool: Pool) {
  return {
    /**
     * Registers a process that calls a pipeline's retriever, or renews its registration.
     *
     * @returns the maximum number of queries in flight for this process until its next renewal, and the total number of
     * consecutive failures in all other processes
     */
    share(
      pipeline: string,
      holder: string,
      /** `failuresInARow`: number of failures since the retriever's last response. */
      claim: Pick<ShareClaim, 'concurrency' | 'using'> & { readonly failuresInARow: number },
      leaseSeconds: number,
    ) {
      return inTransaction(pool, async (client) => {
        await lockInTransaction(client, 'retriever', pipeline);
        const rows = await queryRows<{ holder: string; slots: number; failuresInARow: number }>(
          client,
          `select holder, slots, failures_in_a_row from retriever_shares
            where pipeline = $1::text and holder <> $2::text and until >= clock_timestamp()`,
          [pipeline, holder],
        );
        const others = rows.map(({ slots }) => slots);
        const rank = rows.filter((row) => row.holder < holder).length;
        const { slots, counted } = shareOf({ ...claim, others, rank });
        await client.query(
          `insert into retriever_shares (pipeline, holder, slots, failures_in_a_row, until)
           values ($1::text, $2::text, $3::integer, $4::integer, clock_timestamp() + make_interval(secs => $5::double precision))
           on conflict (pipeline, holder) do update
              set slots = excluded.slots, failures_in_a_row = excluded.failures_in_a_row, until = excluded.until`,
          [pipeline, holder, counted, claim.failuresInARow, leaseSeconds],
        );
        const failuresElsewhere = rows.reduce((sum, row) => sum + row.failuresInARow, 0);
        return { slots, failuresElsewhere };
      });
    },

    async leave(pipeline: string, holder: string): Promise<void> {
      await pool.query(
        `delete from retriever_shares
          where pipeline = $1::text and (holder = $2::text or until < clock_timestamp() - interval '1 hour')`,
        [pipeline, holder],
      );
    },

    /**
     * Reserves evenly spaced time slots after all slots that are already reserved.
     *
     * @returns milliseconds until the first slot
     */
    async reserve(pipeline: string, slots: number, perSecond: number): Promise<number> {
      const { rows } = await pool.query<{ wait_ms: number }>(
        // The insert does not wait for the disk. A server crash may lose the latest reservations, but their slots will
        // have passed by the time the server is running again.
        `with hasty as materialized (select set_config('synchronous_commit', 'off', true))
         insert into retriever_rates as p (pipeline, next_slot)
         select $1::text, clock_timestamp() + make_interval(secs => $2::double precision) from hasty
         on conflict (pipeline) do update
            set next_slot = greatest(p.next_slot, clock_timestamp()) + make_interval(secs => $2::double precision)
         returning (extract(epoch from next_slot - clock_timestamp()) - $2::double precision)::double precision * 1000 as wait_ms`,
        [pipeline, slots / perSecond],
      );
      return Math.max(0, rows[0]?.wait_ms ?? 0);
    },
  };
}

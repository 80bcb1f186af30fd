/** What the clock of the database shows. */
import type { Pool, QueryConfig } from 'pg';
import type { Clock } from '../clock.ts';
import type { ClockLook } from '../schedule/clock-skew.ts';

/** Time enough for an answer that tells anything. */
const PATIENCE_MS = 5000;

/** @throws what the driver rejects with, when the database is away or says nothing for five seconds */
export async function lookAtClocks(pool: Pool, clock: Clock): Promise<ClockLook> {
  // Waiting for a connection is no part of the round trip.
  const client = await pool.connect();
  let broken = true;
  try {
    const sentAtMs = clock.now().getTime();
    const startedMs = clock.monotonicMs();
    const question: QueryConfig & { readonly query_timeout: number } = {
      text: 'select (extract(epoch from clock_timestamp()) * 1000)::double precision as ms',
      query_timeout: PATIENCE_MS,
    };
    const { rows } = await client.query<{ ms: number }>(question);
    broken = false;
    return { sentAtMs, tookMs: clock.monotonicMs() - startedMs, otherMs: rows[0]?.ms ?? Number.NaN };
  } finally {
    client.release(broken);
  }
}

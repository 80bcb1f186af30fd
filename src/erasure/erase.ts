/** Erasure of a person or a query from wherever the database has what they asked or said. */
import type { Pool, PoolClient } from 'pg';
import { eraseGoldenQueries } from '../golden/sql/golden-origins.ts';
import type { ErasureReport, ErasureSubject } from '../live/ports/live-traffic.ts';
import { eraseLive } from '../live/sql/erase-live.ts';
import { inTransaction, takeTurn } from '../postgres/transaction.ts';
import { textHash, userIdHmac } from '../privacy/rules/keyed-hash.ts';
import type { ErasureDeps } from './routes.ts';

/** Erasure by the ids that a service knows; what is stored are their hashes. */
export function createErasure(pool: Pool, hashKey: string): Pick<ErasureDeps, 'eraseUser' | 'eraseQuery'> {
  return {
    eraseUser: (userId) => erase(pool, { kind: 'user', userHash: userIdHmac(userId, hashKey) }, new Date()),
    eraseQuery: (id) => erase(pool, { kind: 'query', id, idHash: textHash(id, hashKey) }, new Date()),
  };
}

export function erase(pool: Pool, subject: ErasureSubject, now: Date): Promise<ErasureReport> {
  return inTransaction(pool, async (client) => {
    await takeTurn(client, 'erasure');
    const live = await eraseLive(client, subject, now);
    await eraseBaselineQueries(client, subject);
    const report = { ...live, goldenQueries: await eraseGoldenQueries(client, subject, now) };
    await client.query(
      `insert into erasures (erased_at, subject, queries, feedback, golden_queries)
       values ($1::timestamptz, $2::text, $3::integer, $4::integer, $5::integer)`,
      [now, subject.kind, report.queries, report.feedback, report.goldenQueries],
    );
    return report;
  });
}

/** A baseline outlives its queries, so that theirs are looked for by themselves. */
async function eraseBaselineQueries(client: PoolClient, subject: ErasureSubject): Promise<void> {
  const [column, value] = subject.kind === 'user' ? ['user_hash', subject.userHash] : ['id', subject.id];
  await client.query(`delete from density_baseline_queries where ${column} = $1::text`, [value]);
}

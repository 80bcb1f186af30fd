/** Daily partitions of live queries and feedback: made ahead, dropped whole when their time is over. */
import type { Pool, PoolClient } from 'pg';
import { inTransaction } from './transaction.ts';

const partitioned = ['live_queries', 'feedback'] as const;

const DAYS_AHEAD = 3;

/** Makes the partitions of today and the next days. Replicas wait for each other. */
export async function createPartitions(pool: Pool, now: Date): Promise<void> {
  await inTransaction(pool, async (client) => {
    await lockPartitions(client);
    const existing = new Set(await partitionNames(client));
    for (let ahead = 0; ahead <= DAYS_AHEAD; ahead++) {
      const day = dayAfter(now, ahead);
      for (const table of partitioned) {
        if (existing.has(partitionName(table, day))) continue;
        await client.query(
          `create table ${partitionName(table, day)} partition of ${table} for values from ('${day}') to ('${dayAfter(now, ahead + 1)}')`,
        );
      }
    }
  });
}

/** Drops the partitions of the days before `day` (UTC, YYYY-MM-DD). @returns their names */
export async function dropPartitionsBefore(pool: Pool, day: string): Promise<readonly string[]> {
  return inTransaction(pool, async (client) => {
    await lockPartitions(client);
    const old = (await partitionNames(client)).filter((name) => name.slice(-8) < day.replaceAll('-', ''));
    for (const name of old) await client.query(`drop table ${name}`);
    return old;
  });
}

/** The day `days` after that of `date`, in UTC, as YYYY-MM-DD. */
export function dayAfter(date: Date, days: number): string {
  return new Date(date.getTime() + days * 86_400_000).toISOString().slice(0, 10);
}

function partitionName(table: (typeof partitioned)[number], day: string): string {
  return `${table}_${day.replaceAll('-', '')}`;
}

async function lockPartitions(client: PoolClient): Promise<void> {
  await client.query(`select pg_advisory_xact_lock(hashtextextended('recalld partitions', 0))`);
}

async function partitionNames(client: PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select child.relname as name
       from pg_inherits i
       join pg_class child on child.oid = i.inhrelid
       join pg_class parent on parent.oid = i.inhparent
      where parent.relname = any($1::text[])`,
    [[...partitioned]],
  );
  return rows.map((row) => row.name);
}

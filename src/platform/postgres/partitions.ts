/** Time partitions, created in advance and dropped as a whole: live traffic by day, measurements by month. */
import type { Pool, PoolClient } from 'pg';
import { DAY_MS } from '../../core/time.ts';
import { inTransaction, lockInTransaction } from './transaction.ts';

const daily = ['live_queries', 'feedback', 'query_coverage'] as const;

const DAYS_AHEAD = 3;
/** Rows for live queries may be written up to a day after the queries. */
const DAYS_BEHIND = 1;

/** Creates partitions for yesterday, today and the next few days. Replicas wait for each other. */
export async function createPartitions(pool: Pool, now: Date): Promise<void> {
  await inTransaction(pool, async (client) => {
    const existing = await lockPartitions(client, daily);
    for (let ahead = -DAYS_BEHIND; ahead <= DAYS_AHEAD; ahead++) {
      const day = dayAfter(now, ahead);
      for (const table of daily) {
        if (existing.has(partitionName(table, day))) continue;
        await createPartition(client, table, partitionName(table, day), day, dayAfter(now, ahead + 1));
      }
    }
  });
}

/** Drops the partitions for days before `day` (UTC, YYYY-MM-DD). @returns their names */
export async function dropPartitionsBefore(pool: Pool, day: string): Promise<readonly string[]> {
  return inTransaction(pool, async (client) => {
    const old = [...(await lockPartitions(client, daily))].filter((name) => name.slice(-8) < day.replaceAll('-', ''));
    for (const name of old) await client.query(`drop table ${name}`);
    return old;
  });
}

const monthly = ['measurements', 'measurement_hours'] as const;

/** Creates the partitions for the months (UTC) of these dates. Replicas wait for each other. */
export async function createMonths(pool: Pool, dates: readonly Date[]): Promise<void> {
  const months = new Set(dates.map((date) => date.toISOString().slice(0, 7)));
  await inTransaction(pool, async (client) => {
    const existing = await lockPartitions(client, monthly);
    for (const month of months) {
      for (const table of monthly) {
        const name = partitionName(table, month);
        if (existing.has(name)) continue;
        await createPartition(client, table, name, `${month}-01T00:00:00Z`, startOfNextMonth(month));
      }
    }
  });
}

/** Drops the partitions for months that ended before `date`. */
export async function dropMonthsBefore(pool: Pool, date: Date): Promise<void> {
  const month = date.toISOString().slice(0, 7).replaceAll('-', '');
  await inTransaction(pool, async (client) => {
    for (const name of await lockPartitions(client, monthly)) {
      if (name.slice(-6) < month) await client.query(`drop table ${name}`);
    }
  });
}

/** Returns dates whose months need partitions now, for rows written today and in the next few days. */
export function daysAhead(now: Date): readonly Date[] {
  return [now, new Date(now.getTime() + DAYS_AHEAD * DAY_MS)];
}

/** Returns the UTC day that is `days` after `date`, as YYYY-MM-DD. */
export function dayAfter(date: Date, days: number): string {
  return new Date(date.getTime() + days * DAY_MS).toISOString().slice(0, 10);
}

function startOfNextMonth(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number, 1)).toISOString();
}

function partitionName(table: string, time: string): string {
  return `${table}_${time.replaceAll('-', '')}`;
}

async function createPartition(
  client: PoolClient,
  table: string,
  name: string,
  from: string,
  until: string,
): Promise<void> {
  await client.query(`create table ${name} partition of ${table} for values from ('${from}') to ('${until}')`);
}

/**
 * Keeps other processes from changing partitions until the transaction ends.
 *
 * @returns the names of the existing partitions
 */
async function lockPartitions(client: PoolClient, tables: readonly string[]): Promise<Set<string>> {
  await lockInTransaction(client, 'partitions');
  const { rows } = await client.query<{ name: string }>(
    `select child.relname as name
       from pg_inherits i
       join pg_class child on child.oid = i.inhrelid
       join pg_class parent on parent.oid = i.inhparent
      where parent.relname = any($1::text[])`,
    [[...tables]],
  );
  return new Set(rows.map((row) => row.name));
}

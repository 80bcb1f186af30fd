/** Time partitions, created in advance and dropped as a whole: live traffic by day, measurements by month. */
import type { Pool, PoolClient } from 'pg';
import { DAY_MS } from '../../core/time.ts';
import { inTransaction, lockInTransaction } from './transaction.ts';

const daily = ['live_queries', 'feedback', 'query_coverage'] as const;

const DAYS_AHEAD = 3;
/** Maximum number of days between a live query and the write of its row. */
const DAYS_BEHIND = 1;

/** Creates the partitions for yesterday, today and the next few days. Only one replica at a time creates partitions. */
export async function createPartitions(pool: Pool, now: Date): Promise<void> {
  const days = Array.from({ length: DAYS_BEHIND + 1 + DAYS_AHEAD }, (_, index) => {
    const day = dayAfter(now, index - DAYS_BEHIND);
    return { time: day, from: day, until: dayAfter(now, index - DAYS_BEHIND + 1) };
  });
  await createMissing(pool, daily, days);
}

/** Drops the partitions for days before `day` (UTC, YYYY-MM-DD). @returns their names */
export function dropPartitionsBefore(pool: Pool, day: string): Promise<readonly string[]> {
  return dropBefore(pool, daily, day);
}

const monthly = ['measurements', 'measurement_hours'] as const;

/**
 * Creates the partitions for the months (UTC) that contain these dates. Only one replica at a time creates partitions.
 */
export async function createMonths(pool: Pool, dates: readonly Date[]): Promise<void> {
  const months = [...new Set(dates.map(monthOf))].map((month) => ({
    time: month,
    from: `${month}-01T00:00:00Z`,
    until: startOfNextMonth(month),
  }));
  await createMissing(pool, monthly, months);
}

/** Drops the partitions for months that ended before `date`. */
export async function dropMonthsBefore(pool: Pool, date: Date): Promise<void> {
  await dropBefore(pool, monthly, monthOf(date));
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

function monthOf(date: Date): string {
  return date.toISOString().slice(0, 7);
}

async function createMissing(
  pool: Pool,
  tables: readonly string[],
  spans: readonly { readonly time: string; readonly from: string; readonly until: string }[],
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const existing = await lockPartitions(client, tables);
    for (const { time, from, until } of spans) {
      for (const table of tables) {
        const name = `${table}_${time.replaceAll('-', '')}`;
        if (existing.has(name)) continue;
        await client.query(`create table ${name} partition of ${table} for values from ('${from}') to ('${until}')`);
      }
    }
  });
}

/** @param time UTC day or month, such as `2026-11-20` or `2026-11`; a partition's name ends with the same digits */
function dropBefore(pool: Pool, tables: readonly string[], time: string): Promise<readonly string[]> {
  const end = time.replaceAll('-', '');
  return inTransaction(pool, async (client) => {
    const old = [...(await lockPartitions(client, tables))].filter((name) => name.slice(-end.length) < end);
    for (const name of old) await client.query(`drop table ${name}`);
    return old;
  });
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

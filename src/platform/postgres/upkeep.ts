/**
 * How tables are kept: partitions by time, made ahead and dropped whole when their time is over (live traffic by day,
 * measurements by month), and what autovacuum does and who keeps it from doing it.
 */

import type pg from 'pg';
import type { Pool, PoolClient } from 'pg';
import { DAY_MS } from '../../core/time.ts';
import { inTransaction, lockInTransaction } from './transaction.ts';

const daily = ['live_queries', 'feedback', 'query_coverage'] as const;

const DAYS_AHEAD = 3;
/** What is written about live queries may be written a day after them. */
const DAYS_BEHIND = 1;

/** Makes the partitions of yesterday, today and the next days. Replicas wait for each other. */
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

/** Drops the partitions of the days before `day` (UTC, YYYY-MM-DD). @returns their names */
export async function dropPartitionsBefore(pool: Pool, day: string): Promise<readonly string[]> {
  return inTransaction(pool, async (client) => {
    const old = [...(await lockPartitions(client, daily))].filter((name) => name.slice(-8) < day.replaceAll('-', ''));
    for (const name of old) await client.query(`drop table ${name}`);
    return old;
  });
}

const monthly = ['measurements', 'measurement_hours'] as const;

/** Makes the partitions of the months (UTC) in which these dates lie. Replicas wait for each other. */
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

/** Drops the partitions of the months that ended before `date`. */
export async function dropMonthsBefore(pool: Pool, date: Date): Promise<void> {
  const month = date.toISOString().slice(0, 7).replaceAll('-', '');
  await inTransaction(pool, async (client) => {
    for (const name of await lockPartitions(client, monthly)) {
      if (name.slice(-6) < month) await client.query(`drop table ${name}`);
    }
  });
}

/** Dates of which the months must be there so that nothing of the next days misses its own. */
export function daysAhead(now: Date): readonly Date[] {
  return [now, new Date(now.getTime() + DAYS_AHEAD * DAY_MS)];
}

/** The day `days` after that of `date`, in UTC, as YYYY-MM-DD. */
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

/** Waits for others who make or drop partitions. @returns the names of those that are there */
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

interface TableUpkeep {
  readonly table: string;
  readonly deadRows: number;
  /** Of all rows, 0 to 1. */
  readonly deadShare: number;
  /** The last vacuum, by whomever; null when none is known. */
  readonly vacuumedAt: Date | null;
}

interface IdleTransaction {
  readonly pid: number;
  readonly application: string;
  readonly seconds: number;
}

export interface Upkeep {
  readonly isAutovacuumOn: boolean;
  /** Tables that are told to do without autovacuum. */
  readonly neglected: readonly string[];
  /** The table with the most dead rows; null without any. */
  readonly worst: TableUpkeep | null;
  /** Sessions of this database that wait within a transaction, the longest first; of others only where we may see them. */
  readonly idle: readonly IdleTransaction[];
}

/** Of our tables and of those of the job queue. */
const OURS = `n.nspname in (current_schema(), 'bullmq') and c.relkind = 'r'`;

export async function readUpkeep(pool: pg.Pool): Promise<Upkeep> {
  const setting = await pool.query<{ on: boolean }>(`select current_setting('autovacuum') = 'on' as on`);
  const neglected = await pool.query<{ table: string }>(
    `select c.oid::regclass::text as table
       from pg_class c
       join pg_namespace n on n.oid = c.relnamespace
      where ${OURS}
        and exists (select from pg_options_to_table(c.reloptions) o
                     where o.option_name = 'autovacuum_enabled' and not o.option_value::boolean)
      order by 1`,
  );
  const worst = await pool.query<TableUpkeep>(
    `select c.oid::regclass::text as table, s.n_dead_tup::double precision as "deadRows",
            s.n_dead_tup::double precision / (s.n_dead_tup + s.n_live_tup) as "deadShare",
            greatest(s.last_vacuum, s.last_autovacuum) as "vacuumedAt"
       from pg_stat_user_tables s
       join pg_class c on c.oid = s.relid
       join pg_namespace n on n.oid = c.relnamespace
      where ${OURS} and s.n_dead_tup > 0
      order by s.n_dead_tup desc
      limit 1`,
  );
  const idle = await pool.query<IdleTransaction>(
    `select pid, application_name as application,
            extract(epoch from clock_timestamp() - state_change)::double precision as seconds
       from pg_stat_activity
      where datname = current_database() and state like 'idle in transaction%'
      order by state_change`,
  );
  return {
    isAutovacuumOn: setting.rows[0]?.on ?? true,
    neglected: neglected.rows.map(({ table }) => table),
    worst: worst.rows[0] ?? null,
    idle: idle.rows,
  };
}

/** How well the server keeps our tables: what autovacuum does, and who keeps it from doing it. */
import type pg from 'pg';

export interface TableUpkeep {
  readonly table: string;
  readonly deadRows: number;
  /** Of all rows, 0 to 1. */
  readonly deadShare: number;
  /** The last vacuum, by whomever; null when none is known. */
  readonly vacuumedAt: Date | null;
}

export interface IdleTransaction {
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

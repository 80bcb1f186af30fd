/** The state of autovacuum, and the transactions that block it. */
import type { Pool } from 'pg';

interface TableBloat {
  readonly table: string;
  readonly deadRows: number;
  /** Dead rows as a share of all rows, 0 to 1. */
  readonly deadShare: number;
  /** When the table was last vacuumed; null if unknown. */
  readonly vacuumedAt: Date | null;
}

interface IdleTransaction {
  readonly pid: number;
  readonly application: string;
  readonly seconds: number;
}

export type VacuumState = Awaited<ReturnType<typeof readVacuumState>>;

/** SQL condition that selects recalld's tables and the tables of the job queue. */
const OURS = `n.nspname in (current_schema(), 'bullmq') and c.relkind = 'r'`;

export async function readVacuumState(pool: Pool) {
  const setting = await pool.query<{ on: boolean }>(`select current_setting('autovacuum') = 'on' as on`);
  const excluded = await pool.query<{ table: string }>(
    `select c.oid::regclass::text as table
       from pg_class c
       join pg_namespace n on n.oid = c.relnamespace
      where ${OURS}
        and exists (select from pg_options_to_table(c.reloptions) o
                     where o.option_name = 'autovacuum_enabled' and not o.option_value::boolean)
      order by 1`,
  );
  const worst = await pool.query<TableBloat>(
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
    /** Tables with autovacuum turned off. */
    excluded: excluded.rows.map(({ table }) => table),
    /** The table with the most dead rows; null if no table has dead rows. */
    worst: worst.rows[0] ?? null,
    /** Idle transactions in this database, longest first; other roles' transactions only if they are visible. */
    idle: idle.rows,
  };
}

import type pg from 'pg';

/** Columns, indexes and constraints of our tables, one per line, so that diffs show schema changes. */
export async function readSchema(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<{ line: string }>(`
    with tables as (
      select c.oid, c.relname from pg_class c
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    ), lines as (
      select relname, 0 as part, 0::bigint as position, 'table ' || relname as line from tables
      union all
      select t.relname, 1, a.attnum,
             format('  %s %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
                    case when a.attnotnull then ' not null' end, ' default ' || pg_get_expr(d.adbin, d.adrelid))
        from tables t
        join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
        left join pg_attrdef d on d.adrelid = t.oid and d.adnum = a.attnum
      union all
      select t.relname, 2, row_number() over (order by i.indexrelid::regclass::text), '  ' || pg_get_indexdef(i.indexrelid)
        from tables t join pg_index i on i.indrelid = t.oid
      union all
      select t.relname, 3, row_number() over (order by c.conname), format('  %s %s', c.conname, pg_get_constraintdef(c.oid))
        from tables t join pg_constraint c on c.conrelid = t.oid and c.contype in ('c', 'f')
    )
    select line from lines order by relname, part, position`);
  return `${rows.map(({ line }) => line).join('\n')}\n`;
}
